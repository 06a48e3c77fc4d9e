"""Carry out plans in a world, keep runs in a journal, and resume runs: `Executor`.

`start` prepares a plan, or searches for one, and `_carry_out` drives the run; `take_up` rebuilds the state of a run
from its events, and `_take_up` drives it on. A request joins a run that is known, or an equal one that is at work: see
`executor.joining`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from executor.arguments import (
    check_again,
    check_id,
    check_model,
    check_named,
    check_occasion,
    check_parts,
    check_world_named,
)
from executor.background_searches import search_in_turn
from executor.errors import DrivenError, NoRunError, RunError, RunExists
from executor.events import stored_runs
from executor.events.events import (
    BEGUN,
    Asked,
    ChildBegun,
    Event,
    GoalDropped,
    Note,
    Provenance,
    RunEnded,
    RunResumed,
    RunStarted,
    RunStatus,
    StepEnded,
    event_to_data,
)
from executor.events.open_questions import load_open_questions, post_answer
from executor.events.run_state import RunState
from executor.events.stored_runs import Retention, RunInfo, delete_expired
from executor.joining import (
    ADMITTING,
    FOLLOW_SECONDS,
    JoinedRun,
    RunRequest,
    describe_difference,
    find_equal,
    find_leader,
    follow_journal,
    hash_terms,
    let_go,
    make_id,
    note_at_work,
    recall_terms,
    state_terms,
)
from executor.journal import AnyJournal, DatabaseAddress, Durability, open_journal
from executor.journal.effects import leave_in_doubt
from executor.learning.experience import LearnedFrom, Pricing
from executor.loop.attempt import Performer
from executor.loop.books import BookHere, BookInJournal, list_begun, read_events
from executor.loop.children import STEP, RunKey
from executor.loop.driver import Driver
from executor.loop.flights import Book
from executor.loop.locks_and_rates import Slots, Turns
from executor.loop.look_first import Look
from executor.loop.parameters import Fill
from executor.loop.past_effects import fill_ledger
from executor.plan_check.check_means import report_unobservable
from executor.plan_check.remaining_means import LACKING, is_lacking
from executor.plan_check.unobservable_conditions import find_unobservable
from executor.plans.action_plan import ActionPlan, Goals
from executor.plans.execution_models import OFFERED, ExecutionModel
from executor.plans.prepare import PreparedPlan, add_alternatives, prepare_given, search_plan
from executor.plans.upgrades import Upgrade
from executor.recovery.ask_people import Callback
from executor.recovery.recovery_policy import Recovery
from executor.report.live import Follower, Listener
from executor.run import ModelAccess, Run, RunOutcome, find_running_loop, require_loop
from executor.tools.clock import WALL, Clock
from executor.tools.context import CAPACITY, Memory
from executor.tools.deps import Deps
from executor.tools.json_data import dump_json, load_json
from executor.tools.kept_values import Keeper, check_kept
from executor.tools.world import World
from planner.errors import ForethoughtError, InputError, PlanError
from planner.lightweight import replace
from planner.model import Atom, DomainModel, Problem
from planner.plan import Plan, Result
from planner.problem_kinds import AnyProblem, resolve_problem

if TYPE_CHECKING:
    from planner.policies.decision import Decision
    from planner.policies.policy import Policy
    from planner.topk.top_k import CandidateSet

    Runnable = AnyProblem | Plan | Result | CandidateSet | ActionPlan | Policy | Decision | PreparedPlan

__all__ = ["Executor", "Run", "RunOutcome"]


_log = logging.getLogger(__name__)
_TAKEN_UP = frozenset({RunStatus.PROPOSED.name, RunStatus.ACTIVE.name, RunStatus.WAITING.name})
"""Statuses of runs that go on by themselves where all is there that they need."""


MOST_KEPT: Final = 100
"""Most runs that are over and are kept without a journal: the latest with names, whose outcomes others may ask for."""


@dataclass(frozen=True, slots=True)
class _KeptRun:
    """A run without a journal that nobody drives: its events, source problem, status, and the time of its end."""

    events: Sequence[tuple[Event, float]]
    source: Problem
    status: RunStatus
    since: float


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
    ("plan"), all that is relevant to the goal ("goal"), or nothing ("never"). A handler without a time limit that is
    still at work after `tells_after` seconds is told as progress and in a warning, then whenever that time has doubled;
    None tells nothing.

    `deps` are those of runs for which none are given: clients, the account of a tenant, secrets. Handlers, checks,
    hooks and observers have them as `context.deps`; they are never written.
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
    tells_after: float | None = 60.0
    deps: Any = None
    performer: Performer = field(init=False, default_factory=Performer)
    book: Book = field(init=False)
    """The ledger of what irreversible steps have done: that of the journal, or of the world without one."""
    pricing: Pricing | None = field(init=False)
    _runs: dict[str, Run] = field(init=False, default_factory=dict)
    _beginning: set[Run] = field(init=False, default_factory=set)
    """Runs that are not registered yet, such as those whose plan is still searched."""
    _kept: dict[str, _KeptRun] = field(init=False, default_factory=dict)
    """Runs that nobody drives, without a journal: unfinished ones, and the latest that are over and were named."""
    _deletion_due: float = field(init=False, default=0.0)
    """Time of the next deletion of expired runs, in seconds of the monotonic clock."""
    _names: set[str] = field(init=False, default_factory=set)
    """Ids of runs that callers chose, without a journal."""
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
        name, is_simulated = self.world.model.name, self.world.is_simulated
        self.performer = Performer(Slots(self.concurrency), name, turns, self.world.hooks, is_simulated)
        if self.journal is not None:
            self.performer.reservations = self.journal.reservations
        self.performer.is_driven, self.performer.free_idle = self._is_driven, self._free_idle
        is_here = self.journal is None or self.world.is_simulated
        owns_names = self.journal is not None
        self.book = BookHere(self.world.ledger, owns_names=owns_names) if is_here else BookInJournal(self.journal)
        self.pricing = Pricing.of(self.learned, self.journal)

    def make_deps_of(self, given: Any) -> Deps:
        """Return the deps of a run: those `given`, of the step whose handler begins it, or of this executor."""
        step = STEP.get(None)
        found = step.deps() if given is None and step is not None else given
        return Deps(self.deps if found is None else found, self.world.make_deps)

    def _fill_ledger(self) -> None:
        """Fill the ledger with what runs from before it have done, once for each journal and world."""
        if self.journal is not None and not self.world.is_simulated and not self._has_filled:
            labels = self.world.label, *self.world.earlier_names
            fill_ledger(self.journal, self.world.model, self.world.first_name, labels)
        self._has_filled = True

    async def run(self, what: Runnable, **options: Any) -> RunOutcome:
        """Carry out a plan, a policy, or the solution of a problem, and return the outcome; see `start`."""
        outcome: RunOutcome = await self.start(what, **options)
        return outcome

    def run_sync(self, what: Runnable, **options: Any) -> RunOutcome:
        """Carry out a plan, a policy, or the solution of a problem where no event loop runs; see `start`.

        Raises `RunError` where one runs.
        """
        if find_running_loop() is not None:
            raise RunError("an event loop runs here already", hint="await executor.run(…)")
        return asyncio.run(self.run(what, **options))

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
        join: bool = True,
        deps: Any = None,
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

        A request that names a known `run`, with the same goal and values, joins that run: its outcome is that of a run
        that is over or at work, wherever that is, and any other is taken up. A request without a name joins an equal
        one that is at work for the same world. A run that was joined is called off when the last of its callers calls
        it off, or is cancelled. With `join=False`, the run is one of its own. A run that a handler begins is a child of
        its step: another attempt at the step joins it.

        `deps` are for this run alone, and never written: see `Executor`. A run that a handler begins inherits those of
        its step. They may choose the account, so that a world with irreversible actions needs a name of its own then.

        Raises `PlanError` for a plan that does not fit the domain, `InputError` for a value that is neither plan nor
        problem, `RunExists` if the id `run` belongs to a run for something else, or if it is not to be joined, and
        `RunError` without an event loop. A run of a problem without a plan raises `NoPlan` when it is awaited.
        """
        check_id(run)
        check_named(memory=memory, entities=entities)
        has_deps = self.make_deps_of(deps).has_any
        check_world_named(self.world, has_deps=has_deps)
        if enqueue and deps is not None:
            raise InputError(
                "a run for a worker is given no deps", hint="@world.deps makes them where it is carried out"
            )
        fills = (fill or self.fill or driver) is not None
        made = prepare_given(self.world, what, planning, memory or (), entities, model=self.model, fills=fills)
        require_loop("executor.run(…)")
        made = None if made is None else add_alternatives(made, alternatives)
        check_occasion(occasion)
        values = Memory.from_dict(memory or {}, self.capacity)
        if self.journal is not None:
            keeper = Keeper()
            keeper.keep(values.to_dict(), "memory")
            check_kept(keeper.lost, "memory=")
        wanted: Any = made or resolve_problem(what)
        again = check_again(again, self.world, wanted.problem if isinstance(wanted, PreparedPlan) else wanted)
        asked = fill or self.fill, approve or self.approve, client or self.client
        terms = state_terms(wanted, values, self.world.label, occasion, again)
        request = RunRequest(
            run,
            made or (what, planning),
            alternatives,
            values.to_dict(),
            entities,
            reported or {},
            occasion,
            again,
            terms,
            hash_terms(terms),
            (self.model, self.permit, self.ask, self.stay, self.recovery, *asked),
            join and not (has_deps and run is None and not self.world.is_named),
            enqueue,
        )
        pricing = self.pricing if learned is None else Pricing.of(learned, self.journal)
        state = None if made is None else self.make_state(made, is_offered=driver is not None)
        if state is not None:
            self._check_reported(state, reported or {})
        with ADMITTING:
            return self._admit(
                request,
                lambda name: Run(
                    self, name, pricing, fill=fill, approve=approve, client=client, driver=driver, deps=deps
                ),
                state,
            )

    def _admit(self, request: RunRequest, make: Callable[[str], Run], state: RunState | None) -> Run:
        """Join an equal run at work, or begin one, made by `make`: a child of the step whose handler asks for it."""
        leader = find_leader(self._name_equal(request), request.options) if request.is_shared else None
        step = STEP.get(None)
        if step is None and leader is not None:
            return self._join_leader(leader, request, make)
        if step is None and request.is_shared and self.journal is not None:
            return self._begin_once(request, make, state)
        if step is None:
            return self._begin(request.run or make_id(request), request, make, state)
        if leader is None and request.run is None:
            request = replace(request, run=step.take_name(request.digest), join=True)
        name = request.run or "" if leader is None else leader.id
        step.tell(name, self._place)
        begun = self._begin(name, request, make, state) if leader is None else self._join_leader(leader, request, make)
        step.add(begun)
        return begun

    def _begin_once(self, request: RunRequest, make: Callable[[str], Run], state: RunState | None) -> Run:
        """Begin a run unless another process is at work on an equal request: then follow its run."""
        journal = self._require_journal()
        elsewhere = "" if journal.locks.hold(request.lock) else find_equal(journal, request)
        if elsewhere:
            begun = make(elsewhere)
            begun.start(self._follow_equal(begun, request))
            return begun
        try:
            begun = self._begin(make_id(request), request, make, state)
        except BaseException:
            journal.locks.let_go(request.lock)
            raise
        begun.when_done(partial(let_go, journal, request))
        return begun

    def _begin(self, name: str, request: RunRequest, make: Callable[[str], Run], state: RunState | None) -> Run:
        """Begin the run `name`, or join it if it is known; raises `RunExists` if the request does not join it."""
        leader = find_leader(self._name_by_id(name))
        if leader is not None:
            self._check_joins(name, leader.terms or self._recall_terms(name), request)
            return self._join_leader(leader, request, make)
        kept = self._reserve_id(name, is_chosen=request.run is not None)
        begun = make(name)
        begun.is_enqueued, begun.terms = request.enqueue, request.terms
        if kept is not None:
            self._check_joins(name, kept, request)
            begun.start(self._join(begun, request))
        else:
            if state is not None:
                begun.take(state)
            begun.start(self._carry_out(begun, request))
            self._beginning.add(begun)
            begun.when_done(partial(self._beginning.discard, begun))
        note_at_work(self._name_by_id(name), begun)
        if request.is_shared:
            note_at_work(self._name_equal(request), begun, request.options)
        return begun

    def _join_leader(self, leader: Run, request: RunRequest, make: Callable[[str], Run]) -> Run:
        """Join a run at work in this process; one that is being interrupted is taken up when it has stopped."""
        if not leader.is_interrupted:
            return JoinedRun(self, leader)
        begun = make(leader.id)
        begun.start(self._join_interrupted(leader, begun, request))
        return begun

    async def _join_interrupted(self, leader: Run, run: Run, request: RunRequest) -> RunOutcome:
        await asyncio.wait([asyncio.wrap_future(leader.share_end())])
        return await self._join(run, request)

    @property
    def _place(self) -> str:
        """The place of the journal, "" without one."""
        return "" if self.journal is None else str(self.journal.place)

    def key_of(self, run: str) -> RunKey:
        """Return by what the run is known in this process."""
        return RunKey(self._place or id(self.performer), run)

    def list_awaited(self, run: str) -> list[str]:
        """Return the runs for which handlers of a run wait that another process drives, as the journal says."""
        here = find_leader(self._name_by_id(run))
        if self.journal is None or (here is not None and here.is_driven_here) or not self.journal.is_driven(run):
            return []
        begun = dict[str, set[str]]()
        for event, _ in self._read_events(run):
            match event:
                case ChildBegun(step, child, place) if place == self._place:
                    begun.setdefault(step, set()).add(child)
                case StepEnded(step):
                    begun.pop(step, None)
        return sorted(set().union(*begun.values()))

    def _name_by_id(self, run: str) -> Hashable:
        """Return by what a run at work is found by its id."""
        return self._place or id(self), run

    def _name_equal(self, request: RunRequest) -> Hashable:
        """Return by what a run at work is found by requests that are equal to its own."""
        return id(self.world), self._place, request.digest

    def _reserve_id(self, run: str, *, is_chosen: bool) -> Mapping[str, Any] | None:
        """Reserve the id of a run, and return None; return the terms of a run that has it already.

        Raises `RunExists` for a run whose outcome is not kept.
        """
        if self.journal is None:
            if run in self._kept:
                return self._recall_terms(run)
            if run in self._names:
                raise RunExists(
                    run, "and its outcome is kept no longer", hint="take another name; a journal keeps outcomes"
                )
            if is_chosen:
                self._names.add(run)
            return None
        try:
            self.journal.create(run)
        except RunExists:
            return self._recall_terms(run)
        return None

    def _recall_terms(self, run: str) -> Mapping[str, Any]:
        """Return the terms of the request for a run that has begun; raises `NoRunError` if it was deleted."""
        if self.journal is None and run in self._runs:
            first = self._runs[run].recorded[0][0]
        else:
            first = next(self._read_events(run))[0]
        assert isinstance(first, RunStarted), "the first event of every run"
        return recall_terms(first)

    def _check_joins(self, run: str, kept: Mapping[str, Any], request: RunRequest) -> None:
        """Raise `RunExists` unless a request joins the run that was begun with the terms `kept`."""
        why = describe_difference(kept, request.terms)
        if why or not request.join:
            raise RunExists(run, why, place=self._place)

    async def _join(self, run: Run, request: RunRequest) -> RunOutcome:
        """Return the outcome of a run that is over, follow one that another process drives, or take it up."""
        if run.is_enqueued:
            return RunOutcome.of(run.id, self.state_of(run.id, request.entities))
        while True:
            try:
                return await self._take_up(run, {}, request.entities, {}, ({}, None))
            except DrivenError as error:
                if type(error) is not DrivenError:
                    raise
            outcome = await follow_journal(self, self._require_journal(), run)
            if outcome is not None:
                return outcome

    async def _follow_equal(self, run: Run, request: RunRequest) -> RunOutcome:
        """Follow the run of another process for an equal request, or carry it out if that process is gone."""
        journal = self._require_journal()
        while not journal.locks.hold(request.lock):
            outcome = await follow_journal(self, journal, run)
            if outcome is not None:
                return outcome
            await asyncio.sleep(FOLLOW_SECONDS)
        run.when_done(partial(let_go, journal, request))
        kept = self._reserve_id(run.id, is_chosen=False)
        if kept is not None:
            return await self._join(run, request)
        if isinstance(request.what, PreparedPlan):
            run.take(self.make_state(request.what))
        return await self._carry_out(run, request)

    async def _carry_out(self, run: Run, request: RunRequest) -> RunOutcome:
        """Carry out a plan, or search for one first; return the outcome. Join a run that was begun meanwhile."""
        with self._delete_expired_around():
            what, is_new = request.what, False
            made = what if isinstance(what, PreparedPlan) else await self._search(run, *what, request)
            with ExitStack() as claim:
                with suppress(DrivenError):
                    is_new = not claim.enter_context(self._claim_run(run.id))
                if is_new:
                    with self._register_run(run):
                        self._beginning.discard(run)
                        self._fill_ledger()
                        self._record_start(run, made, request)
                        return run.outcome if run.is_enqueued else await run.drive()
        self._check_joins(run.id, await self._wait_for_terms(run.id), request)
        return await self._join(run, request)

    async def _wait_for_terms(self, run: str) -> Mapping[str, Any]:
        """Return the terms of the request for a run that another process has just begun."""
        journal = self._require_journal()
        while next(journal.read(run), None) is None:
            if not journal.is_driven(run):
                raise RunError(f"whoever was about to begin the run {run!r} has stopped", hint="ask for it again")
            await asyncio.sleep(FOLLOW_SECONDS)
        return self._recall_terms(run)

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
                world=self.world.label,
                deps=run.deps.type_name,
            )
        )
        for wish in made.dropped:
            run.emit(GoalDropped(str(wish.condition), float(wish.utility)))
        if request.reported:
            run.report(request.reported)

    async def _search(self, run: Run, problem: Any, planning: Mapping[str, Any], request: RunRequest) -> PreparedPlan:
        """Search for a plan for `problem` in a thread, and prepare `run` for it."""

        def search() -> tuple[PreparedPlan, RunState]:
            options: dict[str, Any] = {"memory": request.memory, "pricing": run.pricing, "model": self.model}
            found = search_plan(self.world, problem, planning, run.called_off, fills=run.fills, **options)
            made = add_alternatives(found, request.alternatives)
            state = self.make_state(made, is_offered=run.is_offered)
            self._check_reported(state, request.reported)
            return made, state

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

    def _check_reported(self, state: RunState, reported: Mapping[Atom, bool]) -> None:
        """Raise `PlanError` if a careful step rests on one of the `reported` facts, and nobody can observe it."""
        notes = [
            Note(fact, holds, Provenance.REPORTED)
            for fact, holds in reported.items()
            if not state.beliefs.describe_stranger(fact)
        ]
        steps = state.plan.steps
        found = find_unobservable(steps, state.problem, self.world, state.beliefs.after(notes)) if notes else []
        if found:
            told = map(str, report_unobservable(steps, found))
            raise PlanError("this plan cannot be run, as reports are no observations:\n" + "\n".join(told))

    def make_initial_state(self, plan: ActionPlan, problem: Problem, domain: DomainModel | None = None) -> RunState:
        """Make the state of a run without events; `domain` is by default that of the world."""
        state = RunState(domain or self.world.model, plan, problem, self.world.hierarchy)
        state.journal = None if self.journal is None else self.journal.place
        state.memory.capacity = self.capacity
        return state

    def announce(self, event: str, result: Any = None) -> int:
        """Complete all steps of runs here that wait for `event`; return their number.

        In a run without such a step, the first step that comes to wait for `event` in this process gets the result.
        """
        return sum(run.announce(event, result) for run in [*self._beginning, *self._runs.values()])

    def _is_driven(self, run: str) -> bool:
        """Return whether some process drives `run`."""
        if self.journal is None:
            return run in self._runs
        try:
            return bool(self.journal.is_driven(run))
        except NoRunError:
            return False

    def _free_idle(self, run: str) -> None:
        """Release what a run that nobody drives has reserved, but for steps that have begun, or are in doubt."""
        ledger = self.world.ledger if self.journal is None else self.journal.ledger
        left = [each.step for each in ledger.flights() if each.run == run]
        with suppress(DrivenError):  # somebody takes it up
            try:
                with self._claim_run(run):
                    self.performer.reservations.keep(run, [*left, *list_begun(self._read_events(run))])
            except (RunError, NoRunError):  # it was deleted
                self.performer.reservations.keep(run, left)

    @contextmanager
    def _register_run(self, run: Run) -> Iterator[None]:
        self._runs[run.id] = run
        try:
            with run.audience.at(run.state, run.id):
                yield
        finally:
            self._runs.pop(run.id, None)
            if self.journal is None:
                self._keep(run)

    def _keep(self, run: Run) -> None:
        """Keep what is known of a run without a journal: of those that are over, the latest that were named."""
        status = run.state.status
        if status.is_over and run.id not in self._names:
            return
        self._kept[run.id] = _KeptRun(run.recorded, run.state.source, status, time.time())
        over = [name for name, each in self._kept.items() if each.status.is_over] if status.is_over else []
        for name in over[: max(len(over) - MOST_KEPT, 0)]:
            del self._kept[name]

    def _read_events(self, run: str) -> Iterator[tuple[Event, float]]:
        """Yield the events of a run that is not driven here, with their times in seconds since 1970.

        Raises `RunError` and `JournalError` for an unknown run.
        """
        if run in self._kept:
            return iter(self._kept[run].events)
        return read_events(self._require_journal(), run)

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
        deps: Any = None,
    ) -> RunOutcome:
        """Resume a run from the journal, without repeating its steps; return the outcome.

        `answers` are for open questions, `results` for waiting steps, `fill`, `approve` and `deps` as for `start`.
        Raises `JournalError` for a run that is not in the journal, or that another process drives, and `RunError` for
        unknown questions and for steps that do not wait.
        """
        outcome: RunOutcome = await self.take_up(
            run, answers=answers, entities=entities, results=results, fill=fill, approve=approve, deps=deps
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
        deps: Any = None,
    ) -> Run:
        """Begin to resume a run, and return it; awaiting it raises as `resume` does.

        `facts` are the values of facts that have changed meanwhile; `aim` is the new goal, as data of
        `executor.plans.action_plan`. `driver` is as for `start`. `before` is the same run as it was driven here before:
        its state is not read again if it is up to date. With `enqueue`, all this is recorded, and the run is not
        carried out.
        """
        check_named(answers=answers, entities=entities, results=results)
        require_loop("executor.resume(run, …)")
        taken = Run(self, run, self.pricing, fill=fill, approve=approve, client=client, driver=driver, deps=deps)
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
            try:
                state = self._find_known(before, events) or self.state_of(taken.id, entities)
                self._check_world(taken.id, state.world)
                taken.take(state)
            except InputError as error:
                if entities is None and not isinstance(error, RunError):
                    self._note_misfit(taken.id, error)
                raise
            if taken.state.status.is_over:
                self._refuse_late(taken, [*answers, *results])
                return taken.outcome
            if not (answers or results or any(news) or taken.is_enqueued) and (lack := taken.find_lack_still()):
                return replace(taken.outcome, reason=lack)
            for question, answer in answers.items():
                taken.check_answer(question, answer)
            for step, result in results.items():
                taken.read_result_for(step, result)
                taken.check_told_once(step, answers)
            left = self._kept.pop(taken.id, None)
            taken.recorded = [] if left is None else list(left.events)
            with self._register_run(taken):
                open_steps = taken.state.with_status(*BEGUN)
                self.performer.keep(taken.id, [each.id for each in open_steps])
                taken.emit(RunResumed(taken.id))
                taken.drop_lost()
                taken.learn(*news)
                for question, answer in answers.items():
                    taken.answer(question, answer)
                taken.take_posted()
                for step, result in results.items():
                    taken.complete(step, result)
                return taken.outcome if taken.is_enqueued else await taken.drive()

    def _refuse_late(self, run: Run, told: Sequence[str]) -> None:
        """Raise `RunError` for answers to a run that is over."""
        if told:
            hint = "its state says how it ended"
            found = (
                f"the run {run.id!r} is over, {run.state.status.name}: what was told of {', '.join(told)} is too late"
            )
            raise RunError(found, hint=hint)

    def _check_world(self, run: str, world: str) -> None:
        """Raise `RunError` unless a run belongs to the world of this executor; those of early versions may."""
        if world not in ("", self.world.label, *self.world.earlier_names):
            raise RunError(
                f"the run {run!r} belongs to the world {world!r}, and this executor's is {self.world.label!r}",
                hint="take it up in its own world: World(domain, name=…), or a SimulatedWorld where it was simulated",
            )

    def _note_misfit(self, run: str, error: InputError) -> None:
        """Record that a run waits for a domain that fits, so that nothing is undone; not if it is over, or in doubt."""
        journal = self._require_journal()
        last = next(iter(deque(journal.read(run), maxlen=1)), None)
        if last is None or last.status not in _TAKEN_UP or is_lacking(load_json(last.data).get("reason", "")):
            return
        ended = RunEnded(RunStatus.WAITING, f"{self.describe_wanted_domain()}; {error}")
        data = dump_json(event_to_data(ended))
        journal.append(run, "RunEnded", data, status=ended.status.name, at=self.clock.time())

    def describe_wanted_domain(self) -> str:
        """Return what a run lacks whose events do not fit the domain."""
        return f"{LACKING}: a domain {self.world.model.name!r} of the version that its plan was made with"

    def _find_known(self, before: Run | None, events: int) -> RunState | None:
        """Return the state of a run as it was driven here `before`, if it has as many `events` as the journal."""
        if before is None:
            return None
        left = self._kept.get(before.id)
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
        known = self._kept[run].source if run in self._kept and entities is None else None
        return self.rebuild_state(chain([(first, began)], events), known, entities)

    def rebuild_state(
        self,
        events: Iterable[tuple[Event, float]],
        problem: Problem | None = None,
        entities: Mapping[str, object] | None = None,
    ) -> RunState:
        """Build the state of a run from its events and their times; `problem` is that of its plan, if it is at hand."""
        upgrade = Upgrade(self.world.model)
        events = upgrade.read(events)
        first, began = next(events)
        assert isinstance(first, RunStarted), "the first event of every run"
        plan = ActionPlan.model_validate(first.plan)
        state = self.make_initial_state(plan, problem or plan.problem(upgrade.domain, entities), upgrade.domain)
        state.lost = frozenset(upgrade.lost)
        try:
            state.apply(first, began)
            for event, at in events:
                state.apply(event, at)
        except (LookupError, ValueError) as error:
            hint = "resume it with the version that it was made with"
            found = f"what the run did does not fit this version of the domain {self.world.model.name!r}: {error!r}"
            raise InputError(found, hint=hint) from error
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
        if run in self._kept:
            self._forget(run)
        else:
            self._require_journal().delete(run)
        self._names.discard(run)

    def _forget(self, run: str) -> bool:
        """Forget a run without a journal, and free what it reserved, but for steps in doubt; return whether it is."""
        if self._kept.pop(run, None) is None:
            return False
        assert isinstance(self.book, BookHere), "there is no journal"
        left = [each for each in self.world.ledger.flights() if each.run == run and self.book.has_taken(each)]
        self.performer.keep(run, leave_in_doubt(self.world.ledger, left, self.clock.time()))
        return True

    def delete_expired(self, retention: Retention | None = None) -> list[str]:
        """Delete the runs that have expired by `retention`, or else by that of the executor; return their ids.

        Runs that are being driven stay. Raises `JournalError`.
        """
        retention, now = retention or self.retention or Retention(), time.time()
        gone = [run for run, left in list(self._kept.items()) if now - left.since >= retention.seconds(left.status)]
        gone = [run for run in gone if self._forget(run)]
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

    def questions(self, run: str) -> tuple[Asked, ...]:
        """Return the open questions of a run, whoever drives it."""
        if run in self._runs or run in self._kept:
            return tuple(self.state_of(run).open_questions.values())
        return tuple(load_open_questions(self._require_journal(), run).values())

    def answer(self, run: str, question: str, answer: Any) -> None:
        """Answer an open question of a run, wherever it is driven: whoever drives it, or takes it up, goes on with it.

        Raises `RunError` for a question that is not open (any more), and `InputError` for an answer that does not fit.
        """
        if run in self._runs:
            self._runs[run].answer(question, answer)
        else:
            post_answer(self._require_journal(), run, question, answer)

    def is_answered(self, run: str) -> bool:
        """Return whether the journal has an answer for the run that nobody has taken or objected to."""
        return self.journal is not None and run in self.journal.posted.runs()

    def complete(self, run: str, step: str, result: Any = None) -> None:
        """Complete a waiting step of a run that this executor drives; for other runs, see `answer` and `resume`."""
        if run not in self._runs:
            raise RunError(f"the run {run!r} is not at work here", hint="resume(run, results={step: result})")
        self._runs[run].complete(step, result)
