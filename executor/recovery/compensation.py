"""Undo what a run wrote, by a plan that is searched and validated (sagas: Garcia-Molina and Salem, 1987).

Afterwards, observers check that everything is as before; assumed facts are no evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Final

from executor.background_searches import SearchStopped, read_timer, search_in_turn
from executor.events.events import Event, PlanChanged, Rung, RungTaken, StepEnded, StepStatus
from executor.events.fluent_values import FluentValue, value_of
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.observe.beliefs import is_in_place
from executor.observe.goal import is_confirmed
from executor.observe.observe import Lookout, LookResult, adopt_look
from executor.plans.action_plan import PlanStep
from executor.plans.suppositions import sensed_by
from executor.recovery.options import Options
from executor.recovery.recovery_policy import MORE
from planner.model import Atom
from planner.model.arithmetic import exact_value
from planner.plan import Status, Step, StoppedBy, exact_sum
from planner.repair.undoing import Undo, Written, undo
from planner.semantics.simulation import bind_parameters

_LEFT_ALONE: Final = frozenset({"irreversible", "read_only"})


@dataclass(frozen=True, slots=True)
class Remains:
    """Facts not confirmed to be as before the run; `reasons` omits those that the run leaves anyway."""

    facts: frozenset[Atom]
    reasons: tuple[str, ...]


async def find_remains(state: RunState, lookout: Lookout, emit: Callable[[Event], None]) -> Remains:
    """Look at all facts that steps wrote or may have written; return those not confirmed to be as before the run."""
    beliefs = state.beliefs
    written = {fact: id_ for record in state.steps.values() for fact, id_ in _find_written_facts(state, record)}
    visible = [fact for fact in written if lookout.can_see(fact)]
    looked = await lookout.look(visible, beliefs) if visible else LookResult()
    adopt_look(looked, beliefs, emit, "what is undone")
    before, listed = frozenset(state.problem.initial), "; ".join(state.left)
    found = {}
    for fact, id_ in written.items():
        holds = looked.seen.get(fact) if isinstance(fact, FluentValue) else beliefs.holds(fact)
        if holds is not (fact in before or isinstance(fact, FluentValue)):
            found[fact] = f"{fact} {_NOW[holds]}, since {id_}"
        elif not is_confirmed(fact, looked, beliefs):
            found[fact] = f"nobody has seen that {fact} {_NOW[holds]} after {id_}"
    reasons = [why for fact, why in found.items() if str(fact) not in listed]
    reasons += [why for record in state.steps.values() for why in _find_changed_in_place(state, record)]
    return Remains(frozenset(found), tuple(reasons))


_NOW: Final = {True: "holds", False: "does not hold", None: "is unknown"}


def _find_written_facts(state: RunState, record: StepRecord) -> Iterator[tuple[Atom, str]]:
    """Yield the facts that a step wrote, or may have written if it was not done, with its id."""
    tags = state.problem.domain.actions[record.step.action].tags
    if not record.attempts or "read_only" in tags:
        return
    facts = dict.fromkeys(_list_own_facts(state, record) if tags.isdisjoint(_LEFT_ALONE) else [])
    if not _is_done(record):
        changes = state.beliefs.simulation.changes(record.step)
        numbers = [state.beliefs.value(each.fluent) for each in changes.numbers]
        facts |= dict.fromkeys([*changes.provided, *changes.removed, *numbers])
    facts = {_value_before(state, fact) if isinstance(fact, FluentValue) else fact: None for fact in facts}
    yield from ((fact, record.id) for fact in facts if _is_of_the_world(state, fact))


def _value_before(state: RunState, fact: FluentValue) -> FluentValue:
    """Return the value that the fluent of `fact` had before the run."""
    number = state.problem.values.get(fact.fluent)
    return value_of(fact.key, None if number is None else exact_value(number))


def _is_of_the_world(state: RunState, fact: Atom) -> bool:
    """Return whether `fact` can be undone: it is about real objects, and not about what the run knows."""
    return not (state.beliefs.is_internal(fact) or state.beliefs.is_listing(fact))


def _list_own_facts(state: RunState, record: StepRecord) -> list[Atom]:
    """Return the facts that a step has notes on, without those that it has only found out: what it lists or senses."""
    action = state.problem.domain.actions[record.step.action]
    if not (action.lists or action.senses or action.measures):
        return [note.fact for note in record.facts]
    binding = dict(bind_parameters(action, record.step))
    patterns = [*[each.substitute(binding) for each in action.lists], *sensed_by(state.problem.domain, record.step)]
    effects = [atom.substitute(binding) for each in action.effects for atom in each.written]
    return [
        note.fact
        for note in record.facts
        if not any(each.matches(note.fact) for each in patterns) or any(each.matches(note.fact) for each in effects)
    ]


def _find_changed_in_place(state: RunState, record: StepRecord) -> Iterator[str]:
    """Yield reasons for items without version that a step which was not done may have changed in place."""
    action = state.problem.domain.actions[record.step.action]
    if not record.attempts or _is_done(record) or "read_only" in action.tags:
        return
    for item in filter(is_in_place, action.modifies):
        fact = item.substitute(bind_parameters(action, record.step))
        if state.beliefs.note(fact).version is None:
            yield f"nobody has seen whether {record.id} has changed {fact}"


def _is_done(record: StepRecord) -> bool:
    """Return whether the notes of a step are all of its effects."""
    return record.status.is_done or record.status.name == "COMPENSATED"


MOST: Final = 10
"""Most undo plans in one run; each follows the failure of the one before."""
_WROTE: Final = frozenset({StepStatus.SUCCEEDED, StepStatus.UNVERIFIED, StepStatus.PARTIAL})


@dataclass(slots=True, eq=False)
class Compensation:
    """Plans and checks the undoing of one run."""

    state: RunState
    emit: Callable[[Event], None]
    lookout: Lookout
    options: Options
    time_limit: float
    reasons: list[str]
    """Reasons why the latest rungs did not help."""
    _plans: int = 0

    async def plan_undo(self, about: str) -> bool:
        """Search for steps that undo what the run wrote, and make them the plan; return whether there are any."""
        if self._plans >= MOST:
            return False
        self._plans += 1
        written, started = list(self._find_written()), read_timer()
        forbidden = [key for key, tried in self.state.tried.items() if tried.spent or tried.times > 1]
        look = partial(
            undo,
            self.options.make_problem(),
            self.state.problem.initial,
            written,
            forbidden=[Step(*key) for key in forbidden],
        )
        found = await self._search(look)
        real = self.state.objects.real_fact
        left = [f"{real(each.item)} is not as before: {each.reason}" for each in found.left]
        left += [f"{real(each.item)} was written by {each.step}, which is irreversible" for each in found.exempt]
        left += [f"{each} is not as before: numbers are restored along with facts" for each in self._find_numbers()]
        cost = float(exact_sum(each.step.cost for each in found.steps))
        seconds = read_timer() - started
        said = "; ".join([found.status.value, *left])
        self.emit(RungTaken(Rung.COMPENSATE, about, said, cost, seconds, found=bool(found.steps)))
        if not found.steps:
            self.reasons += [f"compensate: {each}" for each in left]
            return False
        names = (name for number in count(1) if (name := f"u{number}") not in self.state.steps)
        steps = [
            PlanStep.of(each.step, self.state.domain.actions[each.step.action], next(names)).model_copy(
                update={"undoes": tuple(id_ for id_ in each.undoes if id_ in self.state.steps)}
            )
            for each in found.steps
        ]
        data, reason = tuple([each.model_dump(mode="json") for each in steps]), f"undoing, after {about or 'the end'}"
        self.emit(PlanChanged(data, 0, len(steps), 0, reason, undoes=True, left=tuple(left)))
        return True

    async def _search(self, look: Callable[..., Undo]) -> Undo:
        """Search for steps that undo, and once more with more time if it runs out."""
        for seconds in (self.time_limit, MORE * self.time_limit):
            try:
                found = await search_in_turn(partial(look, time_limit=seconds))
            except SearchStopped as stop:
                found = Undo(Status.UNKNOWN, stop.stopped_by, reason=str(stop))
            if found.steps or found.stopped_by is not StoppedBy.TIME:
                return found
            self.reasons.append(f"compensate: no steps were found that undo: {found.stopped_by.value} ({seconds:g} s)")
        return found

    async def finish_undo(self) -> list[str]:
        """Mark the steps that are undone, and return the reasons why others are not confirmed to be as before."""
        remains = await find_remains(self.state, self.lookout, self.emit)
        undone = [
            id_
            for record in self.state.steps.values()
            if record.is_done
            for id_ in record.plan.undoes
            if self.state.steps[id_].status in _WROTE
        ]
        for id_ in dict.fromkeys(undone):
            if remains.facts.isdisjoint([note.fact for note in self.state.steps[id_].facts]):
                self.emit(StepEnded(id_, StepStatus.COMPENSATED, "undone"))
        return [*self.state.left, *remains.reasons]

    def _find_numbers(self) -> Iterator[Atom]:
        """Yield the numeric fluents whose believed values differ from those before the run, after steps wrote them."""
        records = [each for each in self.state.steps.values() if each.status in _WROTE]
        facts = [fact for record in records for fact in _list_own_facts(self.state, record)]
        values = [fact for fact in facts if isinstance(fact, FluentValue)]
        for fluent, fact in {fact.fluent: fact for fact in values}.items():
            if not self.state.beliefs.holds(_value_before(self.state, fact)):
                yield fluent

    def _find_written(self) -> Iterator[Written]:
        """Yield the facts and items that the steps wrote, in the order of their ends; numbers are none of them."""
        for id_ in self.state.finished:
            record = self.state.steps[id_]
            if record.status not in _WROTE or record.plan.undoes:
                continue
            action = self.state.problem.domain.actions[record.step.action]
            if "read_only" in action.tags:
                continue
            final = "irreversible" in action.tags
            for fact in _list_own_facts(self.state, record):
                if _is_of_the_world(self.state, fact) and not isinstance(fact, FluentValue):
                    yield Written(fact, id_, final)
            for pattern in action.modifies:
                item = pattern.substitute(bind_parameters(action, record.step))
                if is_in_place(item):
                    yield Written(item, id_, final, in_place=True)
