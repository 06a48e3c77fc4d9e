"""What an irreversible step is for: the effects by which observers tell whether it is so already.

These are the facts that the plan takes from the step, for its goal or for a later step. What held when the plan was
made, and what another step of the plan brings too, is no evidence. Numbers are none, either: others change them, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final

from executor.events.events import StepStatus
from executor.events.fluent_values import FluentValue
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.ledger.rulings import Sight
from executor.loop.parameters import Missing, convert_value
from executor.observe.observe import LookResult
from executor.plans.action_plan import references
from executor.tools.json_data import dump_json, dump_json_value, load_json
from planner.lightweight import dataclass, field
from planner.model import Action, Atom
from planner.model.actions import negated_atoms, positive_atoms
from planner.model.formulas import TRUE
from planner.plan import Step
from planner.semantics.simulation import bind_parameters


def find_known_values(action: Action, planned: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of data parameters that the plan (`planned`) or the `request` gave: they tell steps apart.

    What else has a value in a parameter does not: a result, a default and a language model may say the same thing
    in other words, in another run or with another version of the world.
    """
    found: dict[str, Any] = {}
    for parameter in action.data:
        name = parameter.name
        if name in planned:
            if any(True for _ in references(planned[name])):
                continue
            found[name] = planned[name]
        elif parameter.source is None and name in request:
            found[name] = request[name]
        if name in found:
            with suppress(Missing):
                found[name] = convert_value(parameter, found[name])
    ready: dict[str, Any] = load_json(dump_json({name: _make_comparable(each) for name, each in found.items()}))
    return ready


def _make_comparable(value: Any) -> Any:
    """Return `value` with its sets as lists in an order of their own, and with plain numbers for its decimals."""
    match value:
        case set() | frozenset():
            return sorted(map(_make_comparable, value), key=dump_json_value)
        case Mapping():
            return {key: _make_comparable(each) for key, each in value.items()}
        case list() | tuple():
            return [_make_comparable(each) for each in value]
        case Decimal() if value.is_finite() and value == int(value):
            return int(value)
        case Decimal() if value.is_finite():
            number = float(value)
            return number if Decimal(repr(number)) == value else f"{value.normalize():f}"
        case _:
            return value


Facts = Mapping[Atom, bool]
"""Values of facts."""
_WITHOUT_EFFECT: Final = frozenset({StepStatus.SKIPPED, StepStatus.FAILED})


@dataclass(slots=True, eq=False)
class EffectFinder:
    """Finds the effects of the irreversible steps of one run."""

    state: RunState
    _declared: dict[Step, Facts] = field(init=False, default_factory=dict)

    def find_effect(self, record: StepRecord) -> Facts:
        """Return the facts, with their values, that show that a step was done; none where nothing shows it."""
        initial, others = frozenset(self.state.source.initial), self._find_effects_of_others(record)
        declared = self.find_declared(record.step)
        own = {fact: holds for fact, holds in declared.items() if (fact in initial) is not holds and fact not in others}
        wanted = self._find_wanted(record)
        taken = {fact: holds for fact, holds in own.items() if fact in wanted}
        action = self.state.problem.domain.actions[record.step.action]
        is_for_numbers = bool(action.numbers) and any(isinstance(fact, FluentValue) for fact in wanted)
        return taken if taken or is_for_numbers else own

    def find_declared(self, step: Step) -> Facts:
        """Return the facts that `step` declares to bring or to end whatever holds, with their values."""
        found = self._declared.get(step)
        if found is None:
            found = self._declared[step] = dict(self._iterate_declared(step))
        exists = self.state.objects.exists
        return {fact: holds for fact, holds in found.items() if exists(fact)}

    def _iterate_declared(self, step: Step) -> Iterator[tuple[Atom, bool]]:
        action, beliefs = self.state.problem.domain.actions[step.action], self.state.beliefs
        binding = dict(bind_parameters(action, step))
        effects = [each for each in action.effects if each.requires == TRUE and not each.variables]
        ended = [(fact, False) for each in effects for fact in negated_atoms(each.provides)]
        brought = [(fact, True) for each in effects for fact in positive_atoms(each.provides)]
        for pattern, holds in (*ended, *brought):
            fact = pattern.substitute(binding)
            if fact.is_ground and not (beliefs.is_internal(fact) or beliefs.is_listing(fact)):
                yield fact, holds

    def _find_effects_of_others(self, record: StepRecord) -> set[Atom]:
        """Return the facts that other steps of the plan bring or end, unless they were left out or have failed."""
        others = [each for each in self.state.steps.values() if each is not record and not each.is_obstructed]
        return {fact for each in others if each.status not in _WITHOUT_EFFECT for fact in self.find_declared(each.step)}

    def _find_wanted(self, record: StepRecord) -> set[Atom]:
        """Return the facts on which the goal and the steps that are still to come depend."""
        beliefs = self.state.beliefs
        coming = [each for each in self.state.pending() if each is not record]
        needed = [fact for each in coming for fact in beliefs.facts_of_precondition(each.step)]
        return {*beliefs.facts_of(self.state.goal, {}), *needed}


def judge_sight(effect: Facts, looked: LookResult, *, in_doubt: bool) -> Sight:
    """Return what a look says of an `effect`; while a step is `in_doubt`, only observers that state their delay say no.

    Facts without a conclusive observer are as unknown as those without any.
    """
    if any(note.holds is None and note.fact in effect for note in looked.notes):
        return Sight.DISPUTED
    seen = {fact: looked.seen[fact] is holds for fact, holds in effect.items() if fact in looked.seen}
    sure = looked.settled if in_doubt else looked.conclusive
    there = [fact for fact, is_there in seen.items() if is_there and fact in looked.conclusive]
    gone = [fact for fact, is_there in seen.items() if not is_there and fact in sure]
    if effect and len(there) == len(effect):
        return Sight.HOLDS
    if effect and len(gone) == len(effect):
        return Sight.MISSING
    if there and gone:
        return Sight.PARTLY
    if effect and all(seen.get(fact) for fact in effect):
        return Sight.CLAIMED
    return Sight.PARTLY if there else Sight.UNKNOWN
