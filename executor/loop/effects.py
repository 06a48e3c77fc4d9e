"""What an irreversible step is for: the effects by which observers tell whether it is so already.

These are the facts that the plan takes from the step, for its goal or for a later step. What held when the plan was
made, and what another step of the plan brings too, is no evidence. Numbers are none, either: others change them, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from executor.events.events import StepStatus
from executor.events.fluent_values import FluentValue
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.loop.parameters import Missing, convert_value
from executor.observe.beliefs import is_in_place
from executor.plans.action_plan import references
from planner.lightweight import dataclass, field
from planner.model import OPEN, Action, Atom
from planner.model.actions import When, negated_atoms, positive_atoms
from planner.model.formulas import TRUE, atoms_in
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
    return found


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
        """Return the facts that `step` declares to bring or to end, with their values; conditional ones as of now."""
        exists, is_internal = self.state.objects.exists, self.state.beliefs.is_internal
        found = {**self._find_conditional(step), **self.list_declared(step)}
        return {fact: holds for fact, holds in found.items() if exists(fact) and not is_internal(fact)}

    def _find_conditional(self, step: Step) -> Facts:
        """Return the facts of conditional effects that `step` would have now, with their values."""
        beliefs = self.state.beliefs
        effects = [each for each in self.state.problem.domain.actions[step.action].effects if not _is_certain(each)]
        if not effects:
            return {}
        changes = beliefs.simulation.changes(step)
        brought = {atom.predicate for each in effects for atom in positive_atoms(each.provides)}
        ended = {atom.predicate for each in effects for atom in negated_atoms(each.provides)}
        found = {fact: False for fact in changes.removed if fact.predicate in ended}
        found |= {fact: True for fact in changes.provided if fact.predicate in brought}
        return {fact: holds for fact, holds in found.items() if not beliefs.is_listing(fact)}

    def find_derived(self, record: StepRecord) -> Facts:
        """Return the derived facts that the goal or a later step needs and that a step brings about if done now."""
        beliefs = self.state.beliefs
        needs = [self.state.goal, *(beliefs.precondition_of(each.step) for each in self._list_coming(record))]
        wanted = [fact for each in needs for fact in beliefs.derived_of(each)]
        if not wanted or beliefs.simulation.find_objection(record.step) is not None:
            return {}
        then = beliefs.simulation.copy()
        then.apply(record.step)
        return {fact: True for fact in wanted if then.holds(fact) and not beliefs.simulation.holds(fact)}

    def find_needed_directly(self, record: StepRecord) -> frozenset[str]:
        """Return the predicates that the goal or a later step names itself, and not only by axioms."""
        needs = [
            self.state.goal,
            *(self.state.beliefs.precondition_of(each.step) for each in self._list_coming(record)),
        ]
        return frozenset([each.predicate for need in needs for each in atoms_in(need)])

    def find_births(self, step: Step) -> Facts:
        """Return the facts about objects that `step` is still to create, with their values after it."""
        exists = self.state.objects.exists
        return {fact: holds for fact, holds in self.list_declared(step).items() if not exists(fact)}

    def list_open_patterns(self, step: Step) -> dict[Atom, Atom]:
        """Return the facts that `step` brings about objects that it is still to create, each with its open pattern."""
        is_open, is_internal = self.state.objects.is_open, self.state.beliefs.is_internal
        born = [fact for fact, holds in self.find_births(step).items() if holds and not is_internal(fact)]
        return {fact: fact.substitute({each: OPEN for each in fact.args if is_open(each)}) for fact in born}

    def list_items(self, step: Step) -> list[Atom]:
        """Return the items that `step` changes in place."""
        action = self.state.problem.domain.actions[step.action]
        binding, declared = dict(bind_parameters(action, step)), self.list_declared(step)
        items = [each.substitute(binding) for effect in filter(_is_certain, action.effects) for each in effect.modifies]
        return [each for each in items if is_in_place(each) and each.is_ground and declared.get(each, True)]

    def list_outcomes(self, step: Step) -> list[Facts]:
        """Return what each declared outcome of `step` brings or ends, without what all of them do."""
        action = self.state.problem.domain.actions[step.action]
        binding, declared = dict(bind_parameters(action, step)), self.list_declared(step)
        found = list[Facts]()
        for outcome in action.outcomes:
            changes = [(fact, False) for fact in negated_atoms(outcome.provides)]
            changes += [(fact, True) for fact in positive_atoms(outcome.provides)]
            facts = {fact.substitute(binding): holds for fact, holds in changes}
            found.append({fact: holds for fact, holds in facts.items() if declared.get(fact) is not holds})
        return found

    def list_declared(self, step: Step) -> Facts:
        """Return what `step` declares to bring or to end, also about objects that it is still to create."""
        found = self._declared.get(step)
        if found is None:
            found = self._declared[step] = dict(self._iterate_declared(step))
        return found

    def _iterate_declared(self, step: Step) -> Iterator[tuple[Atom, bool]]:
        action, beliefs = self.state.problem.domain.actions[step.action], self.state.beliefs
        binding = dict(bind_parameters(action, step))
        effects = list(filter(_is_certain, action.effects))
        ended = [(fact, False) for each in effects for fact in negated_atoms(each.provides)]
        brought = [(fact, True) for each in effects for fact in positive_atoms(each.provides)]
        for pattern, holds in (*ended, *brought):
            fact = pattern.substitute(binding)
            if fact.is_ground and not beliefs.is_listing(fact):
                yield fact, holds

    def _find_effects_of_others(self, record: StepRecord) -> set[Atom]:
        """Return the facts that other steps of the plan bring or end, unless they were left out or have failed."""
        others = [each for each in self.state.steps.values() if each is not record and not each.is_obstructed]
        return {fact for each in others if each.status not in _WITHOUT_EFFECT for fact in self.find_declared(each.step)}

    def _find_wanted(self, record: StepRecord) -> set[Atom]:
        """Return the facts on which the goal and the steps that are still to come depend."""
        beliefs = self.state.beliefs
        needed = [fact for each in self._list_coming(record) for fact in beliefs.facts_of_precondition(each.step)]
        return {*beliefs.facts_of(self.state.goal, {}), *needed}

    def _list_coming(self, record: StepRecord) -> list[StepRecord]:
        return [each for each in self.state.pending() if each is not record]


def _is_certain(effect: When) -> bool:
    """Return whether an action has `effect` whatever holds."""
    return effect.requires == TRUE and not effect.variables
