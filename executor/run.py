"""Represent a run for whoever began it: `Run`, and its `RunOutcome`.

`Run.take` builds the parts of a run: a `Stepper` carries out steps, a `Ladder` recovers from failures, and a `Loop`
drives both. `Run.drive` starts the loop, whose `_run_until_end` shows every stage. `Run.emit` records each event: in
the journal, in the state, and for listeners. All other methods change a run from outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from executor.arguments import is_listener
from executor.errors import RunError
from executor.events import events as run_events
from executor.events.answers import DOUBT, HAPPENED, as_journal_data, is_approval, is_clear, read_told_result
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.learning.experience import Pricing
from executor.loop.parameters import Fill
from executor.loop.run_loop import Loop
from executor.loop.step import Client, Stepper
from executor.observe.observe import Lookout, Survey
from executor.observe.reports import check_result
from executor.plans.action_plan import Basis, aim_of
from executor.recovery.ask_people import Asking, Callback, object_to_result
from executor.recovery.ladder import Ladder
from executor.report.live import Audience
from executor.tools.containment import as_plain_text, contain_errors, describe_error, quote_value
from executor.tools.json_data import dump_json
from executor.tools.results import ActionResult, Wait
from planner.errors import ForethoughtError, InputError
from planner.model import Atom, Problem
from planner.problem_kinds import resolve_problem

if TYPE_CHECKING:
    from executor.executor import Executor

_LISTENING: Final = "asynchronous code follows a run by `async for event in run.events()`"
NOT_KEPT: Final = frozenset({"StepProgress"})
"""Events that the journal does not keep."""
STATUS_BY_EVENT: Final = {"RunStarted": "ACTIVE", "RunResumed": "ACTIVE"}
"""The status of a run after events that do not state it."""
MEANWHILE_SOURCE: Final = "meanwhile"
"""The source of what became known while nobody drove a run."""
LOOP_CHECK_SECONDS: Final = 0.1
"""Seconds between looks whether the loop that is to answer is still there."""
Done = TypeVar("Done")


def find_running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread, if one does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended: `steps` are all that ever were in its plan, `questions` those that wait for an answer."""

    run: str
    status: run_events.RunStatus
    reason: str
    steps: tuple[StepRecord, ...] = field(repr=False)
    metrics: Mapping[str, Any]
    state: RunState = field(repr=False)

    @classmethod
    def of(cls, run: str, state: RunState) -> RunOutcome:
        """Return what has become of the run whose state this is, so far."""
        return cls(run, state.status, state.reason, tuple(state.steps.values()), state.metrics, state)

    @property
    def questions(self) -> tuple[run_events.Asked, ...]:
        """The open questions; `resume(run, answers={question.question: answer})` answers them."""
        return tuple(self.state.open_questions.values())

    @property
    def missing(self) -> Mapping[str, Any] | None:
        """Why no plan reaches the goal, where that is proved: `missing`, `unreachable`, `change` and more.

        The keys are those of `planner.explain_unsolvable(…).to_dict()`; None where nothing is proved.
        """
        return self.state.missing

    @property
    def recovery(self) -> tuple[run_events.RungTaken, ...]:
        """What was done about failures, rung by rung, and what was tried in vain."""
        return tuple(self.state.rungs)

    @property
    def succeeded(self) -> bool:
        """Whether the goal was observed."""
        return self.status is run_events.RunStatus.SUCCEEDED


class ModelAccess(Protocol):
    """A language model for the handlers of runs: see `executor.language_model.checked_answers`."""

    def for_run(self, spent: Mapping[str, float]) -> Client:
        """Return it for the handlers of one run, which has `spent` so many calls, tokens and so much cost before."""


