"""Carry out one step: check its conditions, fill its parameters, ask for approval, and call its handler.

The policy of the step says how often its handler is called. A reversible step has begun when its attempt begins; an
irreversible one when its handler is about to be called, after its lock, its rate and its objects were waited for.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from executor.dispatching.dispatcher import Dispatcher
from executor.events import events
from executor.events.answers import (
    FILL,
    SO,
    UNDECIDED,
    asks_for_wait,
    find_wait_answer,
    make_wait_question,
    name_approval,
)
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.journal.reservations import Reservation
from executor.loop import parameters as filling
from executor.loop.abandoned_calls import call_of
from executor.loop.aftermath import Aftermath, NextAttempt, choose_skill, compute_pause
from executor.loop.attempt import HELD_BACK, Attempt, Performer, Trial, run_check
from executor.loop.children import STEP, Child, RunKey, is_below
from executor.loop.clearance import Clearance
from executor.loop.locks_and_rates import HeldBack, wait_unless_cancelled
from executor.loop.look_first import DIFFERS, FirstLook
from executor.loop.preconditions import StepConditions
from executor.loop.slow_calls import SlowCall
from executor.observe.observe import Lookout
from executor.observe.reports import literal_of, read_report
from executor.observe.step_verdict import Expected
from executor.tools.clock import WALL, Clock
from executor.tools.containment import OutOfTime, await_within, contain_errors, describe_error
from executor.tools.context import Context, Outline, OutlineStep
from executor.tools.deps import MissingDeps, describe_missing
from executor.tools.isolated_values import copy_value
from executor.tools.json_data import data_of
from executor.tools.results import ActionResult, Wait
from executor.tools.step_policy import ExecutionPolicy
from executor.tools.world import Skill, World
from planner.errors import InputError, printable
from planner.language.documents.document_conditions import Notation
from planner.lightweight import replace
from planner.model import Action, Atom
from planner.model.arithmetic import exact_value

_LOG: Final = logging.getLogger(__name__)
PATIENCE: Final = 30.0
"""Longest wait of a step without time limit for what others have reserved, in seconds."""
LOOK: Final = 5.0
"""Longest time between two looks at numbers that a step waits for, in seconds."""
QUEUED: Final = 5.0
"""Seconds after which a step that waits for capacities lets others go first."""
NEEDLESS: Final = "it is not needed"
"""Begins the reason of a step that was left out as all that it is for is so already."""
FREEING: Final = (
    "answer it (forethought runs answer) or resume it, or delete it and settle what it leaves in doubt "
    "(forethought runs ledger)"
)
"""How to free what a run holds that nobody goes on with."""
Filled = tuple[dict[str, Any], dict[str, str]]
"""Values of data parameters, and their sources."""


class _NoSkillChosen(Exception):
    """The policy of a step chooses none of its handlers."""


class Client(Protocol):
    """A language model for the handlers of one run: see `executor.language_model.checked_answers`."""

    def for_step(self, note: Callable[[Mapping[str, Any]], None]) -> Any:
        """Return the model access of one step; it reports the cost of each question to `note`."""


class Asker(Protocol):
    """Protocol for asking people: see `executor.recovery.ask_people`."""

    permit: Any
    """Callback for each step, or None."""
    fill: filling.Fill | None
    """Callback for open parameters, or None."""
    ask: Any
    """Callback for all other questions, "later", or None."""

    def has_callback_for(self, question: str | None) -> bool:
        """Return whether a callback decides on a step that waits for an answer to the `question` of that name."""

    async def answer(self, question: events.Asked) -> Any:
        """Ask `question`; return None while there is no answer."""

    async def ask_for_approval(
        self,
        record: StepRecord,
        action: Action,
        values: Mapping[str, Any],
        sources: Mapping[str, str],
        earlier: tuple[str, ...] = (),
    ) -> str | None:
        """Return the reason of a refusal, an empty text for an approval, or None while nobody has decided.

        Whoever decides is shown what was done `earlier`.
        """


@dataclass(slots=True, eq=False)
class Stepper:
    """Carries out the steps of one run, and emits their events."""

    world: World
    state: RunState
    emit: Callable[[events.Event], None]
    lookout: Lookout
    performer: Performer
    asker: Asker
    clearance: Clearance
    first_look: FirstLook
    aborted: asyncio.Event
    """Set when the run is called off."""
    replanning_requests: list[str]
    """Reasons of handlers that requested replanning."""
    rng: random.Random
    client: Client | None = None
    """Model access for handlers, if there is any."""
    clock: Clock = WALL
    check_driven: Callable[[], None] = lambda: None
    """Raises `FencedError` if another process has taken over the run; called before each call of a handler."""
    token: Callable[[], int] = lambda: 0
    """Returns the fencing token of the run."""
    is_held: Callable[[str], bool] = field(init=False, default=lambda _: False)
    """Function whether an irreversible step must not begin now."""
    find_doom: Callable[[StepRecord], str] = field(init=False, default=lambda _: "")
    """Function that returns why a step after a given one can never begin; an empty text if all may."""
    tells_after: float | None = None
    """Seconds after which a handler without time limit is told to be still at work; None: never."""
    paused: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when no more steps may begin: open approvals and fillings are not waited for."""
    deps: Callable[[], Any] = lambda: None
    """Returns what was given for the run alone."""
    dispatcher: Dispatcher | None = field(init=False, default=None)
    """Dispatches the plan, if it is one in time."""
    lacking: str = field(init=False, default="")
    """What a handler has asked for that this process lacks: nothing more begins, and nothing is mended without it."""
    blocked: dict[str, str] = field(init=False, default_factory=dict)
    """Reasons of steps that did not begin, as runs that nobody drives hold the capacities that they need; by step."""
    conditions: StepConditions = field(init=False)
    aftermath: Aftermath = field(init=False)
    _contexts: dict[str, Context] = field(init=False, default_factory=dict)
    _children: dict[str, Child] = field(init=False, default_factory=dict)
    """The runs that the handlers at work have begun, by step."""

    def __post_init__(self) -> None:
        self.conditions = StepConditions(self.state, self.emit, self.lookout, looks=self.first_look.look != "never")
        self.clearance.is_needless = self._is_needless
        beside = self.clearance.find_changed_beside
        self.aftermath = Aftermath(self.world, self.state, self.emit, self.lookout, self.aborted, beside)

    def dispatch_by(self, dispatcher: Dispatcher) -> None:
        """Carry out the steps of a plan in time."""
        self.dispatcher = self.conditions.dispatcher = dispatcher

    def abort(self) -> None:
        """Signal all handlers at work that the run is called off."""
        self.aborted.set()
        self.paused.set()
        for context in self._contexts.values():
            context.aborted.set()
        for child in self._children.values():
            child.call_off()

    def policy_of(self, record: StepRecord) -> ExecutionPolicy:
        """Return the execution policy of the step."""
        policy = self.world.policy_of(record.step.action)
        return policy if record.plan.policy is None else record.plan.policy.over(policy)

    async def carry_out(self, record: StepRecord, another: NextAttempt | None = None) -> None:
        """Carry out the step of `record` with the attempts that its policy allows, until it ends or waits.

        With `another`, an earlier attempt has failed. The step does not begin if the run is called off, or if the plan
        changes, before its turn: it may no longer be in the plan, or come later.
        """
        slots, priority, plan = self.performer.slots, self.state.plan.metadata.priority, self.state.changes
        if slots.most is None:
            await self._carry_out_in_turn(record, another, plan)
            return
        async with slots.take_slot(priority, self.aborted) as may_begin:
            if may_begin:
                await self._carry_out_in_turn(record, another, plan)
            elif another is not None:
                self.emit(another.otherwise)

    async def _carry_out_in_turn(self, record: StepRecord, another: NextAttempt | None, plan: int) -> None:
        if record.status is events.StepStatus.SKIPPED:
            return  # a step that it builds on was not needed
        action = self.world.model.actions[record.step.action]
        taken = self._find_conditional_part(record, another)
        reason = await self._find_obstacle(record, action)
        if not reason and self._find_conditional_part(record, another) != taken:
            self.replanning_requests.append(f"{DIFFERS}: {record.step} would have other effects")
            return
        may_be_so = bool(reason) and another is None and self.state.is_irreversible(record)
        if may_be_so and await self.clearance.is_done_by_other(record):
            return
        if not reason and self.state.is_irreversible(record) and await self._is_needless(record):
            return
        if action.data and not (reason or self._is_overtaken(another, plan)):
            answer = await self._fill_open_parameters(record, action)
            if answer is None or (another is None and self.paused.is_set()):
                return
            reason = answer
        if self._is_overtaken(another, plan):
            return
        try:
            values, sources = ({}, {}) if reason else filling.fill_parameters(self.state, record, action)
        except filling.Missing as error:
            reason = str(error)
        if reason:
            self._end_unbegun(record, reason, another)
            return
        item = self.clearance.flights.identify(record) if self.state.is_irreversible(record) else ""
        is_free = self.asker.permit is None and filling.needs_no_approval(self.state, record, action, values, sources)
        is_free = is_free and name_approval(record.id) not in self.state.answers
        is_new = bool(item) and not is_free and another is None
        if is_new and (await self.clearance.is_already_so(record) or await self.clearance.is_refused(record, item)):
            return
        refused = "" if is_free else await self._ask_for_approval(record, action, (values, sources), another)
        if refused is None or self._is_overtaken(another, plan):
            return
        if refused == SO:
            self.clearance.end_as_told(record)
            return
        if refused:
            if UNDECIDED not in refused:
                self.clearance.flights.note_refusal(record, refused)
            self._end_unbegun(record, refused, another, repeatable=False)
            return
        if filling.has_changes(self.state, record):
            try:
                values, sources = filling.fill_parameters(self.state, record, action)
            except filling.Missing as error:
                self._end_unbegun(record, str(error), another)
                return
        if another is None and self.state.is_irreversible(record) and self.state.is_asking_beside(record):
            # an approval that was given stays given: it is asked for once, with these values
            question = (record.wait or {}).get("question") or name_approval(record.id)
            self.emit(events.StepWaiting(record.id, {"question": question, "parameters": values, "held": True}, 0.0))
            return
        defaults = [name for name, source in sources.items() if source == filling.DEFAULT]
        clear = partial(self._clear, record, item, values, defaults) if item else None
        await self._try_step(record, (values, sources), another, plan=plan, clear=clear)

    def _find_conditional_part(self, record: StepRecord, another: NextAttempt | None) -> Mapping[Atom, bool] | None:
        """Return what the plan takes from an irreversible step that is still to begin, if it has conditional effects.

        Where a hierarchy says what comes next, return None: a task is done in that way whatever its effects are.
        """
        state = self.state
        is_new = another is None and state.hierarchy is None
        has_conditions = bool(self.world.model.actions[record.step.action].when)
        if not (is_new and has_conditions and state.is_irreversible(record)):
            return None
        return self.clearance.flights.finder.find_taken(record)

    async def leave_out_if_so(self, record: StepRecord) -> None:
        """Look whether an irreversible step that has not begun is done already, or needless; end it if so."""
        if not await self._is_needless(record):
            await self.clearance.is_already_so(record)

    async def _is_needless(self, record: StepRecord, anew: bool = False) -> bool:
        """Return whether all that an irreversible step is for is so already, looking `anew`; leave it out if so.

        The rest is planned anew. Where the plan goes on without it, the steps that build on it are left out, too: in a
        hierarchical run, they count as done, and no task is done in another way.
        """
        so, others = await self.first_look.find_excuse(record, anew=anew)
        is_of_task = self.state.hierarchy is not None
        excuse = f"{events.ALREADY_SO}: {so}" if is_of_task else f"{NEEDLESS}: {so} is so already"
        for each in (record, *others) if so else ():
            self.emit(events.StepEnded(each.id, events.StepStatus.SKIPPED, excuse))
        if so and not (is_of_task or others):
            self.replanning_requests.append(excuse)
        return bool(so)

    async def _clear(self, record: StepRecord, item: str, values: Mapping[str, Any], defaults: Collection[str]) -> bool:
        """Return whether an irreversible step may begin: it is needed still, and the ledger clears it.

        Where the ledger leaves it out, as another run has brought about what it is for, the run plans anew.
        """
        may_begin = await self.clearance.clear(record, item, values, defaults)
        if record.status is events.StepStatus.SKIPPED and not record.reason.startswith((events.ALREADY_SO, NEEDLESS)):
            self.replanning_requests.append(record.reason)
        return may_begin

    async def _fill_open_parameters(self, record: StepRecord, action: Action) -> str | None:
        """Ask for open parameters; return the reason if that fails, an empty text if filled, None while unanswered.

        Where nobody fills open parameters, a person is asked for those whose values are lost.
        """
        fill, question = self.asker.fill or filling.ask_for_lost, f"{FILL}{record.id}"
        is_asked = question in self.state.answers or question in self.state.questions
        asks_for_open = self.asker.fill is not None or is_asked  # whoever drove the run before may have asked
        find = filling.find_open_parameters if asks_for_open else filling.find_lost_parameters
        parameters = find(self.state, record, action)
        if not parameters:
            return ""
        names = {each.name for each in parameters}
        try:
            rest = replace(action, data=tuple([each for each in action.data if each.name not in names]))
            values, _ = filling.fill_parameters(self.state, record, rest)
            asked = asyncio.ensure_future(
                self._ask_for_fillings(filling.FillRequest(record, action, parameters, values, self.state), fill)
            )
            fillings = asked.result() if await wait_unless_cancelled(asked, self.aborted) else None
            if fillings is None:
                return None
            with contain_errors():
                values = {name: copy_value(value) for name, value in fillings.values.items() if name in names}
        except Exception as error:  # noqa: BLE001 - whoever fills parameters may raise anything
            return f"the open parameters of {record.step} were not filled: {describe_error(error)}"
        self.emit(events.ParametersFilled(record.id, values, fillings.thought, fillings.marked, fillings.spent))
        return ""

    async def _ask_for_fillings(self, request: filling.FillRequest, fill: filling.Fill) -> filling.Fillings | None:
        """Ask `fill`, or the person that it refers to; return None while nobody has answered."""
        question = filling.question_of(request)
        answer = self.state.answers.get(question)
        if answer is None:
            with contain_errors():
                fillings = filling.check_fillings(await fill(request))
            if not fillings.question:
                return fillings
            if any(fillings.spent.values()):
                step, thought = request.record.id, fillings.thought
                self.emit(events.ParametersFilled(step, {}, thought, marked=False, metrics=fillings.spent))
            asked = asyncio.ensure_future(self.asker.answer(filling.ask_for_fillings(request, fillings)))
            if not await wait_unless_cancelled(asked, self.paused):
                return None
            answer = asked.result()
        if answer is None:
            if request.record.status is not events.StepStatus.SKIPPED:
                self.emit(events.StepWaiting(request.record.id, {"question": question}, 0.0))
            return None
        return filling.read_filling_answer(request, answer)

    def _is_overtaken(self, another: NextAttempt | None, plan: int) -> bool:
        """Return whether the plan has changed since change number `plan`, and no attempt was made yet."""
        return another is None and self.state.changes != plan

    async def _try_step(
        self,
        record: StepRecord,
        filled_in: Filled,
        another: NextAttempt | None,
        *,
        plan: int,
        clear: Callable[[], Awaitable[bool]] | None,
    ) -> None:
        """Make attempts at the step until it ends or waits; `clear` tells whether an irreversible one may begin."""
        action = self.world.model.actions[record.step.action]
        policy, skills, reason = self.policy_of(record), self.world.skills[action.name], ""

        def may_not_begin() -> bool:
            return self._is_overtaken(another, plan) or record.id in self.blocked

        try:
            skill = self._choose_skill(record, another.skills if another else skills, policy)
            while not reason:
                if self._end_untried(record, another):
                    return
                reason = await self._reserve(record, policy, may_not_begin)
                if reason or may_not_begin():
                    break
                expected = await self.conditions.expect_after_look(record)
                reason = await self._run_check(record, action, filled_in[0], policy)
                if self._is_overtaken(another, plan):
                    return
                if reason or self.aborted.is_set():
                    break
                if clear is not None and not await clear():
                    if record.status is events.StepStatus.RUNNING and another is not None:
                        self.emit(another.otherwise)
                    return
                if clear is not None and self.dispatcher is not None:  # the owner of its flight may hold more than that
                    reason = await self._reserve_in_time(record, self.dispatcher, may_not_begin)
                    if reason or may_not_begin():
                        break
                another = await self._attempt(record, skill, policy, expected, filled_in, another=another, plan=plan)
                if another is None:
                    return
                self._check_held_back(record, another, plan)
                if self._end_untried(record, another):
                    return
                skill = await self._prepare_next_attempt(record, another, policy)
                self._check_held_back(record, another, plan)
                reason = await self.conditions.find_unmet(record, action)
        except _NoSkillChosen as error:
            reason = str(error)
        except HeldBack:
            if another is not None and not self.aborted.is_set():
                self.emit(replace(another.otherwise, status=events.StepStatus.PENDING))
                return
        finally:
            if record.status not in events.BEGUN or record.begun_at is None:
                self.performer.release(self.state.run, record.id)
            if record.status is events.StepStatus.PENDING:
                self.clearance.flights.leave(record)
        if reason:
            self._end_unbegun(record, reason, another)
        elif another is not None:
            self.emit(another.otherwise)

    async def _reserve(self, record: StepRecord, policy: ExecutionPolicy, is_overtaken: Callable[[], bool]) -> str:
        """Reserve the amounts that the step changes, and look at them; return why it cannot have them, or "".

        While others have reserved too much before, the step waits for at most its time limit. In a plan in time, it
        waits for the capacities that other runs hold until the plan is changed.
        """
        if self.dispatcher is not None:
            return await self._reserve_in_time(record, self.dispatcher, is_overtaken)
        changes = self.state.beliefs.simulation.changes(record.step).numbers
        amounts = {
            f"{self.performer.domain} {self.state.objects.real_fact(each.fluent)}": each.after - each.before
            for each in changes
            if each.before is not None and each.after is not None and each.before != each.after
        }
        if not amounts:
            return ""
        clock = asyncio.get_running_loop().time
        since = clock()
        until = since + (PATIENCE if policy.timeout is None else policy.timeout)
        while True:
            earlier = await self.performer.reserve(self.state.run, record.id, amounts)
            await self.conditions.look_at_numbers(record)
            reason = self.conditions.find_objection(record)
            if reason or not earlier:
                return reason
            names = {f"{self.performer.domain} {self.state.objects.real_fact(each.fluent)}": each for each in changes}
            owner = await self.clearance.flights.find_owner(record)  # the step waits for that run anyway
            taken = [(names[each.item].fluent, each) for each in earlier if each.run != owner]
            reason = self.conditions.find_shortage(record, taken)
            if not reason or clock() >= until or self.paused.is_set():
                return reason + self._explain_idle(each for _, each in taken) if reason else ""
            await wait_unless_cancelled(
                self.performer.wait_for_release(record.id, min(until - clock(), LOOK), clock() - since), self.paused
            )

    async def _reserve_in_time(
        self, record: StepRecord, dispatcher: Dispatcher, is_overtaken: Callable[[], bool]
    ) -> str:
        """Reserve the capacities that the step holds, when other runs do not hold them; return why it cannot start.

        A step that waits gives its place up from time to time: others that wait for it may be what it waits for. It
        waits for the owner of its flight anyway, and is blocked by runs that nobody drives. What the step holds whose
        handler has begun this run is there for this run.
        """
        held = dispatcher.find_capacities(record)
        if not held:
            return ""
        items = {f"{self.performer.domain} capacity {name}": name for name in held}
        amounts = {item: -held[name] for item, name in items.items()}
        clock, own, performer = asyncio.get_running_loop().time, self.state.run, self.performer
        since, waited = clock(), False
        while True:
            earlier = await performer.reserve(own, record.id, amounts)
            owner = await self.clearance.flights.find_owner(record) if earlier else ""
            others = [each for each in earlier if each.run != owner and not is_below(f"{each.run}/{each.step}")]
            taken = dict.fromkeys(held, exact_value(0))
            for each in others:
                taken[items[each.item]] -= each.amount
            if dispatcher.has_capacities(record, taken):
                return self.conditions.find_objection(record) if waited else ""
            idle = self._explain_idle(others)
            if idle:
                self.blocked[record.id] = f"{record.step} needs {', '.join(held)}, which other runs hold{idle}"
            if is_overtaken() or self.paused.is_set():
                performer.release(own, record.id)
                return "" if is_overtaken() else "other runs hold the capacities that it needs"
            if clock() - since > QUEUED:
                performer.release(own, record.id)
                since = clock()
            waited = True
            await wait_unless_cancelled(performer.wait_for_release(record.id, QUEUED, clock() - since), self.paused)

    def _explain_idle(self, held: Iterable[Reservation]) -> str:
        """Say which runs that have `held` something nobody drives, and how to free it; "" if all are driven."""
        idle = [each for each in held if not self.performer.is_driven(each.run)]
        names = ", ".join(dict.fromkeys(f"{each.run!r} (step {each.step!r})" for each in idle))
        return f"; nobody drives {names}: {FREEING}" if idle else ""

    def _is_held_back(self, record: StepRecord, another: NextAttempt | None, plan: int) -> bool:
        """Return whether an irreversible step must not begin, or be tried again, now.

        It waits for the steps of a patch, for answers to questions about other steps, and for recovery from failures.
        When the run is called off or interrupted, it does not begin at all.
        """
        self.check_driven()
        if not self.state.is_irreversible(record):
            return False
        stopped = self.paused if another is None else self.aborted
        return stopped.is_set() or self.state.changes != plan or self.is_held(record.id)

    def _check_held_back(self, record: StepRecord, another: NextAttempt | None, plan: int) -> None:
        """Raise `HeldBack` if an irreversible step must not begin now."""
        if self._is_held_back(record, another, plan):
            raise HeldBack

    def _end_untried(self, record: StepRecord, another: NextAttempt | None) -> bool:
        """End a step for whose next attempt its plan in time has no room; return whether there is none.

        A step that has not failed, because the process was stopped, is left to another plan.
        """
        reason = "" if self.dispatcher is None or another is None else self.dispatcher.find_restart(record)
        if another is None or not isinstance(reason, str) or not reason:
            return False
        end = another.otherwise
        status = events.StepStatus.PENDING if record.result is None else end.status
        self.emit(replace(end, status=status, reason=f"{end.reason}; it is not tried again: {reason}"))
        return True

    def _end_unbegun(
        self, record: StepRecord, reason: str, another: NextAttempt | None, *, repeatable: bool = True
    ) -> None:
        """End a step that cannot begin, or was refused; `another` has the result of an earlier attempt, if any."""
        if another is None:
            end = events.StepEnded(record.id, events.StepStatus.FAILED, reason, repeatable=repeatable)
            is_refused = not repeatable and UNDECIDED not in reason
            self.emit(end if is_refused else end.as_obstacle(record.attempts))
        else:
            self.emit(replace(another.otherwise, reason=f"{another.otherwise.reason}; {reason}"))

    async def _ask_for_approval(
        self, record: StepRecord, action: Action, filled_in: Filled, another: NextAttempt | None
    ) -> str | None:
        """Return the reason of a refusal, an empty text for an approval, or None if undecided or stopped."""
        stopped = self.paused if another is None else self.aborted
        told = {name: each for name, each in filled_in[0].items() if filled_in[1].get(name) != filling.DEFAULT}
        earlier = await self.clearance.describe_earlier(record, told)
        asked = asyncio.ensure_future(self.asker.ask_for_approval(record, action, *filled_in, earlier))
        return asked.result() if await wait_unless_cancelled(asked, stopped) else None

    async def _run_check(
        self, record: StepRecord, action: Action, values: Mapping[str, Any], policy: ExecutionPolicy
    ) -> str:
        """Run the check of the action; return its reason to refuse, an empty text if it passes or there is none."""
        check = self.world.checks.get(action.name)
        if check is None:
            return ""
        try:
            context = self._make_context(record, record.attempts + 1)
            arguments = await self._load_objects(record, action, check, policy)
            return await run_check(check, arguments | {**values}, context, policy.timeout)
        except InputError as error:
            return str(error)
        finally:
            self._contexts.pop(record.id, None)

    async def _find_obstacle(self, record: StepRecord, action: Action) -> str:
        """Return the reason why the step cannot begin; an empty text if it can."""
        reason = await self.conditions.find_unmet(record, action)
        if not reason and self.state.has_failed_here(record.step):
            reason = "it has failed before in this very state"
        reason = reason or self.state.find_bar(record)
        return reason or (self.find_doom(record) if self.state.is_irreversible(record) else "")

    async def _attempt(
        self,
        record: StepRecord,
        skill: Skill,
        policy: ExecutionPolicy,
        expected: Expected,
        filled_in: Filled,
        *,
        another: NextAttempt | None,
        plan: int,
        goes_on: bool = False,
    ) -> NextAttempt | None:
        """Call the handler once and judge the attempt; return the next attempt, if one is to be made.

        A reversible step begins before its objects are loaded and before it waits for its lock and rate. An
        irreversible step begins when its handler, or the outermost hook, is about to be called; raises `HeldBack` if
        it must not begin by then. A step that `goes_on` has begun before.
        """
        is_irreversible, number = self.state.is_irreversible(record) and not goes_on, record.attempts + 1

        def start() -> None:
            if is_irreversible and (
                self._is_held_back(record, another, plan) or self.conditions.find_objection(record)
            ):
                raise HeldBack
            facts = () if self.dispatcher is None else self.dispatcher.note_start(record)
            self.emit(events.StepStarted(record.id, number, skill.name, self.state.key_of(record), *filled_in, facts))

        if goes_on:
            self.check_driven()
        else:
            self._check_held_back(record, another, plan)
        if not is_irreversible:
            start()
        slow = SlowCall(None if policy.timeout is not None else self.tells_after, partial(self._tell_slow, record))

        def begin() -> None:
            (start if is_irreversible else self.check_driven)()
            slow.begin()

        try:
            try:
                arguments = await self._load_objects(record, skill.action, skill.function, policy) | filled_in[0]
            except InputError as error:
                begin()
                attempt = Attempt(ActionResult.failed(str(error)), begun=False)
            else:
                trial = Trial(
                    skill,
                    call_of(self.state, record, self.world)._replace(data=filled_in[0]),
                    arguments,
                    policy,
                    context=lambda: self._make_context(record, number),
                    changed=partial(self._change_parameters, record, skill.action),
                    approved=partial(self._find_approved, record, skill.action),
                    stopped=self.paused if is_irreversible and another is None else self.aborted,
                    begin=begin,
                    is_held_back=(lambda: False) if goes_on else partial(self._is_held_back, record, another, plan),
                )
                with self._name_children(record):
                    attempt = await self.performer.make_attempt(trial)
        except HeldBack:
            if record.attempts < number:
                raise
            self.emit(
                events.StepEnded(
                    record.id, events.StepStatus.PENDING, HELD_BACK, data_of(ActionResult.failed(HELD_BACK))
                )
            )
            return None
        finally:
            slow.end()
            self._contexts.pop(record.id, None)
        if attempt.traceback:
            self.emit(events.HandlerRaised(record.id, attempt.traceback))
        if isinstance(attempt.raised, MissingDeps):
            self.lacking = describe_missing(self.state.deps, [record.step.action])
        if attempt.wait is not None:
            attempt = self._check_choices(record, attempt, attempt.wait)
        if attempt.wait is not None:
            self.emit(events.StepWaiting(record.id, data_of(attempt.wait), self.clock.time()))
            self.ask_for_wait(record)
            return None
        skills = self.world.skills.get(record.step.action, ())
        expected = self.conditions.expect_end(record, expected)
        return await self.aftermath.end_attempt(record, attempt, expected, policy, skills)

    def _check_choices(self, record: StepRecord, attempt: Attempt, wait: Wait) -> Attempt:
        """Return an attempt that waits as a failure if its choices mean what is no fact of the domain."""
        meanings = wait.choices.values() if isinstance(wait.choices, Mapping) else ()
        try:
            facts = {literal_of(each)[0]: True for facts in meanings for each in facts}
            self._refuse_parameters(record, facts)
            read_report(ActionResult(observed=tuple(facts)), self.state.beliefs, self.state.objects)
        except InputError as error:
            return Attempt(ActionResult.failed(str(error)), raised=error, seconds=attempt.seconds)
        return attempt

    def _refuse_parameters(self, record: StepRecord, facts: Iterable[Atom]) -> None:
        """Raise `InputError` for a fact that names a parameter of the step instead of its object."""
        given = {name: each for name, each in record.plan.arguments.items() if not self.state.beliefs.types_of(name)}
        for fact in facts:
            if given.keys() & set(fact.args):
                meant = Atom(fact.predicate, tuple([given.get(each, each) for each in fact.args]))
                raise InputError(f"{fact} names a parameter of {record.step.action}", hint=f"name its object: {meant}")

    def ask_for_wait(self, record: StepRecord) -> None:
        """Ask for what a begun step waits for, unless that is a time, or is asked or answered already."""
        if record.status is not events.StepStatus.WAITING or not asks_for_wait(record):
            return
        question = make_wait_question(record, self.state.purpose_of(record))
        if question.question not in self.state.questions and question.question not in self.state.answers:
            self.emit(question)

    async def go_on(self, record: StepRecord) -> None:
        """Call the handler of a begun step again, with the answer for which it has waited."""
        policy, plan = self.policy_of(record), self.state.changes
        skill = next(each for each in self.world.skills[record.step.action] if each.name == record.skill)
        expected = await self.conditions.expect_after_look(record)
        filled_in = dict(record.parameters), dict(record.sources)
        another = await self._attempt(record, skill, policy, expected, filled_in, another=None, plan=plan, goes_on=True)
        if another is not None:
            self.emit(another.otherwise)

    @contextmanager
    def _name_children(self, record: StepRecord) -> Iterator[None]:
        """Let runs that the handler begins in the body be children of the step."""

        def tell(run: str, place: str) -> None:
            begun = events.ChildBegun(record.id, run, place)
            if record.id in self._children and begun not in self.state.children:
                self.emit(begun)

        key, above = f"{self.state.run}/{record.id}", STEP.get(None)
        run = RunKey(str(self.state.journal or "") or id(self.performer), self.state.run)
        child = self._children[record.id] = Child(key, run, lambda: record.started, tell, above, self.deps)
        before = STEP.set(child)
        try:
            yield
        finally:
            with suppress(ValueError):  # an event loop that is gone closes what is at work elsewhere
                STEP.reset(before)
            self._children.pop(record.id, None)

    def _change_parameters(
        self, record: StepRecord, action: Action, changes: Mapping[str, Any], by: str
    ) -> Mapping[str, Any]:
        """Convert and emit data parameters that a hook changed.

        Raises `Missing` for values of the wrong type, and `InputError` for values that differ from those approved.
        """
        values = {
            each.name: filling.convert_value(each, changes[each.name]) for each in action.data if each.name in changes
        }
        filling.check_approved(values, self._find_approved(record, action), by)
        self.emit(events.ParametersChanged(record.id, values, by))
        self.clearance.flights.tell_values(record)
        return values

    def _find_approved(self, record: StepRecord, action: Action) -> Mapping[str, Any]:
        """Return the values of a step that somebody has approved, which no hook may change."""
        values, permit = record.parameters, self.asker.permit
        is_free = permit is None and filling.needs_no_approval(self.state, record, action, values, record.sources)
        return {} if is_free else values

    async def _prepare_next_attempt(self, record: StepRecord, another: NextAttempt, policy: ExecutionPolicy) -> Skill:
        """Choose the next of the skills, and pause if it is the same again."""
        skill = self._choose_skill(record, another.skills, policy)
        rung = events.Rung.RETRY if skill.name == record.skill else events.Rung.SKILL
        seconds = compute_pause(policy, record.attempts, self.rng) if rung is events.Rung.RETRY else 0.0
        left = None if self.dispatcher is None else self.dispatcher.find_restart(record)
        seconds = min(seconds, max(left, 0.0)) if isinstance(left, float) else seconds
        reason = f"attempt {record.attempts} failed: {another.otherwise.reason}".removesuffix(": ")
        self.emit(events.RungTaken(rung, record.id, reason, seconds=seconds))
        if seconds:
            await wait_unless_cancelled(asyncio.sleep(seconds), self.aborted)
        return skill

    def _choose_skill(self, record: StepRecord, skills: Sequence[Skill], policy: ExecutionPolicy) -> Skill:
        """Choose one of `skills` by the policy; raises `_NoSkillChosen`."""
        if len(skills) == 1:
            return skills[0]
        here, ever = record.failed, self.state.failed_skills[record.step.action]
        if record.status is events.StepStatus.RUNNING:
            here, ever = (*here, record.skill), ever + Counter([record.skill])
        try:
            with contain_errors():
                return choose_skill(skills, policy, here, ever)
        except Exception as error:
            raise _NoSkillChosen(f"no handler was chosen: {describe_error(error)}") from error

    async def _load_objects(
        self, record: StepRecord, action: Action, function: Callable[..., Any], policy: ExecutionPolicy
    ) -> dict[str, Any]:
        """Load the objects that `function` takes as arguments; raises `InputError` if one cannot be loaded."""
        parameters = [each.name.removeprefix("?") for each in action.parameters]
        names = dict(zip(parameters, record.step.arguments, strict=False))
        entities = self.world.entities
        made = entities.make_arguments(function, names, self.state.objects)
        try:
            return await (await_within(made, policy.timeout) if entities.loads and policy.timeout is not None else made)
        except OutOfTime:
            raise InputError(f"objects of {record.step} were not loaded within {policy.timeout} s") from None

    def _tell_slow(self, record: StepRecord, seconds: float) -> None:
        """Tell that the handler of a step is still at work after so many seconds."""
        text = f"{record.step} has been running for {seconds:.0f} s; it has no timeout: write timeout=… in its policy"
        _LOG.warning("run %s: %s", self.state.run, printable(text))
        self.emit(events.StepProgress(record.id, text))

    def _note_model_call(self, step: str, metrics: Mapping[str, Any]) -> None:
        self.emit(events.ModelAsked(step, metrics))

    def _make_context(self, record: StepRecord, attempt: int) -> Context:
        def progress(text: str, fraction: float | None = None) -> None:
            self.emit(events.StepProgress(record.id, text, fraction))

        context = self._contexts[record.id] = Context(
            plan=self.state.plan.id,
            run=self.state.run,
            step=record.id,
            action=record.step.action,
            attempt=attempt,
            key=self.state.key_of(record),
            token=self.token(),
            memory=self.state.memory.of_step(record.id),
            results=self.state.results,
            undoes=tuple([copy_value(self.state.steps[id_].result or {}) for id_ in record.plan.undoes]),
            aborted=asyncio.Event(),
            model=None if self.client is None else self.client.for_step(partial(self._note_model_call, record.id)),
            duration=None if self.dispatcher is None else self.dispatcher.find_duration(record),
            answer=copy_value(find_wait_answer(self.state.answers, record.id, attempt)),
            _outline=partial(outline_plan, self.state, record),
            _on_progress=progress,
            _on_replanning=self.replanning_requests.append,
            _deps=self.deps,
        )
        return context


def outline_plan(state: RunState, record: StepRecord) -> Outline:
    """Return the outline of the present plan for a step that is at work."""
    ids = list(state.order)
    steps = [state.steps[id_] for id_ in ids]
    parts = [
        OutlineStep(each.id, each.step.action, dict(each.plan.created), each.status, each.plan.description)
        for each in steps
    ]
    goal = tuple(Notation((), ()).formula(state.goal))
    number = ids.index(record.id) + 1
    return Outline(state.plan.name, goal, state.model, tuple(parts), number, state.purpose_of(record))
