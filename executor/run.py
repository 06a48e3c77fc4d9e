"""Represent a run for whoever began it: `Run`, and its `RunOutcome`.

`Run.take` builds the parts of a run: a `Stepper` carries out steps, a `Ladder` recovers from failures, and a `Loop`
drives both. `Run.drive` starts the loop, whose `_run_until_end` shows the stages. `Run.emit` records each event in the
journal and the state, and tells listeners. All other methods change a run from outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from executor.arguments import is_listener
from executor.dispatching.dispatcher import Dispatcher
from executor.dispatching.timed_loop import TimedLoop
from executor.errors import JournalError, RunError
from executor.events import events as run_events
from executor.events.answers import (
    DOUBT,
    WAIT,
    as_journal_data,
    asks_for_wait,
    check_meaning,
    describe_flight,
    find_refusal,
    identify_question,
    is_wait,
    make_wait_question,
    name_wait,
    read_outside_result,
    read_told_result,
    read_wait_answer,
)
from executor.events.memory_values import WrittenMemory, complete_appended, list_set, shorten_event
from executor.events.open_questions import explain_late
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.journal.posted_answers import PostedAnswer
from executor.learning.experience import Pricing
from executor.loop.abandoned_calls import is_left_at_work
from executor.loop.aftermath import object_to_result
from executor.loop.children import wait_for
from executor.loop.clearance import Clearance
from executor.loop.dispatch import Inbox
from executor.loop.driver import Driver
from executor.loop.effects import EffectFinder
from executor.loop.flights import Flights
from executor.loop.look_first import FirstLook
from executor.loop.parameters import Fill, check_given_values
from executor.loop.run_loop import Loop
from executor.loop.step import Client, Stepper
from executor.observe.observe import Lookout, Survey
from executor.observe.reports import check_result
from executor.plan_check.remaining_means import LACKING, RemainingMeans, is_lacking
from executor.plans.action_plan import Basis, aim_of
from executor.plans.execution_models import OFFERED
from executor.recovery.ask_people import Asking, Callback
from executor.recovery.ladder import Ladder
from executor.recovery.options import Options
from executor.report.live import Audience
from executor.report.progress import log_line, status_text, summary
from executor.tools.containment import as_plain_text, contain_errors, describe_error, quote_value
from executor.tools.context import LookContext
from executor.tools.json_data import dump_json, load_json
from executor.tools.kept_values import UnkeptError, check_kept
from executor.tools.results import ActionResult, InDoubt, ResultOfItsOwn, Wait
from planner.errors import ForethoughtError, InputError
from planner.model import Atom, Problem
from planner.model.domain import has_numbers
from planner.problem_kinds import resolve_problem

if TYPE_CHECKING:
    from executor.executor import Executor

_LISTENING: Final = "asynchronous code follows a run by `async for event in run.events()`"
_LOG: Final = logging.getLogger(__name__)
NOT_KEPT: Final = frozenset({"StepProgress"})
"""Kinds of events that the journal does not keep."""
STATUS_BY_EVENT: Final = {"RunStarted": "ACTIVE", "RunResumed": "ACTIVE"}
"""Status of a run after events without a field for it."""
MEANWHILE_SOURCE: Final = "meanwhile"
"""Source of facts that became known while the run was not driven."""
OUTSIDE_SOURCE: Final = "reported from outside"
"""Source of facts that a host reports."""
LOOP_CHECK_SECONDS: Final = 0.1
"""Interval of checks whether the event loop of a run is still open, in seconds."""
MEMORY_FULL: Final = "run %s: working memory has dropped %d of its entries (%s): it is full, with capacity=%d"
POSTED_SECONDS: Final = 0.4
"""Interval of looks for posted answers while a question is open, in seconds: one read of a small table."""
Done = TypeVar("Done")


def find_running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def require_loop(call: str) -> None:
    """Raise `RunError` unless an event loop of asyncio runs in this thread; `call` is what to write inside of one."""
    if find_running_loop() is not None:
        return
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        raise RunError("a run needs the event loop of asyncio, and trio's runs here", hint=f"asyncio.run({call})")
    raise RunError("a run needs a running event loop", hint=f"asyncio.run({call}) has one")


_REACHED: Final = {run_events.RunStatus.SUCCEEDED: 1.0, run_events.RunStatus.LOWERED: 1.0} | {
    run_events.RunStatus.UNVERIFIED: 0.5
}
"""The ends of a run with which a handler that returns its outcome has done its work, with the confidence in that."""


@dataclass(frozen=True, slots=True)
class RunOutcome(ResultOfItsOwn):
    """How a run ended: `steps` are all steps that ever were in its plan, `questions` the open ones."""

    run: str
    status: run_events.RunStatus
    reason: str
    steps: tuple[StepRecord, ...] = field(repr=False)
    metrics: Mapping[str, Any]
    state: RunState = field(repr=False)

    @classmethod
    def of(cls, run: str, state: RunState) -> RunOutcome:
        """Return the outcome so far of a run with this state."""
        return cls(run, state.status, state.reason, tuple(state.steps.values()), state.metrics, state)

    @property
    def questions(self) -> tuple[run_events.Asked, ...]:
        """The open questions; `resume(run, answers={question.question: answer})` answers them."""
        return tuple(self.state.open_questions.values())

    @property
    def missing(self) -> Mapping[str, Any] | None:
        """Diagnosis why no plan reaches the goal, if that is proved: `missing`, `unreachable`, `change` and more.

        The keys are those of `planner.explain_unsolvable(…).to_dict()`; None without a proof.
        """
        return self.state.missing

    @property
    def recovery(self) -> tuple[run_events.RungTaken, ...]:
        """The rungs of recovery that were taken, and those tried in vain."""
        return tuple(self.state.rungs)

    @property
    def summary(self) -> str:
        """A summary for people and prompts; `executor.summary(outcome.state, limit)` gives a shorter or longer one."""
        return summary(self.state)

    @property
    def current(self) -> tuple[StepRecord, ...]:
        """The steps that are at work, wait, or are in doubt; without any, the next step of the plan, if one is left."""
        begun = self.state.with_status(*run_events.BEGUN)
        return tuple(begun or self.state.pending()[:1])

    @property
    def counts(self) -> Mapping[run_events.StepStatus, int]:
        """The number of steps by status, of all that ever were in the plan."""
        return Counter(each.status for each in self.steps)

    @property
    def last_result(self) -> Mapping[str, Any] | None:
        """The result of the step that was done last, with the fields of `ActionResult`; None if none has one."""
        done = [self.state.steps[id_] for id_ in reversed(self.state.finished)]
        return next((each.result for each in done if each.status.is_done and each.result is not None), None)

    @property
    def succeeded(self) -> bool:
        """Whether the goal was seen to hold."""
        return self.status is run_events.RunStatus.SUCCEEDED

    def as_result(self) -> ActionResult:
        """Return the result of a handler that has begun the run and returns this outcome.

        Raises `InDoubt` where the run is not over, and `RunError` where it may have done something, and not reached
        its goal.
        """
        told = f"run {self.run!r} ended as {self.status.name}" + (f": {self.reason}" if self.reason else "")
        if self.status in _REACHED:
            return ActionResult(text=told, confidence=_REACHED[self.status])
        if self.status is run_events.RunStatus.COMPENSATED:
            return ActionResult.failed(told)
        raise RunError(told) if self.status.is_over else InDoubt(told)


class ModelAccess(Protocol):
    """A language model for the handlers of runs: see `executor.language_model.checked_answers`."""

    def for_run(self, spent: Mapping[str, float]) -> Client:
        """Return the model access of one run, which has `spent` calls, tokens and cost before."""


class Run:
    """A run that is being driven; `await run` returns its `RunOutcome`.

    It belongs to the event loop in which it began; calls from other threads are executed there.
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
        driver: Driver | None = None,
        deps: Any = None,
    ) -> None:
        self.id = run
        self.deps = executor.make_deps_of(deps)
        """What was given for the run alone."""
        self.pricing = pricing
        """Expected costs learned from earlier runs."""
        self.audience = Audience(executor.listeners)
        self.called_off = threading.Event()
        """Set when the run is called off; ends the search for its plan, too."""
        self._executor = executor
        self._fill, self._approve = fill or executor.fill, approve or executor.approve
        self._client = client or executor.client
        self._driver, self.is_offered = driver, driver is not None
        self._home = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._interrupted = False
        self.is_enqueued = False
        """Whether the run is recorded only, for a worker to carry out."""
        self.recorded: list[tuple[run_events.Event, float]] = []
        """Events with their times, for a run without a journal."""
        self.count = 0
        """Number of events of the run, as far as this object has recorded them."""
        self._lost: BaseException | None = None
        """The error of an event that could not be kept."""
        self.is_elsewhere = False
        """Whether another process drives the run, and this one follows its journal."""
        self.callers: set[Run] = {self}
        """Those on whose behalf the run is driven: whoever began it, and those who have joined it."""
        self.terms: Mapping[str, Any] | None = None
        """What the run was asked for, if it was begun here: see `executor.joining`."""
        self._task: asyncio.Task[RunOutcome] | None = None
        self._state: RunState | None = None
        self._written: WrittenMemory
        """The working memory as the journal has it."""
        self._inbox = Inbox(executor.clock)
        self._stepper: Stepper
        self._loop: Loop

    def follow(self, state: RunState) -> None:
        """Show the `state` of a run that another process drives."""
        self._state, self.is_elsewhere = state, True

    @property
    def fills(self) -> bool:
        """Whether open parameters are filled: by a callback, or by the driver of the run."""
        return self._fill is not None or self.is_offered

    def take(self, state: RunState) -> None:
        """Build the parts of the run on `state`, from which it goes on."""
        executor, self._state, self.is_elsewhere = self._executor, state, False
        self.is_offered = state.model == OFFERED
        self._written = WrittenMemory(state.memory)
        self.deps.wanted, self.deps.run, self.deps.read_memory = state.deps, self.id, lambda: state.request
        asking = Asking(state, self.emit, executor.ask, executor.permit, self._approve, self._fill)
        aborted, paused = asyncio.Event(), asyncio.Event()
        lookout = self.make_lookout(state, aborted)
        rng = random.Random(f"{executor.seed} {self.id}")
        first_look = FirstLook(state, lookout, self.emit, executor.look)
        flights = Flights(
            state,
            self.emit,
            executor.book,
            executor.world.first_name,
            executor.clock,
            EffectFinder(state),
            executor.performer.release,
            partial(is_left_at_work, executor.world, state.journal),
            first_look,
        )
        clearance = Clearance(state, self.emit, lookout, flights, asking, executor.clock, paused)
        self._stepper = stepper = Stepper(
            executor.world,
            state,
            self.emit,
            lookout,
            executor.performer,
            asking,
            clearance,
            first_look,
            aborted,
            [],
            rng,
            None if self._client is None else self._client.for_run(state.spent.asked),
            executor.clock,
            self._check_driven,
            lambda: 0 if executor.journal is None else executor.journal.token(self.id),
            executor.tells_after,
            paused,
            deps=self.deps.get,
        )
        state.memory.listen(
            lambda key, value, relevance, step="": self.emit(run_events.MemorySet(key, value, relevance, step))
        )
        means = RemainingMeans(state, executor.world, fills=self.fills, has_deps=not self.deps.is_missing)
        survey = Survey(state, lookout, self.emit)
        dispatcher = None if state.timetable is None else Dispatcher(state, executor.clock)
        ladder = Ladder(state, self.emit, asking, executor.recovery, means, survey, self.pricing, dispatcher)
        parts = state, self.emit, stepper, ladder, self._inbox, executor.concurrency, executor.stay
        if dispatcher is None:
            self._loop = Loop(*parts, driver=self._driver)
        else:
            stepper.dispatch_by(dispatcher)
            self._loop = TimedLoop(*parts, dispatcher=dispatcher)
        if self._interrupted:
            self._loop.interrupt()
        if self.called_off.is_set():
            stepper.abort()

    def find_lack_still(self) -> str:
        """Return the reason of a run that waits for means that this process lacks, too; empty for all others."""
        lack = self._loop.ladder.means.find_lack() if is_lacking(self.state.reason) else ""
        return f"{LACKING}: {lack}" if lack else ""

    def make_lookout(self, state: RunState, aborted: asyncio.Event) -> Lookout:
        """Make what asks the observers of the world on behalf of the run, until it is `aborted`."""
        take_turn = partial(self._executor.performer.turns.take_turn, aborted)
        lookout = Lookout(self._executor.world, state.objects, take_turn)
        lookout.context = LookContext(self.id, self.deps.get)
        return lookout

    @property
    def state(self) -> RunState:
        """The state of the run; raises `RunError` while its plan is still searched."""
        if self._state is None:
            raise RunError(f"the run {self.id!r} has no plan yet", hint="await it, or follow its events")
        return self._state

    def emit(self, event: run_events.Event) -> None:
        """Record an event in the journal and the state, and tell listeners.

        After an event that could not be kept, each further call raises the same error.
        """
        if threading.get_ident() != self._thread:
            self._do_in_home_loop(lambda: self.emit(event))
            return
        if self._lost is not None:
            raise self._lost
        kind, now = type(event).__name__, self._executor.clock.time()
        journal, short = self._executor.journal, shorten_event(event, self.state.memory)
        if kind in NOT_KEPT:
            pass
        elif journal is None:
            self.recorded.append((short, now))
            self.count = len(self.recorded)
        else:
            lost = dict[str, str]()
            try:
                data = self.write(event, lost)
                if isinstance(event, run_events.MemorySet):
                    check_kept(lost, f"working memory {event.key!r}")
                self.count = journal.append(self.id, kind, data, status=self._status_after(event), at=now)
            except UnkeptError:
                raise
            except BaseException as error:
                self._lost = error
                raise
            self._written.note(event)
            if lost:
                self._warn_of_lost(event, lost)
        self._apply(short, now)
        if _LOG.isEnabledFor(logging.DEBUG) and (line := log_line(event, self.state)):
            _LOG.debug("run %s: %s", self.id, line)
        self.audience.tell(complete_appended(event, self.state.memory))
        self._make_room(list(list_set(event)))

    def write(self, event: run_events.Event, lost: dict[str, str] | None = None) -> str:
        """Return `event` as JSON for the journal; what is not kept of its values is told to `lost` by its place."""
        lost = {} if lost is None else lost
        return dump_json(run_events.event_to_data(self._written.shorten(event, lost), lost))

    def _make_room(self, newest: Sequence[str]) -> None:
        """Drop entries of working memory if the `newest` have filled it, but for the last and those needed."""
        memory = self.state.memory
        if not newest or len(memory) <= memory.capacity:
            return
        dropped = memory.find_least_relevant({newest[-1], *self._loop.ladder.means.find_memory_needed()})
        if dropped:
            _LOG.warning(MEMORY_FULL, self.id, len(dropped), ", ".join(map(quote_value, dropped)), memory.capacity)
            self.emit(run_events.MemoryDropped(tuple(dropped)))

    def _warn_of_lost(self, event: run_events.Event, lost: Mapping[str, str]) -> None:
        """Log which values of an event the journal does not keep."""
        told = ", ".join(f"{place} ({what})" for place, what in lost.items())
        step = getattr(event, "step", "")
        _LOG.warning("run %s: the journal does not keep %s of %s", self.id, told, step or type(event).__name__)

    def _apply(self, event: run_events.Event, now: float) -> None:
        """Apply an event that was kept to the state, to reservations and to flights."""
        self.state.apply(event, now)
        self._release_reserved(event)
        self._stepper.clearance.flights.note(event)

    def _status_after(self, event: run_events.Event) -> str | None:
        """Return the status of the run for the journal if `event` changes it."""
        if isinstance(event, run_events.RunEnded):
            return event.status.name
        if self.is_enqueued and isinstance(event, run_events.RunStarted):
            return run_events.RunStatus.PROPOSED.name
        return STATUS_BY_EVENT.get(type(event).__name__)

    def _check_driven(self) -> None:
        """Raise `FencedError` if another process has taken over the run."""
        if self._lost is not None:
            raise self._lost
        if self._executor.journal is not None:
            self._executor.journal.check(self.id)

    def _release_reserved(self, event: run_events.Event) -> None:
        """Release what a step has reserved that is over, and what a run has that is over, but for steps in doubt."""
        performer = self._executor.performer
        if not (has_numbers(self.state.domain) or self.state.problem.capacity):
            return
        if isinstance(event, run_events.StepEnded) and event.status is not run_events.StepStatus.IN_DOUBT:
            performer.release(self.id, event.step)
        elif isinstance(event, run_events.RunEnded) and event.status.is_over:
            performer.keep(self.id, self._stepper.clearance.flights.list_open())

    async def drive(self) -> RunOutcome:
        """Drive the run until it ends, or waits."""
        watch = self._start_watching_posted()
        try:
            await self._stepper.clearance.flights.take_up()
            ended = await self._loop.drive()
        except asyncio.CancelledError:
            self._stepper.abort()
            raise
        finally:
            self._stepper.clearance.flights.break_off()
            if watch is not None:
                watch.cancel()
        self.emit(ended)
        if ended.status.is_over:
            self.take_posted()  # whoever has answered a moment too late is told
        return self.outcome

    @property
    def options(self) -> Options:
        """What the run may do next."""
        return self._loop.ladder.options

    def list_offered(self) -> list[StepRecord]:
        """Return the steps of which the driver of the run may choose one."""
        return self._loop.list_offered()

    @property
    def outcome(self) -> RunOutcome:
        """The outcome of the run so far."""
        return RunOutcome.of(self.id, self.state)

    def cancel(self) -> None:
        """Call the run off: begin no more steps, and signal the handlers at work; does nothing if it is over.

        A run that others have joined goes on until the last of its callers calls it off.
        """
        if self.withdraw():
            self.call_off()

    def cancel_soon(self) -> None:
        """Call the run off from any thread, without waiting for its event loop."""
        with contextlib.suppress(RuntimeError):  # its event loop is closed
            self._home.call_soon_threadsafe(self.cancel)

    def call_off(self) -> None:
        """Call the run off for all callers."""
        self.called_off.set()
        self._do_if_driven(self._abort)

    def withdraw(self) -> bool:
        """Drop this caller; return whether nobody wants the run any more."""
        self.callers.discard(self)
        return not self.callers

    def break_off(self) -> None:
        """Cancel the task that drives the run, which can be resumed; call it in the event loop of the run."""
        if self._task is not None:
            self._task.cancel()

    def break_off_soon(self) -> None:
        """Cancel the task that drives the run, from any thread."""
        with contextlib.suppress(RuntimeError):  # its event loop is closed
            self._home.call_soon_threadsafe(self.break_off)

    @property
    def is_done(self) -> bool:
        """Whether nobody drives the run here any more."""
        return self._home.is_closed() or (self._task is not None and self._task.done())

    def share_end(self) -> Future[RunOutcome]:
        """Return a future of the outcome for other threads."""
        done = Future[RunOutcome]()

        def settle(task: asyncio.Task[RunOutcome]) -> None:
            if task.cancelled():
                done.cancel()
            else:
                settle_future(done, task.result)

        assert self._task is not None, "a run is made by Executor.start"
        self._home.call_soon_threadsafe(self._task.add_done_callback, settle)
        return done

    def interrupt(self) -> None:
        """Begin no more steps; when the steps at work are over, the run ends as WAITING, and can be resumed.

        A run whose plan is still searched ends when the plan is found. A run that is over does not change.
        """
        self._interrupted = True
        self._do_if_driven(lambda: self._loop.interrupt())  # noqa: PLW0108 - there may be no loop yet

    @property
    def is_interrupted(self) -> bool:
        """Whether the run begins no more steps in this process."""
        return self._interrupted

    def change_goal(self, problem: Problem, reason: str = "", *, basis: Basis | None = None) -> None:
        """Change goal, constraints, budgets and deadline of the run to those of `problem`.

        When the steps at work are over, the rest of the plan is patched. The steps so far count for constraints that
        stay, and their costs for budgets. The run gives up its tasks, and decides on another policy if it follows one.
        Objects of `problem` that the run lacks join it. `basis` says why the goal changes. Raises `RunError` for a run
        that is undoing its steps, `InputError` for an invalid problem.
        """
        problem = resolve_problem(problem)
        if self.state.is_undoing:
            hint = "interrupt it, and start another one"
            raise RunError(f"the run {self.id!r} keeps its goal: it undoes what was done", hint=hint)
        self._do_in_home_loop(lambda: self._change_goal(problem, reason, basis))

    def report(self, facts: Mapping[Atom, bool]) -> None:
        """Report values of facts from outside; objects that the run lacks join it, and derived facts are ignored.

        Raises `RunError` if nobody drives the run.
        """
        self._do_in_home_loop(lambda: self._report(facts))

    def _report(self, facts: Mapping[Atom, bool]) -> None:
        self._join_objects(facts, OUTSIDE_SOURCE)
        beliefs, derived = self.state.beliefs, self.state.problem.domain.derived
        notes = [
            run_events.Note(fact, holds, run_events.Provenance.REPORTED, OUTSIDE_SOURCE)
            for fact, holds in facts.items()
            if fact.predicate not in derived and not beliefs.describe_stranger(fact)
        ]
        if notes:
            self.emit(run_events.FactsSeen(tuple(notes), OUTSIDE_SOURCE))
            self._loop.wake()

    def _join_objects(self, facts: Mapping[Atom, bool], source: str) -> None:
        """Let the objects join the run that true `facts` name and that it lacks."""
        found = self.state.beliefs.find_new_objects([fact for fact, holds in facts.items() if holds])
        if found:
            self.emit(run_events.ObjectsFound(found, source))

    def drop_lost(self) -> None:
        """Tell that pending steps whose actions are declared lost cannot begin, so that the plan is mended."""
        for record in [each for each in self.state.pending() if each.step.action in self.state.lost]:
            reason = f"this version of the domain declares the action {record.step.action!r} lost"
            self.emit(run_events.StepEnded(record.id, run_events.StepStatus.PENDING, reason, obstacle=True))

    def learn(self, facts: Mapping[Atom, bool], aim: Mapping[str, Any] | None) -> None:
        """Emit changes from before the run was resumed: `facts`, and the goal `aim`."""
        reported = [
            run_events.Note(fact, holds, run_events.Provenance.REPORTED, MEANWHILE_SOURCE)
            for fact, holds in facts.items()
        ]
        self._join_objects(facts, MEANWHILE_SOURCE)
        beliefs = self.state.beliefs
        notes = beliefs.select_news([each for each in reported if beliefs.holds(each.fact) is not each.holds])
        if notes:
            self.emit(run_events.FactsSeen(tuple(notes), MEANWHILE_SOURCE))
        if aim is not None:
            self.emit(run_events.GoalChanged(aim))

    def _change_goal(self, problem: Problem, reason: str, basis: Basis | None) -> None:
        known = {each.name for each in self.state.source.objects}
        lacking = {each.name: each.types for each in problem.objects if each.name not in known}
        if lacking:
            entities = {name: value for name, value in problem.entities.items() if name in lacking}
            self.emit(run_events.ObjectsFound(lacking, "the new goal", entities))
        self.emit(run_events.GoalChanged(aim_of(problem, basis), reason))
        self._loop.wake()

    def _abort(self) -> None:
        self._stepper.abort()
        self._loop.wake()

    def complete(self, step: str, result: Any = None) -> None:
        """Complete a waiting step; raises `RunError` if the step does not wait, `InputError` for an invalid result."""
        self._do_in_home_loop(lambda: self._complete(step, result))

    def _complete(self, step: str, result: Any) -> None:
        found, record = self.read_result_for(step, result), self.state.steps[step]
        self._loop.take_result(record, found, is_refused=self._refuses_wait(record, result))

    def _refuses_wait(self, record: StepRecord, answer: Any) -> bool:
        """Return whether an answer refuses a step that waits for it."""
        asked = self._find_wait_question(record)
        return asked is not None and find_refusal(asked, answer, record.wait or {}) is not None

    def _find_wait_question(self, record: StepRecord) -> run_events.Asked | None:
        """Return the question for what a step waits for, also where the journal of an earlier version did not ask."""
        asked = self.state.questions.get(name_wait(record.id, record.attempts))
        if asked is None and asks_for_wait(record):
            return make_wait_question(record, self.state.purpose_of(record))
        return asked

    def read_result_for(self, step: str, result: Any, at: float | None = None) -> ActionResult:
        """Convert and check a result, given `at` a time, for a waiting step; raises as `complete`."""
        record = self.state.steps.get(step)
        if record is not None and "flight" in (record.wait or {}):
            raise RunError(
                f"the step {step!r} has not begun, and takes no result: {describe_flight(record.wait or {})}"
            )
        if record is None or record.status is not run_events.StepStatus.WAITING or not record.takes_result:
            raise self._object_to_result(step, record)
        asked = self._find_wait_question(record)
        if asked is None:
            return _read_result(result)
        late = explain_late(asked, self._executor.clock.time() if at is None else at)
        if late:
            raise RunError(f"the answer to {asked.question!r} comes too late", hint=late)
        return _read_result(result, partial(read_wait_answer, asked, wait=record.wait))

    def check_told_once(self, step: str, answers: Mapping[str, Any]) -> None:
        """Raise `InputError` if `answers` have another result for a waiting step."""
        question = name_wait(step, self.state.steps[step].attempts)
        if question in answers:
            raise InputError(f"the step {step!r} has two results", hint=f"give its result, or the answer to {question}")

    def _object_to_result(self, step: str, record: StepRecord | None) -> RunError:
        """Return the error of a result for a step that waits for none."""
        question = "" if record is None else (record.wait or {}).get("question", "")
        if question:
            found = f"the step {step!r} has not begun: it waits for an answer to {question!r}"
            return RunError(found, hint="answer that, and give no result")
        waiting = [each.id for each in self.state.with_status(run_events.StepStatus.WAITING) if each.takes_result]
        is_told = record is not None and record.status is run_events.StepStatus.RUNNING and record.result is not None
        now = ": it has one" if is_told else "" if record is None else f": it is {status_text(record.status)}"
        others = ", ".join(waiting) or "none"
        return RunError(f"the step {step!r} waits for no result{now}; those that wait: {others}")

    def announce(self, event: str, result: Any = None) -> int:
        """Complete all steps that wait for `event`, and return their number.

        If there is none yet, the first step that comes to wait for `event` in this process gets the result, also in a
        run whose plan is still searched.
        """
        return self._do_in_home_loop(lambda: self._announce(event, _read_result(result)))

    def _announce(self, event: str, result: ActionResult) -> int:
        if self._state is not None:
            return self._loop.announce(event, result)
        self._inbox.keep_early_result(event, result)
        return 0

    def answer(self, question: str, answer: Any) -> None:
        """Answer an open question; raises `RunError` for an unknown question, `InputError` for an invalid answer."""
        plain = as_plain_text(answer) if issubclass(type(answer), str) else answer
        self._do_in_home_loop(lambda: self._answer(question, plain))

    def check_answer(self, question: str, answer: Any, at: float | None = None) -> None:
        """Raise the errors of an `answer` that was given `at` a time; None: now."""
        asked, closed = self.state.questions.get(question), self.state.explain_closed(question)
        if closed:
            raise RunError(f"the answer to {question!r} comes too late", hint=closed)
        if asked is None:
            known = ", ".join(self.state.questions) or "none"
            raise RunError(f"nobody has asked {question!r}; the open questions: {known}")
        if is_wait(asked):
            self.read_result_for(asked.step, answer, at)
            return
        check_meaning(asked, answer)
        record = self.state.steps.get(asked.step)
        if record is not None:
            check_given_values(asked, self.state.domain.actions[record.step.action], answer)
        result = read_told_result(answer) if question.startswith(DOUBT) else None
        wrong = (
            ""
            if result is None or not result.success
            else object_to_result(self.state, self.state.steps[asked.step], result)
        )
        if wrong:
            raise InputError(f"{quote_value(answer)} is no answer to {question!r}: {wrong}")

    def _answer(self, question: str, answer: Any, at: float | None = None) -> None:
        self.check_answer(question, answer, at)
        if question.startswith(WAIT):
            record = self.state.steps[self.state.questions[question].step]
            is_refused = self._refuses_wait(record, answer)
            self._loop.take_result(record, self.read_result_for(record.id, answer, at), is_refused=is_refused)
            return
        self.emit(run_events.Answered(question, as_journal_data(answer)))
        self._loop.wake()

    def take_posted(self) -> None:
        """Take the answers that people have posted in the journal to questions that are open as they were shown.

        One that does not fit is kept with the objection, and so is one that comes too late.
        """
        journal = self._executor.journal
        for posted in () if journal is None else journal.posted.read(self.id):
            if posted.objection:
                continue
            try:
                self._take_answer(posted)
            except InputError as error:
                journal.posted.refuse(self.id, posted, str(error))
            else:
                journal.posted.remove(self.id, posted)

    def _take_answer(self, posted: PostedAnswer) -> None:
        asked, over = self.state.questions.get(posted.question), self.state.status
        if asked is None:
            why = f"the run is over: {over.name}" if over.is_over else "the question is open no more"
            raise InputError("the answer came too late", hint=why)
        if posted.shown != identify_question(asked):
            raise InputError("the question has changed", hint="look at it again, and answer once more")
        self._answer(posted.question, load_json(posted.answer), posted.time)

    def _start_watching_posted(self) -> asyncio.Task[None] | None:
        """Begin to look for posted answers; None without a journal, and in virtual time, which waits for nobody."""
        is_virtual = abs(self._home.time() - time.monotonic()) > LOOP_CHECK_SECONDS
        return None if self._executor.journal is None or is_virtual else self._home.create_task(self._watch_posted())

    async def _watch_posted(self) -> None:
        while True:
            await asyncio.sleep(POSTED_SECONDS)
            if self.state.questions:
                with contextlib.suppress(JournalError):  # the next event that cannot be kept ends the run
                    self.take_posted()

    def listen(self, listener: Callable[[run_events.Event], None]) -> None:
        """Call `listener`, a plain function, with every event; raises `InputError` for anything else."""
        if not is_listener(listener):
            raise InputError(f"a listener must be a plain function, got {quote_value(listener)}", hint=_LISTENING)
        self.audience.add(listener)

    def start(self, work: Coroutine[Any, Any, RunOutcome]) -> None:
        """Start the task `work` that drives the run."""
        self._task = self._home.create_task(work)

    def when_done(self, act: Callable[[], None]) -> None:
        """Call `act` when nobody drives the run here any more."""
        assert self._task is not None, "a run is made by Executor.start"
        self._task.add_done_callback(lambda _: act())

    @property
    def is_driven_here(self) -> bool:
        """Whether the run has a plan, and this process carries it out."""
        return self._state is not None and not self.is_elsewhere

    def __await__(self) -> Generator[Any, None, RunOutcome]:
        return self._wait_for_end().__await__()

    async def _wait_for_end(self) -> RunOutcome:
        """Wait for the outcome; where the last caller is cancelled, the run is broken off."""
        assert self._task is not None, "a run is made by Executor.start"
        if not self._task.done():
            with wait_for(self._executor.key_of(self.id), self._executor.list_awaited):
                return await self._follow_task(self._task)
        return await self._task

    async def _follow_task(self, task: asyncio.Task[RunOutcome]) -> RunOutcome:
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.done():
                raise
            if not self.withdraw():
                self.stop_following()
                raise
            self.break_off()
            return await task

    def stop_following(self) -> None:
        """Wait no more for a run that goes on for others."""

    async def events(self) -> AsyncIterator[run_events.Event]:
        """Yield all events from now on, until the run ends."""
        queue: asyncio.Queue[run_events.Event | None] = asyncio.Queue()
        self.listen(queue.put_nowait)
        assert self._task is not None, "a run is made by Executor.start"
        self._task.add_done_callback(lambda _: queue.put_nowait(None))
        while (event := await queue.get()) is not None:
            yield event

    def _do_if_driven(self, act: Callable[[], None]) -> None:
        """Call `act` in the event loop of the run, unless the run has no plan yet, or is over."""
        if self._state is not None and not self.is_done:
            with contextlib.suppress(RunError):  # the run may end at this very moment
                self._do_in_home_loop(act)

    def _do_in_home_loop(self, act: Callable[[], Done]) -> Done:
        """Call `act` in the event loop of the run and return its result; raises its error, and `RunError`."""
        if self._task is not None and self._task.done():
            raise RunError(f"nobody drives the run {self.id!r} any more", hint="take it up: resume(run, …)")
        if self.is_elsewhere:
            raise RunError(f"another process drives the run {self.id!r}", hint="answer it there, or post the answer")
        if not self._home.is_running() or find_running_loop() is self._home:
            return act()
        done = Future[Done]()
        self._home.call_soon_threadsafe(settle_future, done, act)
        while True:
            try:
                return done.result(LOOP_CHECK_SECONDS)
            except TimeoutError:
                if self._home.is_closed():
                    raise RunError(f"the event loop of the run {self.id!r} has ended") from None


def settle_future(done: Future[Done], act: Callable[[], Done]) -> None:
    """Set the result of `act`, or its error, in `done`."""
    try:
        done.set_result(act())
    except BaseException as error:  # noqa: BLE001 - raised where it is waited for
        done.set_exception(error)


def _read_result(result: Any, read: Callable[[Any], ActionResult] = read_outside_result) -> ActionResult:
    """Convert a result from outside by `read`; raises `InputError` for an invalid one."""
    if issubclass(type(result), Wait):
        raise InputError("a step that waits is completed by a result, not by another Wait")
    try:
        with contain_errors():
            return check_result(read(result))
    except ForethoughtError:
        raise
    except Exception as error:  # values may do anything when they are looked into
        raise InputError(f"{quote_value(result)} is no result: {describe_error(error)}") from error