class Run:
    """A run that is being driven: awaited, it gives its `RunOutcome`.

    It belongs to the event loop in which it was begun; what is said to it in other threads is done there.
    """

    def __init__(
        self,
        executor: Executor,
        run: str,
        pricing: Pricing | None = None,
        *,
        fill: Fill | None = None,
        approve: Callback = None,
        client: ModelAccess | None = None,
    ) -> None:
        self.id = run
        self.pricing = pricing
        """What its planning knows of earlier runs."""
        self.audience = Audience(executor.listeners)
        self.called_off = threading.Event()
        """Set when it is; a search for its plan ends by it."""
        self._executor = executor
        self._fill, self._approve = fill or executor.fill, approve or executor.approve
        self._client = client or executor.client
        self._home = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._interrupted = False
        self.told: list[tuple[run_events.Event, float]] = []
        """What has happened, and when, where no journal keeps it."""
        self._lost: BaseException | None = None
        """Why something that happened could not be kept."""
        self._task: asyncio.Task[RunOutcome] | None = None
        self._state: RunState | None = None
        self._stepper: Stepper
        self._loop: Loop

    @property
    def fills(self) -> bool:
        """Whether somebody fills parameters that are open."""
        return self._fill is not None

    def take(self, state: RunState) -> None:
        """Take over `state`, from which the run goes on."""
        executor, self._state = self._executor, state
        asking = Asking(state, self.emit, executor.ask, executor.permit, self._approve, self._fill)
        lookout = Lookout(executor.world, state.objects)
        rng = random.Random(f"{executor.seed} {self.id}")
        self._stepper = stepper = Stepper(
            executor.world,
            state,
            self.emit,
            lookout,
            executor.performer,
            asking,
            asyncio.Event(),
            [],
            rng,
            None if self._client is None else self._client.for_run(state.spent.asked),
        )
        state.memory.listen(
            lambda key, value, relevance, step="": self.emit(run_events.MemorySet(key, value, relevance, step))
        )
        lacking = frozenset(executor.world.without_handler())
        ladder = Ladder(
            state, self.emit, asking, executor.recovery, lacking, Survey(state, lookout, self.emit), self.pricing
        )
        self._loop = Loop(state, self.emit, stepper, ladder, executor.concurrency, executor.stay)
        if self._interrupted:
            self._loop.interrupt()
        if self.called_off.is_set():
            stepper.abort()

    @property
    def state(self) -> RunState:
        """The state of the run; raises `RunError` while a plan for it is still searched."""
        if self._state is None:
            raise RunError(f"the run {self.id!r} has no plan yet", hint="await it, or follow its events")
        return self._state

    def emit(self, event: run_events.Event) -> None:
        """Note that something happened: in the journal, in the state, and to those who listen.

        After an event that could not be kept, nothing more happens: whatever is to be noted next raises the same error.
        """
        if threading.get_ident() != self._thread:
            self._do_in_home_loop(lambda: self.emit(event))
            return
        if self._lost is not None:
            raise self._lost
        kind, now = type(event).__name__, time.time()
        journal = self._executor.journal
        if kind in NOT_KEPT:
            pass
        elif journal is None:
            self.told.append((event, now))
        else:
            status = event.status.name if isinstance(event, run_events.RunEnded) else STATUS_BY_EVENT.get(kind)
            try:
                journal.append(self.id, kind, dump_json(run_events.event_to_data(event)), status=status, at=now)
            except BaseException as error:
                self._lost = error
                raise
        self.state.apply(event, now)
        self.audience.tell(event)

    async def drive(self) -> RunOutcome:
        """Drive the run until it ends, or waits."""
        try:
            ended = await self._loop.drive()
        except asyncio.CancelledError:
            self._stepper.abort()
            raise
        self.emit(ended)
        return self.outcome

    @property
    def outcome(self) -> RunOutcome:
        """What has become of the run so far."""
        return RunOutcome.of(self.id, self.state)

    def cancel(self) -> None:
        """Call the run off: it begins nothing more and tells handlers at work, which may end; nothing if it is over."""
        self.called_off.set()
        self._do_if_driven(self._abort)

    def interrupt(self) -> None:
        """Begin nothing more; when the steps at work are over, the run ends as WAITING, and can be taken up again.

        One whose plan is still searched ends when there is one. A run that is over stays as it is.
        """
        self._interrupted = True
        self._do_if_driven(self._stop_beginning)

    def change_goal(self, problem: Problem, reason: str = "", *, basis: Basis | None = None) -> None:
        """Go on to the goal of `problem`, within its constraints, budgets and deadline, from now on.

        When the steps at work are over, the rest of the plan is patched, so that it leads there. What was done counts
        for constraints that stay, and all that the run has spent for budgets. Tasks that the run did are over then, and
        where it follows a policy, another one is decided on. `basis` says why that is wanted. Raises `RunError` for a
        run that undoes what it did, and where it has not all the objects of `problem`; `InputError` for a problem that
        means nothing.
        """
        problem = resolve_problem(problem)
        self.check_goal(problem)
        self._do_in_home_loop(lambda: self._change_goal(problem, reason, basis))

    def learn(self, facts: Mapping[Atom, bool], aim: Mapping[str, Any] | None) -> None:
        """Take in what has changed while nobody drove the run: `facts`, and what is wanted."""
        told = [
            run_events.Note(fact, holds, run_events.Provenance.REPORTED, MEANWHILE_SOURCE)
            for fact, holds in facts.items()
        ]
        beliefs = self.state.beliefs
        notes = beliefs.select_news([each for each in told if beliefs.holds(each.fact) is not each.holds])
        if notes:
            self.emit(run_events.FactsSeen(tuple(notes), MEANWHILE_SOURCE))
        if aim is not None:
            self.emit(run_events.GoalChanged(aim))

    def check_goal(self, problem: Problem) -> None:
        """Raise as `change_goal` does."""
        state = self.state
        lacking = {each.name for each in problem.objects} - {each.name for each in state.source.objects}
        why = next(filter(None, [
            "it undoes what was done" if state.is_undoing else "",
            f"it has no {', '.join(sorted(lacking))}" if lacking else "",
        ]), "")  # fmt: skip
        if why:
            raise RunError(f"the run {self.id!r} keeps its goal: {why}", hint="interrupt it, and start another one")

    def _change_goal(self, problem: Problem, reason: str, basis: Basis | None) -> None:
        self.emit(run_events.GoalChanged(aim_of(problem, basis), reason))
        self._loop.wake()

    def _stop_beginning(self) -> None:
        self._loop.interrupt()

    def _abort(self) -> None:
        self._stepper.abort()
        self._loop.wake()

    def complete(self, step: str, result: Any = None) -> None:
        """Give a waiting step its result; raises `RunError` for one that does not wait, `InputError` for no result."""
        self._do_in_home_loop(lambda: self._loop.complete(step, self.read_result_for(step, result)))

    def read_result_for(self, step: str, result: Any) -> ActionResult:
        """Return the result that a waiting step would get; raises as `complete`."""
        record = self.state.steps.get(step)
        if record is None or record.status is not run_events.StepStatus.WAITING or "question" in (record.wait or {}):
            waiting = [each.id for each in self.state.with_status(run_events.StepStatus.WAITING)]
            raise RunError(f"the step {step!r} waits for no result; those that wait: {', '.join(waiting) or 'none'}")
        found, choices = _read_result(result), (record.wait or {}).get("choices")
        if choices and found.success and found.text not in choices:
            raise InputError(f"the step {step!r} waits for one of {', '.join(choices)}, not {found.text!r}")
        return found

    def announce(self, event: str, result: Any = None) -> int:
        """Give `result` to all steps that wait for `event`, and return how many do.

        Where none does yet, the first step that comes to wait for it gets it, while this process drives the run.
        """
        return self._do_in_home_loop(lambda: self._loop.announce(event, _read_result(result)))

    def answer(self, question: str, answer: Any) -> None:
        """Answer an open question; raises `RunError` where it is none, and `InputError` for what is no answer."""
        plain = as_plain_text(answer) if issubclass(type(answer), str) else answer
        self._do_in_home_loop(lambda: self._answer(question, plain))

    def check_answer(self, question: str, answer: Any) -> None:
        """Raise as `answer` does."""
        asked = self.state.questions.get(question)
        if asked is None:
            known = ", ".join(self.state.questions) or "none"
            raise RunError(f"nobody has asked {question!r}; the open questions: {known}")
        if not is_clear(asked, answer):
            raise InputError(f"{quote_value(answer)} is no answer to {question!r}", hint=_describe_answers(asked))
        result = read_told_result(answer) if question.startswith(DOUBT) else None
        wrong = (
            ""
            if result is None or not result.success
            else object_to_result(self.state, self.state.steps[asked.step], result)
        )
        if wrong:
            raise InputError(f"{quote_value(answer)} is no answer to {question!r}: {wrong}")

    def _answer(self, question: str, answer: Any) -> None:
        self.check_answer(question, answer)
        self.emit(run_events.Answered(question, as_journal_data(answer)))
        self._loop.wake()

    def listen(self, listener: Callable[[run_events.Event], None]) -> None:
        """Have every event told to `listener`, a plain function; raises `InputError` for anything else."""
        if not is_listener(listener):
            raise InputError(f"a listener is a plain function, not {quote_value(listener)}", hint=_LISTENING)
        self.audience.add(listener)

    def start(self, work: Coroutine[Any, Any, RunOutcome]) -> None:
        """Begin to drive the run as a task, which does `work`."""
        self._task = self._home.create_task(work)

    def __await__(self) -> Any:
        assert self._task is not None, "a run is made by Executor.start"
        return self._task.__await__()

    async def events(self) -> AsyncIterator[run_events.Event]:
        """Yield what happens from now on, until the run ends."""
        queue: asyncio.Queue[run_events.Event | None] = asyncio.Queue()
        self.listen(queue.put_nowait)
        assert self._task is not None, "a run is made by Executor.start"
        self._task.add_done_callback(lambda _: queue.put_nowait(None))
        while (event := await queue.get()) is not None:
            yield event

    def _do_if_driven(self, act: Callable[[], None]) -> None:
        """Do `act` in the event loop of the run, unless nobody drives it: it has no plan yet, or is over."""
        is_over = self._home.is_closed() or (self._task is not None and self._task.done())
        if self._state is not None and not is_over:
            with contextlib.suppress(RunError):  # the run may end at this very moment
                self._do_in_home_loop(act)

    def _do_in_home_loop(self, act: Callable[[], Done]) -> Done:
        """Return what `act` returns, done in the event loop of the run; raises what it raises, and `RunError`."""
        if self._task is not None and self._task.done():
            raise RunError(f"nobody drives the run {self.id!r} any more", hint="take it up: resume(run, …)")
        if not self._home.is_running() or find_running_loop() is self._home:
            return act()
        done = Future[Done]()
        self._home.call_soon_threadsafe(_settle_future, done, act)
        while True:
            try:
                return done.result(LOOP_CHECK_SECONDS)
            except TimeoutError:
                if self._home.is_closed():
                    raise RunError(f"the event loop of the run {self.id!r} has ended") from None


def _describe_answers(asked: run_events.Asked) -> str:
    """Return what may be said to a question."""
    if asked.creates:
        names = ", ".join(f'"{each}": …' for each in asked.creates)
        others = [each for each in asked.choices if each != HAPPENED]
        return f'say {{"created": {{{names}}}}} where it happened, or else: {", ".join(others)}'
    why = ", or 'no: …' with the reason" if is_approval(asked) else ""
    return f"say one of: {', '.join(asked.choices)}{why}"


def _settle_future(done: Future[Done], act: Callable[[], Done]) -> None:
    """Have `done` be what `act` returns, or raises."""
    try:
        done.set_result(act())
    except BaseException as error:  # noqa: BLE001 - raised where it is waited for
        done.set_exception(error)


def _read_result(result: Any) -> ActionResult:
    """Return what comes from outside for a step as a result; raises `InputError` where it is none."""
    if issubclass(type(result), Wait):
        raise InputError("a step that waits is completed by a result, not by another Wait")
    try:
        with contain_errors():
            return check_result(result)
    except ForethoughtError:
        raise
    except Exception as error:  # values may do anything when they are looked into
        raise InputError(f"{quote_value(result)} is no result: {describe_error(error)}") from error
