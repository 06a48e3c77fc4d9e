"""Join runs: equal requests that are made at once are one run, and a request that names a known run joins it.

`state_terms` says what a request is for: its goal, tasks, limits and values, and not the initial state, which moves on.
`find_leader` finds the run at work in this process that a request may join, and `JoinedRun` is its part in that run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Hashable, Mapping
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from executor.errors import JournalError, RunError
from executor.events.events import RunStarted, RunStatus, event_from_data
from executor.events.memory_values import expand_event
from executor.events.run_state import RunState
from executor.journal import AnyJournal
from executor.loop.run_loop import INTERRUPTED
from executor.plans.action_plan import ActionPlan, statement_of
from executor.plans.prepare import PreparedPlan
from executor.run import Run, RunOutcome
from executor.tools.context import Memory
from executor.tools.json_data import dump_json, load_json
from executor.tools.results import ActionResult
from planner.lightweight import dataclass
from planner.model import Atom, Problem
from planner.problem_kinds import AnyProblem

if TYPE_CHECKING:
    from executor.executor import Executor
    from executor.plans.action_plan import Basis

PREFIX: Final = 6
"""Digits of a request's digest at the beginning of the ids of runs without a name: equal requests are found by them."""
IDENTIFYING: Final = 12
"""Hexadecimal digits that tell the runs for one request apart: 48 bits."""
FOLLOW_SECONDS: Final = 0.1
"""Interval of looks at the journal for what another process does in a run, in seconds."""
_AIM: Final = ("tasks", "constraints", "budgets", "deadline", "due")
WORDS: Final = {
    "again": "choice of steps to do again",
    "limits": "set of limits",
    "values": "set of values",
    "words": "wording of the request",
    "steps": "plan",
    "objects": "set of objects",
    "tasks": "list of tasks",
    "constraints": "set of constraints",
    "budgets": "set of budgets",
    "due": "due time",
}
"""Words for the terms of a request whose names do not say enough."""
_QUANTIFIERS: Final = ("(forall ", "(exists ")


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a run is asked for: see `Executor.start`.

    `run` is the name that the caller gives it. `what` is a plan, or a problem with options of the search. `terms`, and
    the hash of them, tell whether another request is equal.
    """

    run: str | None
    what: PreparedPlan | tuple[Any, Mapping[str, Any]]
    alternatives: Any
    memory: Mapping[str, Any]
    entities: Mapping[str, object] | None
    reported: Mapping[Atom, bool]
    occasion: str
    again: tuple[str, ...]
    terms: Mapping[str, Any]
    digest: str
    options: tuple[Any, ...]
    """Whom the run asks, and how it is carried out."""
    join: bool
    enqueue: bool

    @property
    def is_shared(self) -> bool:
        """Whether others who ask for the same at once share the run."""
        return self.join and self.run is None and not self.enqueue

    @property
    def lock(self) -> str:
        """The name of the lock that a process holds while it is at work on such a request."""
        return f"request {self.digest}"


def state_terms(
    what: PreparedPlan | AnyProblem, memory: Memory, world: str, occasion: str, again: tuple[str, ...]
) -> Mapping[str, Any]:
    """Return the terms of a request for a plan, or for the solution of a problem."""
    plan = what.plan if isinstance(what, PreparedPlan) else _state_problem(what)
    data = plan.model_dump(mode="json", include={"goal", "basis", "metadata", "steps", "objects", *_AIM})
    return _state(data, memory.to_dict(), world, occasion, again)


def recall_terms(begun: RunStarted) -> Mapping[str, Any]:
    """Return the terms of the request for a run by its first event."""
    return _state(begun.plan, begun.memory, begun.world or begun.domain, begun.occasion, begun.again)


def _state_problem(problem: AnyProblem) -> ActionPlan:
    """Return a plan without steps that states `problem`."""
    if isinstance(problem, Problem):
        return ActionPlan(**statement_of(problem))
    from htn.language.documents import tasks_document

    return ActionPlan(**statement_of(problem.classical), tasks=tasks_document(problem))  # type: ignore[arg-type]


def _state(
    plan: Mapping[str, Any], memory: Mapping[str, Any], world: str, occasion: str, again: tuple[str, ...]
) -> Mapping[str, Any]:
    """Return the terms of a request for `plan`, as data.

    Steps are the means to an aim, and only their values count; without an aim, they are what is asked for. Objects
    count where the goal speaks of all of them.
    """
    goal = {"hard": sorted(plan["goal"]["hard"]), "soft": plan["goal"]["soft"]}
    aim = {name: plan.get(name) or None for name in _AIM}
    has_aim = any(goal.values()) or aim["tasks"] or aim["constraints"]
    texts = [[each["action"], each["arguments"], each["parameters"]] for each in plan["steps"]]
    quantifies = any(each in text for text in (*goal["hard"], *goal["soft"]) for each in _QUANTIFIERS)
    terms = {
        "world": world,
        "goal": goal,
        **aim,
        "limits": plan["metadata"]["constraints"],
        "words": plan["basis"]["request"],
        "values" if has_aim else "steps": [each for each in texts if each[2] or not has_aim],
        "objects": plan["objects"] if quantifies else None,
        "memory": memory,
        "occasion": occasion,
        "again": sorted(again),
    }
    found: Mapping[str, Any] = load_json(dump_json(terms))
    return found


def hash_terms(terms: Mapping[str, Any]) -> str:
    """Return the hash of the terms of a request."""
    return hashlib.sha256(json.dumps(terms, sort_keys=True).encode()).hexdigest()


def describe_difference(kept: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Say in which terms a run differs from what is `asked`; an empty text if it is the same."""
    names = [name for name in {**kept, **asked} if kept.get(name) != asked.get(name)]
    if not kept["world"]:  # journals of before it was kept
        names = [each for each in names if each != "world"]
    if not names:
        return ""
    words = [WORDS.get(each, each) for each in names]
    return f"and it was begun for another {' and another '.join(words)}"


