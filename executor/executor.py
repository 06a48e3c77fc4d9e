"""Carry out plans in a world, keep runs in a journal, and resume runs: `Executor`.

`start` prepares a plan, or searches for one, and `_carry_out` drives the run; `take_up` rebuilds the state of a run
from its events, and `_take_up` drives it on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from executor.arguments import check_id, check_model, check_named, check_parts, check_texts
from executor.background_searches import search_in_turn
from executor.errors import JournalError, RunError
from executor.events import stored_runs
from executor.events.events import Event, GoalDropped, RunResumed, RunStarted, RunStatus, StepStatus, event_from_data
from executor.events.run_state import RunState
from executor.events.stored_runs import Retention, RunInfo, delete_expired
from executor.journal import AnyJournal, DatabaseAddress, Durability, open_journal
from executor.learning.experience import LearnedFrom, Pricing
from executor.ledger.records import Ledger
from executor.loop.attempt import Performer
from executor.loop.clearance import Owners
from executor.loop.driver import Driver
from executor.loop.locks_and_rates import Slots, Turns
from executor.loop.look_first import Look
from executor.loop.owners import OwnersHere, OwnersInJournal
from executor.loop.parameters import Fill
from executor.loop.past_effects import fill_ledger
from executor.plans.action_plan import ActionPlan, Goals
from executor.plans.execution_models import OFFERED, ExecutionModel
from executor.plans.prepare import PreparedPlan, add_alternatives, prepare_given, search_plan
from executor.recovery.ask_people import Callback
from executor.recovery.recovery_policy import Recovery
from executor.report.live import Follower, Listener
from executor.run import ModelAccess, Run, RunOutcome, find_running_loop
from executor.tools.clock import WALL, Clock
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

    Runnable = AnyProblem | Plan | Result | CandidateSet | ActionPlan | Policy | Decision | PreparedPlan

__all__ = ["Executor", "Run", "RunOutcome"]


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _UnfinishedRun:
    """An unfinished run without a journal: its events, source problem, status, and the time of its end."""

    events: Sequence[tuple[Event, float]]
    source: Problem
    status: RunStatus
    since: float


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a run is asked for beside its plan: see `Executor.start`."""

    memory: Mapping[str, Any]
    reported: Mapping[Atom, bool]
    occasion: str
    again: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Executor:
    """Carries out plans in `world`.

    `journal` is a file, the address of a database, or an open journal; without one, nothing survives the process.
    `model` overrides the execution model of plans. `concurrency` limits the steps of all runs that are at work at once;
    plans with a higher priority come first.

    `permit`, `approve` and `ask` are callbacks (see `executor.recovery.ask_people`); `fill` is asked for open data
    parameters (see `executor.loop.parameters`). With `stay`, a run waits for answers from outside in this process;
    otherwise it ends as WAITING, and `resume` takes it up. `capacity` is that of the working memory of each run.

    With `learned`, planning and patching use the costs expected from earlier runs: those in the journal (True, or a
    `Learning` with options), or an `Experience`, combined with the journal. `client` is a `ModelClient`: handlers with
    a context ask its language model, within its allowance. `retention` limits how long runs are kept; expired ones are
    deleted in a thread when a run begins or ends. `clock` tells the time of events, and when windows open and close;
    with a journal, it is that of the journal unless another is given.

    `look` says what is looked at before the first step: what the plan rests on and its irreversible steps are for
    ("plan"), all that is relevant to the goal ("goal"), or nothing ("never").
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
    clock: Clock = WALL
    look: Look = "plan"
    performer: Performer = field(init=False, default_factory=Performer)
    pricing: Pricing | None = field(init=False)
    _runs: dict[str, Run] = field(init=False, default_factory=dict)
    _unfinished: dict[str, _UnfinishedRun] = field(init=False, default_factory=dict)
    """Unfinished runs, without a journal."""
    _deletion_due: float = field(init=False, default=0.0)
    """Time of the next deletion of expired runs, in seconds of the monotonic clock."""
    _names: set[str] = field(init=False, default_factory=set)
    """Ids of runs that callers chose."""
    _has_filled: bool = field(init=False, default=False)
    """Whether the ledger knows what runs from before it have done."""

    def __post_init__(self) -> None:
        check_parts(self)
        self.listeners = tuple(self.listeners)
        if isinstance(self.journal, str | Path | DatabaseAddress):
            self.journal = open_journal(self.journal, self.durability)
        if self.journal is not None and self.clock is WALL:
            self.clock = self.journal.clock
        turns = Turns() if self.journal is None else Turns(self.journal.locks, self.journal.rates)
        self.performer = Performer(Slots(self.concurrency), self.world.model.name, turns, self.world.hooks)
        if self.journal is not None:
            self.performer.reservations = self.journal.reservations
        self.pricing = Pricing.of(self.learned, self.journal)

    @property
    def ledger(self) -> Ledger:
        """What irreversible steps have done: that of the journal, or of the world without one."""
        if self.journal is None or self.world.is_simulated:
            return self.world.ledger
        ledger: Ledger = self.journal.ledger
        return ledger

    def _fill_ledger(self) -> None:
        """Fill the ledger with what runs from before it have done, once for each journal and world."""
        if self.journal is not None and not self.world.is_simulated and not self._has_filled:
            fill_ledger(self.journal, self.world.model, self.world.name)
        self._has_filled = True

    @property
    def owners(self) -> Owners:
        """What became of the flights of other runs."""
        here = self.journal is None or self.world.is_simulated
        return OwnersHere() if here else OwnersInJournal(self.journal)

    async def run(self, what: Runnable, **options: Any) -> RunOutcome:
        """Carry out a plan, a policy, or the solution of a problem, and return the outcome; see `start`."""
        outcome: RunOutcome = await self.start(what, **options)
        return outcome

    async def enqueue(self, what: Runnable, **options: Any) -> str:
        """Record a run in the journal for a worker to carry out, and return its id; see `start`.

        A problem is solved here. Raises `RunError` without a journal, and as `start` does.
        """
        self._require_journal()
        outcome: RunOutcome = await self.start(what, enqueue=True, **options)
        return outcome.run

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
        reported: Mapping[Atom, bool] | None = None,
        occasion: str = "",
        again: Collection[str] = (),
        driver: Driver | None = None,
        enqueue: bool = False,
        **planning: Any,
    ) -> Run:
        """Begin to carry out a plan, a policy, or the solution of a problem, which is searched in a thread.

        `planning` are options of `solve`, or of `decide` in the execution model "policy".

        `memory` has the initial values of working memory; `entities` are the Python values of objects in the plan.
        `alternatives` are other plans for the same problem, such as those of `k_best`: if the plan fails, the end of
        one that fits the observed state may be taken. `learned`, `fill`, `approve` and `client` replace those of the
        executor for this run. The values of `reported` facts count as reported, and not as given by the problem. With
        `enqueue`, the run is recorded and not carried out.

        `occasion` names what the request is for, such as "2026-11": what was done on another occasion may be done once
        more. `again` names irreversible steps, such as "pay(o7)", that are to be done once more though they were done
        before. With a `driver`, the run begins only the steps that it chooses.

        Raises `PlanError` for a plan that does not fit the domain, `InputError` for a value that is neither plan nor
        problem, `JournalError` or `RunError` if the id `run` exists already, and `RunError` without an event loop. A
        run of a problem without a plan raises `NoPlan` when it is awaited.
        """
        check_id(run)
        check_named(memory=memory, entities=entities)
        fills = (fill or self.fill or driver) is not None
        made = prepare_given(self.world, what, planning, memory or (), entities, model=self.model, fills=fills)
        if find_running_loop() is None:
            raise RunError("a run needs a running event loop", hint="asyncio.run(executor.run(…)) has one")
        pricing = self.pricing if learned is None else Pricing.of(learned, self.journal)
        begun = Run(self, run or uuid4().hex[:12], pricing, fill=fill, approve=approve, client=client, driver=driver)
        begun.is_enqueued = enqueue
        if made is not None:
            begun.take(self.make_state(made := add_alternatives(made, alternatives), is_offered=begun.is_offered))
        if run is not None:
            self._reserve_id(run)
        if self.journal is not None:
            self.journal.create(begun.id)
        request = RunRequest(memory or {}, reported or {}, occasion, check_texts("again", again))
        begun.start(self._carry_out(begun, made or (what, planning), request, alternatives))
        return begun

    async def _carry_out(
        self,
        run: Run,
        what: PreparedPlan | tuple[Any, Mapping[str, Any]],
        request: RunRequest,
        alternatives: Any,
    ) -> RunOutcome:
        """Carry out `what`, a plan, or a problem with options of the search; return the outcome."""
        with self._delete_expired_around():
            memory = request.memory
            made = what if isinstance(what, PreparedPlan) else await self._search(run, *what, memory, alternatives)
            with self._claim_run(run.id) as events, self._register_run(run):
                if events:
                    raise RunError(f"there is already a run {run.id!r}", hint="take another name")
                self._fill_ledger()
                self._record_start(run, made, request)
                return run.outcome if run.is_enqueued else await run.drive()

    def _record_start(self, run: Run, made: PreparedPlan, request: RunRequest) -> None:
        plan, values = run.state.plan, Memory.from_dict(request.memory, self.capacity).to_dict()
        run.emit(
            RunStarted(
                run.id,
                plan.model_dump(mode="json"),
                run.state.model,
                values,
                self.world.model.name,
                occasion=request.occasion,
                again=request.again,
                world=self.world.name,
            )
        )
        for wish in made.dropped:
            run.emit(GoalDropped(str(wish.condition), float(wish.utility)))
        if request.reported:
            run.report(request.reported)

    async def _search(
        self, run: Run, problem: Any, planning: Mapping[str, Any], memory: Mapping[str, Any], alternatives: Any
    ) -> PreparedPlan:
        """Search for a plan for `problem` in a thread, and prepare `run` for it."""

        def search() -> tuple[PreparedPlan, RunState]:
            options: dict[str, Any] = {"memory": memory, "pricing": run.pricing, "model": self.model}
            found = search_plan(self.world, problem, planning, run.called_off, fills=run.fills, **options)
            made = add_alternatives(found, alternatives)
            return made, self.make_state(made, is_offered=run.is_offered)

        try:
            made, state = await search_in_turn(search)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                run.called_off.set()
            self._names.discard(run.id)
            raise
        run.take(state)
        return made

    def make_state(self, made: PreparedPlan, *, is_offered: bool = False) -> RunState:
        """Make the initial state of a run of a plan; its steps are only begun by a driver if it `is_offered`."""
        check_model(self.model, made.plan)
        model = "sequential" if is_offered else self.model
        plan = made.plan if model is None else made.plan.model_copy(update={"model": model})
        state = self.make_initial_state(plan, made.problem)
        state.model = OFFERED if is_offered else state.model
        return state

    def make_initial_state(self, plan: ActionPlan, problem: Problem) -> RunState:
        """Make the state of a run without events."""
        state = RunState(self.world.model, plan, problem, self.world.hierarchy)
        state.journal = None if self.journal is None else self.journal.place
        state.memory.capacity = self.capacity
        return state

    def _reserve_id(self, run: str) -> None:
        """Reserve the id `run`; raises `RunError` or `JournalError` if it is taken."""
        if run in self._names:
            found, hint = f"there is already a run {run!r}", "take another name"
            raise RunError(found, hint=hint) if self.journal is None else JournalError(self.journal.place, found, hint)
        self._names.add(run)

    def announce(self, event: str, result: Any = None) -> int:
        """Complete all steps of runs here that wait for `event`; return their number.

        In a run without such a step, the first step that comes to wait for `event` in this process gets the result.
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
                self._unfinished[run.id] = _UnfinishedRun(run.recorded, run.state.source, run.state.status, time.time())

    def _read_events(self, run: str) -> Iterator[tuple[Event, float]]:
        """Yield the events of a run that is not driven here, with their times in seconds since 1970.

        Raises `RunError` and `JournalError` for an unknown run.
        """
        if run in self._unfinished:
            return iter(self._unfinished[run].events)
        return (
            (event_from_data(each.kind, load_json(each.data)), each.time) for each in self._require_journal().read(run)
        )

    def _claim_run(self, run: str) -> AbstractContextManager[int]:
        """Keep others from driving the run; the context yields its number of events."""
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
        """Resume a run from the journal, without repeating its steps; return the outcome.

        `answers` are for open questions, `results` for waiting steps, `fill` and `approve` as for `start`. Raises
        `JournalError` for a run that is not in the journal, or that another process drives, and `RunError` for unknown
        questions and for steps that do not wait.
        """
        outcome: RunOutcome = await self.take_up(
            run, answers=answers, entities=entities, results=results, fill=fill, approve=approve
        )
        return outcome

    async def hand_over(
        self,
        run: str,
        *,
        answers: Mapping[str, Any] | None = None,
        results: Mapping[str, Any] | None = None,
        entities: Mapping[str, object] | None = None,
    ) -> None:
        """Record answers to open questions and results of waiting steps, and leave the run to a worker.

        Raises as `resume` does.
        """
        await self.take_up(run, answers=answers, results=results, entities=entities, enqueue=True)

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
        driver: Driver | None = None,
        before: Run | None = None,
        enqueue: bool = False,
    ) -> Run:
        """Begin to resume a run, and return it; awaiting it raises as `resume` does.

        `facts` are the values of facts that have changed meanwhile; `aim` is the new goal, as data of
        `executor.plans.action_plan`. `driver` is as for `start`. `before` is the same run as it was driven here before:
        its state is not read again if it is up to date. With `enqueue`, all this is recorded, and the run is not
        carried out.
        """
        check_named(answers=answers, entities=entities, results=results)
        if find_running_loop() is None:
            raise RunError("a run needs a running event loop", hint="asyncio.run(executor.resume(run, …)) has one")
        taken = Run(self, run, self.pricing, fill=fill, approve=approve, client=client, driver=driver)
        taken.is_enqueued = enqueue
        news = (facts or {}, aim)
        taken.start(self._take_up(taken, answers or {}, entities, results or {}, news, before=before))
        return taken

    async def _take_up(
        self,
        taken: Run,
        answers: Mapping[str, Any],
        entities: Mapping[str, object] | None,
        results: Mapping[str, Any],
        news: tuple[Mapping[Atom, bool], Mapping[str, Any] | None],
        *,
        before: Run | None = None,
    ) -> RunOutcome:
        with self._delete_expired_around(), self._claim_run(taken.id) as events:
            self._fill_ledger()
            taken.take(self._find_known(before, events) or self.state_of(taken.id, entities))
            if taken.state.status.is_over:
                return taken.outcome
            for question, answer in answers.items():
                taken.check_answer(question, answer)
            given_results = {step: taken.read_result_for(step, each) for step, each in results.items()}
            left = self._unfinished.pop(taken.id, None)
            taken.recorded = [] if left is None else list(left.events)
            with self._register_run(taken):
                open_steps = taken.state.with_status(StepStatus.RUNNING, StepStatus.WAITING, StepStatus.IN_DOUBT)
                self.performer.keep(taken.id, [each.id for each in open_steps])
                taken.emit(RunResumed(taken.id))
                taken.learn(*news)
                for question, answer in answers.items():
                    taken.answer(question, answer)
                taken.take_posted()
                for step, result in given_results.items():
                    taken.complete(step, result)
                return taken.outcome if taken.is_enqueued else await taken.drive()

    def _find_known(self, before: Run | None, events: int) -> RunState | None:
        """Return the state of a run as it was driven here `before`, if it has as many `events` as the journal."""
        if before is None:
            return None
        left = self._unfinished.get(before.id)
        count = events if self.journal is not None or left is None else len(left.events)
        return before.state if before.count == count else None

    def state_of(self, run: str, entities: Mapping[str, object] | None = None) -> RunState:
        """Return the live state of a run that is driven here, or the state of another run by the journal."""
        if run in self._runs:
            return self._runs[run].state
        events = self._read_events(run)
        first, began = next(events, (None, 0.0))
        if not isinstance(first, RunStarted):
            hint = f"it ended before it had a plan, and has done nothing: executor.run(…, run={run!r}) begins it again"
            raise RunError(f"the journal has no beginning of run {run!r}", hint=hint)
        known = self._unfinished[run].source if run in self._unfinished and entities is None else None
        return self.rebuild_state(chain([(first, began)], events), known, entities)

    def rebuild_state(
        self,
        events: Iterable[tuple[Event, float]],
        problem: Problem | None = None,
        entities: Mapping[str, object] | None = None,
    ) -> RunState:
        """Build the state of a run from its events and their times; `problem` is that of its plan, if it is at hand."""
        events = iter(events)
        first, began = next(events)
        assert isinstance(first, RunStarted), "the first event of every run"
        plan = ActionPlan.model_validate(first.plan)
        state = self.make_initial_state(plan, problem or plan.problem(self.world.model, entities))
        state.apply(first, began)
        for event, at in events:
            state.apply(event, at)
        return state

    def runs(self) -> dict[str, RunInfo]:
        """Return all runs in the journal by id, the oldest first."""
        return stored_runs.load_runs(self._require_journal())

    def delete(self, run: str) -> None:
        """Delete a run that is not driven, with all its data; its id is free again.

        If the id is reused, services that remember idempotency keys will recognise those of the deleted run. Raises
        `RunError` for a run that is driven here and for an unknown run, `JournalError` as `Journal.delete` does.
        """
        if run in self._runs:
            raise RunError(f"the run {run!r} is at work", hint="cancel it, and await it first")
        if self._unfinished.pop(run, None) is None:
            self._require_journal().delete(run)
        self._names.discard(run)

    def delete_expired(self, retention: Retention | None = None) -> list[str]:
        """Delete the runs that have expired by `retention`, or else by that of the executor; return their ids.

        Runs that are being driven stay. Raises `JournalError`.
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
        """Delete expired runs in a thread, if that is due."""
        if self.retention is not None and time.monotonic() >= self._deletion_due:
            self._deletion_due = time.monotonic() + self.retention.pause
            asyncio.get_running_loop().run_in_executor(None, self._delete_expired_and_log)

    def _delete_expired_and_log(self) -> None:
        try:
            self.delete_expired()
        except ForethoughtError as error:
            _log.warning("runs that have expired were not deleted: %s", error)

    def save_plan(self, plan: ActionPlan) -> None:
        """Save `plan` in the journal under its id, in place of an earlier version."""
        self._require_journal().save_plan(plan.id, plan.model_dump_json(), status=plan.status)

    def plans(self) -> dict[str, ActionPlan]:
        """Return the plans in the journal by id, saved ones and others that ran, each with its present status."""
        return stored_runs.load_plans(self._require_journal())

    def save_goal(self, name: str, goal: Goals) -> None:
        """Save `goal` in the journal under `name`, in place of an earlier version."""
        self._require_journal().save_goal(name, goal.model_dump_json())

    def goals(self) -> dict[str, Goals]:
        """Return the goals in the journal by name."""
        return stored_runs.load_goals(self._require_journal())

    def _require_journal(self) -> AnyJournal:
        """Return the journal; raises `RunError` without one."""
        if self.journal is None:
            raise RunError("this is kept in a journal", hint="give the executor one: Executor(world, 'runs.db')")
        journal: AnyJournal = self.journal
        return journal

    def complete(self, run: str, step: str, result: Any = None) -> None:
        """Complete a waiting step of a run that this executor drives; for other runs, see `resume`."""
        if run not in self._runs:
            raise RunError(f"the run {run!r} is not at work here", hint="resume(run, results={step: result})")
        self._runs[run].complete(step, result)
