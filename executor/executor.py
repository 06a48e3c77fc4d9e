"""Carry out plans in a world, keep runs in a journal, and take runs up again: `Executor`.

`start` prepares a plan, or searches for one, and `_carry_out` drives the run; `take_up` rebuilds the state of a run
from its events, and `_take_up` drives it on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from executor.arguments import check_id, check_model, check_named, check_parts
from executor.background_searches import search_in_turn
from executor.errors import JournalError, RunError
from executor.events import stored_runs
from executor.events.events import Event, GoalDropped, RunResumed, RunStarted, RunStatus, event_from_data
from executor.events.run_state import RunState
from executor.events.stored_runs import Retention, RunInfo, delete_expired
from executor.journal import Durability, Journal
from executor.learning.experience import LearnedFrom, Pricing
from executor.loop.attempt import Performer
from executor.loop.locks_and_rates import Slots, Turns
from executor.loop.parameters import Fill
from executor.plans.action_plan import ActionPlan, Goals
from executor.plans.execution_models import ExecutionModel
from executor.plans.prepare import Planned, add_alternatives, prepare_given, search_plan
from executor.recovery.ask_people import Callback
from executor.recovery.recovery_policy import Recovery
from executor.report.live import Follower, Listener
from executor.run import ModelAccess, Run, RunOutcome, find_running_loop
from executor.tools.context import CAPACITY, Memory
from executor.tools.json_data import load_json
from executor.tools.world import World
from planner.errors import ForethoughtError
from planner.model import Atom, Problem
from planner.plan import Plan, Result
from planner.problem_kinds import AnyProblem

if TYPE_CHECKING:
    from planner.policies.decision import Decision
    from planner.policies.policy import Policy
    from planner.topk.top_k import CandidateSet

    Runnable = AnyProblem | Plan | Result | CandidateSet | ActionPlan | Policy | Decision | Planned

__all__ = ["Executor", "Run", "RunOutcome"]


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _UnfinishedRun:
    """A run that can be taken up again, without a journal: what happened, for what, how it is and since when."""

    events: Sequence[tuple[Event, float]]
    source: Problem
    status: RunStatus
    since: float


@dataclass(slots=True, eq=False)
class Executor:
    """Carries out plans in `world`.

    `journal` is a file, or a `Journal`; without one nothing survives the process. `model` overrides the execution model
    of plans, `concurrency` limits how many steps of all runs are at work at once: those of the plans with the highest
    priority come first. `permit`, `approve` and `ask` are callbacks (see `executor.recovery.ask_people`); `fill` is
    asked for the data parameters that nothing known fills (see `executor.loop.parameters`). `stay`: a run that waits
    for an answer from outside goes on waiting in this process; otherwise it ends as WAITING, and `resume` takes it up
    again. `capacity` is how many entries the working memory of each run has room for. `learned`: problems are planned,
    and plans patched, with the costs that earlier runs let expect: those in the journal (True, or a `Learning` that
    says how), or an `Experience`, to which what the journal has is added. `client` is a `ModelClient`: handlers that
    take a context ask its language model, within its allowance. `retention` says for how long runs are kept; those that
    expire are deleted in a thread when a run begins or ends.
    """

    world: World
    journal: Any = None
    model: ExecutionModel | None = None
    concurrency: int | None = None
    recovery: Recovery = field(default_factory=Recovery)
    permit: Callback = None
    approve: Callback = None
    ask: Callback | Literal["later"] = None
    fill: Fill | None = None
    stay: bool = False
    durability: Durability = "process"
    listeners: tuple[Listener | Follower, ...] = ()
    seed: int = 0
    capacity: int = CAPACITY
    learned: LearnedFrom = False
    retention: Retention | None = None
    client: ModelAccess | None = None
    performer: Performer = field(init=False, default_factory=Performer)
    pricing: Pricing | None = field(init=False)
    _runs: dict[str, Run] = field(init=False, default_factory=dict)
    _unfinished: dict[str, _UnfinishedRun] = field(init=False, default_factory=dict)
    """The runs that can be taken up again, and no journal knows."""
    _deletion_due: float = field(init=False, default=0.0)
    """When what has expired is deleted next, in seconds since 1970."""
    _names: set[str] = field(init=False, default_factory=set)
    """The ids that runs were given, where no journal knows them."""

    def __post_init__(self) -> None:
        check_parts(self)
        self.listeners = tuple(self.listeners)
        if isinstance(self.journal, str | Path):
            self.journal = Journal(self.journal, self.durability)
        locks = None if self.journal is None else self.journal.locks
        self.performer = Performer(Slots(self.concurrency), self.world.model.name, Turns(locks), self.world.hooks)
        self.pricing = Pricing.of(self.learned, self.journal)

    async def run(self, what: Runnable, **options: Any) -> RunOutcome:
        """Carry out a plan, a policy, or a problem's best one, and return how it ended; see `start`."""
        outcome: RunOutcome = await self.start(what, **options)
        return outcome

    def start(
        self,
        what: Runnable,
        *,
        run: str | None = None,
        memory: Mapping[str, Any] | None = None,
        entities: Mapping[str, object] | None = None,
        learned: LearnedFrom | None = None,
        alternatives: Iterable[Plan | Result | ActionPlan] | CandidateSet = (),
        fill: Fill | None = None,
        approve: Callback = None,
        client: ModelAccess | None = None,
        **planning: Any,
    ) -> Run:
        """Begin to carry out a plan, a policy, or a problem's best one: `planning` are options of `solve`, in a thread.

        In the model "policy" a problem is decided, and `planning` are options of `decide`.

        Working memory begins with `memory`; `entities` are the Python values of the objects that a plan names. Without
        `learned`, that of the executor counts. `alternatives` are other plans for the same, such as `k_best` gives:
        where the plan fails, the end of one of them is taken that fits what was observed. `fill`, `approve` and
        `client` are for this run in place of the executor's.

        Raises `PlanError` for a plan that does not fit the domain, `InputError` for what is no plan and no problem,
        `JournalError` or `RunError` where there is a `run` of this id already, and `RunError` without an event loop. A
        run of a problem without a plan raises `NoPlan` when it is awaited.
        """
        check_id(run)
        check_named(memory=memory, entities=entities)
        fills = (fill or self.fill) is not None
        made = prepare_given(self.world, what, planning, memory or (), entities, model=self.model, fills=fills)
        if find_running_loop() is None:
            raise RunError("a run needs a running event loop", hint="asyncio.run(executor.run(…)) has one")
        pricing = self.pricing if learned is None else Pricing.of(learned, self.journal)
        begun = Run(self, run or uuid4().hex[:12], pricing, fill=fill, approve=approve, client=client)
        if made is not None:
            begun.take(self._make_state(made := add_alternatives(made, alternatives)))
        if run is not None:
            self._reserve_id(run)
        if self.journal is not None:
            self.journal.create(begun.id)
        begun.start(self._carry_out(begun, made or (what, planning), memory or {}, alternatives))
        return begun

    async def _carry_out(
        self, run: Run, what: Planned | tuple[Any, Mapping[str, Any]], memory: Mapping[str, Any], alternatives: Any
    ) -> RunOutcome:
        """Carry out `what`: a plan, or a problem for which one is searched with options; return how that ended."""
        with self._delete_expired_around():
            made = what if isinstance(what, Planned) else await self._search(run, *what, memory, alternatives)
            with self._claim_run(run.id) as events, self._register_run(run):
                if events:
                    raise RunError(f"there is already a run {run.id!r}", hint="take another name")
                plan, values = run.state.plan, Memory.from_dict(memory, self.capacity).to_dict()
                run.emit(RunStarted(run.id, plan.model_dump(mode="json"), plan.model, values))
                for wish in made.dropped:
                    run.emit(GoalDropped(str(wish.condition), float(wish.utility)))
                return await run.drive()

    async def _search(
        self, run: Run, problem: Any, planning: Mapping[str, Any], memory: Mapping[str, Any], alternatives: Any
    ) -> Planned:
        """Search for a plan for `problem`, and prepare `run` for it; all that takes long is done in a thread."""

        def search() -> tuple[Planned, RunState]:
            options: dict[str, Any] = {"memory": memory, "pricing": run.pricing, "model": self.model}
            found = search_plan(self.world, problem, planning, run.called_off, fills=run.fills, **options)
            made = add_alternatives(found, alternatives)
            return made, self._make_state(made)

        try:
            made, state = await search_in_turn(search)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                run.called_off.set()
            self._names.discard(run.id)
            raise
        run.take(state)
        return made

    def _make_state(self, made: Planned) -> RunState:
        """Return the state from which what is planned goes on."""
        check_model(self.model, made.plan)
        plan = made.plan if self.model is None else made.plan.model_copy(update={"model": self.model})
        return self._make_initial_state(plan, made.problem)

    def _make_initial_state(self, plan: ActionPlan, problem: Problem) -> RunState:
        """Return the state of a run of which nothing has happened."""
        state = RunState(self.world.model, plan, problem, self.world.hierarchy)
        state.journal = None if self.journal is None else self.journal.path
        state.memory.capacity = self.capacity
        return state

    def _reserve_id(self, run: str) -> None:
        """Note that there is a `run` of this id; raises `RunError` or `JournalError` where there was one."""
        if run in self._names:
            found, hint = f"there is already a run {run!r}", "take another name"
            raise RunError(found, hint=hint) if self.journal is None else JournalError(self.journal.path, found, hint)
        self._names.add(run)

    def announce(self, event: str, result: Any = None) -> int:
        """Give `result` to all steps at work here that wait for `event`; return how many do.

        In a run in which none does yet, the first step that comes to wait for it gets it, while this process drives
        that run.
        """
        return sum(run.announce(event, result) for run in list(self._runs.values()))

    @contextmanager
    def _register_run(self, run: Run) -> Iterator[None]:
        self._runs[run.id] = run
        try:
            with run.audience.at(run.state, run.id):
                yield
        finally:
            self._runs.pop(run.id, None)
            if self.journal is None and not run.state.status.is_over:
                self._unfinished[run.id] = _UnfinishedRun(run.told, run.state.source, run.state.status, time.time())

    def _read_events(self, run: str) -> Iterator[tuple[Event, float]]:
        """Yield the events of a run that is not at work here, with the seconds since 1970 when each happened.

        Raises `RunError` and `JournalError` for one unknown.
        """
        if run in self._unfinished:
            return iter(self._unfinished[run].events)
        return (
            (event_from_data(each.kind, load_json(each.data)), each.time) for each in self._require_journal().read(run)
        )

    def _claim_run(self, run: str) -> AbstractContextManager[int]:
        """Keep others from driving the run; gives how many events it has."""
        return nullcontext(0) if self.journal is None else self.journal.drive(run)

    async def resume(
        self,
        run: str,
        *,
        answers: Mapping[str, Any] | None = None,
        entities: Mapping[str, object] | None = None,
        results: Mapping[str, Any] | None = None,
        fill: Fill | None = None,
        approve: Callback = None,
    ) -> RunOutcome:
        """Take up a run from the journal: what was done is not done again.

        `answers` are for open questions, `results` for waiting steps, `fill` and `approve` as for `start`. Raises
        `JournalError` for a run that is not in the journal, or that another process drives, and `RunError` for
        questions that nobody has asked and for steps that do not wait.
        """
        outcome: RunOutcome = await self.take_up(
            run, answers=answers, entities=entities, results=results, fill=fill, approve=approve
        )
        return outcome

    def take_up(
        self,
        run: str,
        *,
        answers: Mapping[str, Any] | None = None,
        entities: Mapping[str, object] | None = None,
        results: Mapping[str, Any] | None = None,
        fill: Fill | None = None,
        approve: Callback = None,
        client: ModelAccess | None = None,
        facts: Mapping[Atom, bool] | None = None,
        aim: Mapping[str, Any] | None = None,
    ) -> Run:
        """Begin to take up a run, and return it; awaited, it raises as `resume` does.

        `facts` are what somebody knows to have become true, or false, in the meantime; `aim` is what is wanted from now
        on, as `executor.plans.action_plan` writes it.
        """
        check_named(answers=answers, entities=entities, results=results)
        if find_running_loop() is None:
            raise RunError("a run needs a running event loop", hint="asyncio.run(executor.resume(run, …)) has one")
        taken = Run(self, run, self.pricing, fill=fill, approve=approve, client=client)
        news = (facts or {}, aim)
        taken.start(self._take_up(taken, answers or {}, entities, results or {}, news))
        return taken

    async def _take_up(
        self,
        taken: Run,
        answers: Mapping[str, Any],
        entities: Mapping[str, object] | None,
        results: Mapping[str, Any],
        news: tuple[Mapping[Atom, bool], Mapping[str, Any] | None],
    ) -> RunOutcome:
        with self._delete_expired_around(), self._claim_run(taken.id):
            taken.take(self.state_of(taken.id, entities))
            if taken.state.status.is_over:
                return taken.outcome
            for question, answer in answers.items():
                taken.check_answer(question, answer)
            given_results = {step: taken.read_result_for(step, each) for step, each in results.items()}
            left = self._unfinished.pop(taken.id, None)
            taken.told = [] if left is None else list(left.events)
            with self._register_run(taken):
                taken.emit(RunResumed(taken.id))
                taken.learn(*news)
                for question, answer in answers.items():
                    taken.answer(question, answer)
                for step, result in given_results.items():
                    taken.complete(step, result)
                return await taken.drive()

    def state_of(self, run: str, entities: Mapping[str, object] | None = None) -> RunState:
        """Return the state of a run: of one at work here as it changes, of another as the journal has it by now."""
        if run in self._runs:
            return self._runs[run].state
        events = self._read_events(run)
        first, began = next(events, (None, 0.0))
        if not isinstance(first, RunStarted):
            hint = f"it ended before it had a plan, and has done nothing: executor.run(…, run={run!r}) begins it again"
            raise RunError(f"the journal has no beginning of run {run!r}", hint=hint)
        plan = ActionPlan.model_validate(first.plan)
        known = self._unfinished[run].source if run in self._unfinished and entities is None else None
        state = self._make_initial_state(plan, known or plan.problem(self.world.model, entities))
        state.apply(first, began)
        for event, at in events:
            state.apply(event, at)
        return state

    def runs(self) -> dict[str, RunInfo]:
        """Return all runs in the journal by id, the oldest first."""
        return stored_runs.load_runs(self._require_journal())

    def delete(self, run: str) -> None:
        """Delete a run that is not at work: all that is kept of it goes, and its id is free again.

        Services that remember idempotency keys know those of the deleted run, if the id is used again. Raises
        `RunError` for a run at work here and for one unknown, `JournalError` as `Journal.delete` does.
        """
        if run in self._runs:
            raise RunError(f"the run {run!r} is at work", hint="cancel it, and await it first")
        if self._unfinished.pop(run, None) is None:
            self._require_journal().delete(run)
        self._names.discard(run)

    def delete_expired(self, retention: Retention | None = None) -> list[str]:
        """Delete the runs that `retention`, or else that of the executor, keeps no longer; return their ids.

        Runs that somebody drives stay. Raises `JournalError`.
        """
        retention, now = retention or self.retention or Retention(), time.time()
        gone = [
            run for run, left in list(self._unfinished.items()) if now - left.since >= retention.seconds(left.status)
        ]
        gone = [run for run in gone if self._unfinished.pop(run, None) is not None]
        if self.journal is not None:
            gone += delete_expired(self.journal, retention)
        self._names.difference_update(gone)
        return gone

    @contextmanager
    def _delete_expired_around(self) -> Iterator[None]:
        """Delete what has expired before and after the body, which drives a run, if that is due."""
        self._delete_expired_if_due()
        try:
            yield
        finally:
            self._delete_expired_if_due()

    def _delete_expired_if_due(self) -> None:
        """Delete what has expired in a thread, if that is due."""
        if self.retention is not None and time.time() >= self._deletion_due:
            self._deletion_due = time.time() + self.retention.pause
            asyncio.get_running_loop().run_in_executor(None, self._delete_expired_and_log)

    def _delete_expired_and_log(self) -> None:
        try:
            self.delete_expired()
        except ForethoughtError as error:
            _log.warning("runs that have expired were not deleted: %s", error)

    def save_plan(self, plan: ActionPlan) -> None:
        """Keep `plan` in the journal under its id, in place of what was kept under it before."""
        stored_runs.save_plan(self._require_journal(), plan)

    def plans(self) -> dict[str, ActionPlan]:
        """Return the plans in the journal by id, those that were saved and those that ran, each as it stands now."""
        return stored_runs.load_plans(self._require_journal())

    def save_goal(self, name: str, goal: Goals) -> None:
        """Keep `goal` in the journal under `name`, in place of what was kept under it before."""
        stored_runs.save_goal(self._require_journal(), name, goal)

    def goals(self) -> dict[str, Goals]:
        """Return the goals in the journal by name."""
        return stored_runs.load_goals(self._require_journal())

    def _require_journal(self) -> Journal:
        """Return the journal; raises `RunError` where there is none."""
        if self.journal is None:
            raise RunError("this is kept in a journal", hint="give the executor one: Executor(world, 'runs.db')")
        journal: Journal = self.journal
        return journal

    def complete(self, run: str, step: str, result: Any = None) -> None:
        """Give a waiting step its result; the run must be driven by this executor, else see `resume`."""
        if run not in self._runs:
            raise RunError(f"the run {run!r} is not at work here", hint="resume(run, results={step: result})")
        self._runs[run].complete(step, result)