def make_id(request: RunRequest) -> str:
    """Make an id by which other processes find the run while they ask for the same."""
    return f"{request.digest[:PREFIX]}{uuid4().hex[:IDENTIFYING]}"


def find_equal(journal: AnyJournal, request: RunRequest) -> str:
    """Return the id of the newest unfinished run for an equal request, "" if there is none yet."""
    found = (each for each in reversed(journal.runs()) if each.run.startswith(request.digest[:PREFIX]))
    return next((each.run for each in found if each.status in ("", RunStatus.ACTIVE.name)), "")


def let_go(journal: AnyJournal, request: RunRequest) -> None:
    """Release the lock of a request."""
    with suppress(JournalError, OSError):  # it ends with the process at the latest, or with the journal
        journal.locks.let_go(request.lock)


async def follow_journal(executor: Executor, journal: AnyJournal, run: Run) -> RunOutcome | None:
    """Follow a run that another process drives; return its outcome when it is over or waits.

    Return None if nobody drives it, though there is something left to do.
    """
    state, is_last = None, False
    with ExitStack() as following:
        for entry in journal.follow(run.id):
            if entry is not None:
                event = event_from_data(entry.kind, load_json(entry.data))
                if isinstance(event, RunStarted):
                    plan = ActionPlan.model_validate(event.plan)
                    state = executor.make_initial_state(plan, plan.problem(executor.world.model))
                    run.follow(state)
                    following.enter_context(run.audience.at(state, run.id))
                assert state is not None, "a run begins with RunStarted"
                whole = expand_event(event, state.memory)
                state.apply(event, entry.time)
                run.audience.tell(whole)
                continue
            is_over = state is not None and state.status.is_over
            if is_over or is_last or run.called_off.is_set():
                break
            is_last = not journal.is_driven(run.id)  # what it wrote last is read before it is judged
            if not is_last:
                await asyncio.sleep(FOLLOW_SECONDS)
    is_left = state is not None and (state.status is RunStatus.ACTIVE or state.reason == INTERRUPTED)
    return None if state is None or (is_left and not run.called_off.is_set()) else run.outcome


@dataclass(frozen=True, slots=True)
class _AtWork:
    """A run at work, with the options of its request."""

    run: Run
    options: tuple[Any, ...]


_at_work: Final[dict[Hashable, list[_AtWork]]] = {}
"""The runs at work in this process, by what they may be found by."""
_guard: Final = threading.Lock()
ADMITTING: Final = threading.RLock()
"""Held from the search for a run to join until a run is noted: requests of several threads are admitted in turn."""


def note_at_work(key: Hashable, run: Run, options: tuple[Any, ...] = ()) -> None:
    """Let requests with the same key and options find `run` while it is at work."""
    noted = _AtWork(run, options)
    with _guard:
        _at_work.setdefault(key, []).append(noted)

    def forget() -> None:
        with _guard:
            left = [each for each in _at_work.get(key, ()) if each is not noted]
            if left:
                _at_work[key] = left
            else:
                _at_work.pop(key, None)

    run.when_done(forget)


def find_leader(key: Hashable, options: tuple[Any, ...] = ()) -> Run | None:
    """Return the run at work with this key that asks the same people, and is carried out in the same way."""
    with _guard:
        found = list(_at_work.get(key, ()))
    return next((each.run for each in found if not each.run.is_done and _are_equal(each.options, options)), None)


def _are_equal(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Return whether options are the same; those whose comparison raises are not."""
    try:
        return len(one) == len(other) and all(a is b or bool(a == b) for a, b in zip(one, other, strict=True))
    except Exception:  # noqa: BLE001 - callbacks of users may compare as they like
        return False


class JoinedRun(Run):
    """The part of one caller in a run that is driven for others, too; awaiting it returns the outcome of that run."""

    def __init__(self, executor: Executor, leader: Run) -> None:
        super().__init__(executor, leader.id)
        self.leader: Final = leader
        self.audience = leader.audience
        self.audience.include(executor.listeners)
        leader.callers.add(self)
        self.start(self._follow_leader())

    async def _follow_leader(self) -> RunOutcome:
        """Wait for the outcome of the leader, which may be at work in another thread."""
        try:
            return await asyncio.shield(asyncio.wrap_future(self.leader.share_end()))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if (task is not None and task.cancelling()) or not self.leader.callers:
                raise
            raise RunError(f"the run {self.id!r} was broken off by whoever began it", hint="take it up") from None

    @property
    def state(self) -> RunState:
        """The state of the run; raises `RunError` while its plan is still searched."""
        return self.leader.state

    def withdraw(self) -> bool:
        """Drop this caller; return whether nobody wants the run any more."""
        self.leader.callers.discard(self)
        return not self.leader.callers

    def call_off(self) -> None:
        """Call the run off for all callers."""
        self.leader.call_off()

    def break_off(self) -> None:
        """Cancel the task that drives the run, which can be resumed."""
        self.leader.break_off_soon()

    def stop_following(self) -> None:
        """Wait no more for a run that goes on for others."""
        if self._task is not None:
            self._task.cancel()

    def interrupt(self) -> None:
        """Interrupt the run for all callers."""
        self.leader.interrupt()

    def change_goal(self, problem: Problem, reason: str = "", *, basis: Basis | None = None) -> None:
        """Change the goal of the run for all callers."""
        self.leader.change_goal(problem, reason, basis=basis)

    def report(self, facts: Mapping[Atom, bool]) -> None:
        """Report values of facts from outside."""
        self.leader.report(facts)

    def complete(self, step: str, result: Any = None) -> None:
        """Complete a waiting step."""
        self.leader.complete(step, result)

    def read_result_for(self, step: str, result: Any, at: float | None = None) -> ActionResult:
        """Convert and check a result for a waiting step."""
        return self.leader.read_result_for(step, result, at)

    def announce(self, event: str, result: Any = None) -> int:
        """Complete all steps that wait for `event`, and return their number."""
        return self.leader.announce(event, result)

    def answer(self, question: str, answer: Any) -> None:
        """Answer an open question."""
        self.leader.answer(question, answer)

    def check_answer(self, question: str, answer: Any, at: float | None = None) -> None:
        """Raise the errors of `answer`."""
        self.leader.check_answer(question, answer, at)
