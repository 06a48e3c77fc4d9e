"""What an irreversible step is for: the effects by which observers tell whether it is so already.

These are the facts that the plan takes from the step, for its goal or for a later step. What held when the plan was
made, and what another step of the plan brings too, is no evidence. Numbers are none, either: others change them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Final

from executor.events.events import LEFT_OUT
from executor.events.fluent_values import FluentValue, value_of
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.observe.beliefs import is_in_place
from executor.observe.condition_facts import find_open_facts, is_certain, trace_atoms
from planner.lightweight import dataclass, field
from planner.model import OPEN, Action, Atom, Comparison, DomainModel, Not
from planner.model.actions import When, negated_atoms, positive_atoms
from planner.model.domain import cache_per_domain
from planner.model.formulas import TRUE, Formula, atoms_in, substitute
from planner.plan import Step
from planner.semantics.simulation import bind_parameters

Facts = Mapping[Atom, bool]
"""Values of facts."""
NO_BINDING: Final[Mapping[str, str]] = {}


@dataclass(slots=True, eq=False)
class EffectFinder:
    """Finds the effects of the irreversible steps of one run."""

    state: RunState
    foresee: Callable[[], Sequence[StepRecord]] = field(init=False, default=tuple)
    """Returns steps that may come besides the pending ones: those of a policy."""
    is_watched: Callable[[str], bool] = field(init=False, default=lambda _: True)
    """Whether anybody observes facts of a predicate: they may change, though no action changes them."""
    _declared: dict[Step, Facts] = field(init=False, default_factory=dict)
    _known: tuple[object, int] = field(init=False, default=(None, 0))
    """The objects for which `_declared` was found, with how many of them were created."""

    def find_effect(self, record: StepRecord) -> Facts:
        """Return the facts, with their values, that show that a step was done; none where nothing shows it."""
        others = self._find_effects_of_others(record)
        own = {fact: holds for fact, holds in self._find_changing(record.step).items() if fact not in others}
        wanted = self._find_wanted(record)
        taken = {fact: holds for fact, holds in own.items() if fact in wanted}
        action = self.state.problem.domain.actions[record.step.action]
        is_for_numbers = bool(action.numbers) and any(isinstance(fact, FluentValue) for fact in wanted)
        return taken if taken or is_for_numbers else own

    def _find_changing(self, step: Step) -> Facts:
        """Return the facts that `step` declares to bring or to end and that were otherwise when the run began."""
        return self.without_held(self.find_declared(step))

    def without_held(self, facts: Facts) -> Facts:
        """Return those of `facts` that had other values when the run began."""
        return {fact: holds for fact, holds in facts.items() if not self.state.held_at_first(fact, holds)}

    def find_taken(self, record: StepRecord) -> Facts:
        """Return the facts, with their values, that the goal and later steps take from a step as it would be now."""
        wanted = self._find_wanted(record)
        return {fact: holds for fact, holds in self.find_declared(record.step).items() if fact in wanted}

    def find_visible_effect(self, record: StepRecord, can_see: Callable[[Atom], bool]) -> Facts:
        """Return the effect of a step, in which derived facts that are seen stand for what they alone need, unseen."""
        effect = self.find_effect(record)
        if all(map(can_see, effect)):
            return effect
        derived = {fact: holds for fact, holds in self.find_derived(record).items() if can_see(fact)}
        direct = self.find_needed_directly(record) if derived else frozenset[str]()
        kept = {fact: holds for fact, holds in effect.items() if can_see(fact) or fact.predicate in direct}
        return {**kept, **derived} if derived else effect

    def find_numbers(self, step: Step) -> Facts:
        """Return the values that numbers should have after `step`, if it is done now."""
        changes = self.state.beliefs.simulation.changes(step).numbers
        values = [value_of((each.fluent.predicate, each.fluent.args), each.after) for each in changes]
        return {each: True for each in values if each.value is not None}

    def find_declared(self, step: Step) -> Facts:
        """Return the facts that `step` declares to bring or to end, with their values; conditional ones as of now."""
        exists, is_internal = self.state.objects.exists, self.state.beliefs.is_internal
        found = {**self._find_conditional(step), **self.list_declared(step)}
        return {fact: holds for fact, holds in found.items() if exists(fact) and not is_internal(fact)}

    def _find_conditional(self, step: Step) -> Facts:
        """Return the facts of conditional effects that `step` would have now, with their values."""
        beliefs = self.state.beliefs
        effects = [each for each in self.state.problem.domain.actions[step.action].effects if each.requires != TRUE]
        if not effects:
            return {}
        changes = beliefs.simulation.changes(step)
        brought = {atom.predicate for each in effects for atom in positive_atoms(each.provides)}
        ended = {atom.predicate for each in effects for atom in negated_atoms(each.provides)}
        found = {fact: False for fact in changes.removed if fact.predicate in ended}
        found |= {fact: True for fact in changes.provided if fact.predicate in brought}
        return {fact: holds for fact, holds in found.items() if not beliefs.is_listing(fact)}

    def list_branches(self, step: Step) -> Facts:
        """Return the facts of conditional effects of `step` that it may have in other states, with their values."""
        exists, universe = self.state.objects.exists, self.state.beliefs.simulation.rules.universe
        effects = [
            each
            for each in self._ground_effects(step)
            if each.requires != TRUE and not is_certain(each.requires, self.find_fixed, universe, positive=False)
        ]
        return {fact: holds for fact, holds in list_literals(effects).items() if fact.is_ground and exists(fact)}

    def find_derived(self, record: StepRecord) -> Facts:
        """Return the derived facts that the goal or a later step needs and that a step brings about if done now.

        Its own effects count as missing before, whatever is believed of them.
        """
        beliefs = self.state.beliefs
        wanted = [fact for each in self._list_needs(record) for fact in beliefs.derived_of(each)]
        if not wanted or beliefs.simulation.find_objection(record.step) is not None:
            return {}
        then, before, own = beliefs.simulation.copy(), beliefs.simulation.copy(), self._find_changing(record.step)
        then.apply(record.step)
        before.world.update([fact for fact in own if own[fact]], [fact for fact in own if not own[fact]])
        return {fact: True for fact in wanted if then.holds(fact) and not before.holds(fact)}

    def list_causes(self, facts: Iterable[Atom]) -> list[Atom]:
        """Return the other facts from which the derived ones among `facts` follow."""
        domain, universe = self.state.problem.domain, self.state.beliefs.simulation.rules.universe
        derived = [fact for fact in facts if fact.predicate in domain.derived]
        found = dict.fromkeys(cause for fact in derived for cause in trace_atoms(fact, domain, universe, {}))
        return [each for each in found if each not in derived and not isinstance(each, FluentValue)]

    def is_explained_by(self, derived: Atom, step: Step, seen: Facts) -> bool:
        """Return whether a derived fact is certain to follow from what `step` brings and what is `seen` of others."""
        domain, universe = self.state.problem.domain, self.state.beliefs.simulation.rules.universe
        declared = self.find_declared(step)

        def truth(part: Atom | Comparison) -> bool | None:
            if isinstance(part, Comparison):
                return self.find_fixed(part)
            if part in declared:
                return declared[part]
            is_of_step = not declared.keys().isdisjoint(trace_atoms(part, domain, universe, {}))
            return None if is_of_step else seen.get(part, self.find_fixed(part))

        return find_open_facts(derived, truth, domain, universe)[0] is True

    def infer_causes(self, derived: Atom, seen: Facts) -> Facts:
        """Return the values that other facts must have, by what is `seen` of them, where a derived fact holds."""
        domain, universe = self.state.problem.domain, self.state.beliefs.simulation.rules.universe

        def is_needed(fact: Atom, holds: bool) -> bool:
            def truth(part: Atom | Comparison) -> bool | None:
                if isinstance(part, Comparison) or part.predicate in domain.derived:
                    return self.find_fixed(part)
                return not holds if part == fact else seen.get(part, self.find_fixed(part))

            return find_open_facts(derived, truth, domain, universe)[0] is False

        causes = [each for each in self.list_causes([derived]) if each.predicate not in domain.derived]
        return {fact: holds for fact in causes if fact not in seen for holds in (True, False) if is_needed(fact, holds)}

    def find_fixed(self, part: Atom | Comparison) -> bool | None:
        """Return whether a fact or a comparison holds that nothing changes; None for others."""
        beliefs, problem = self.state.beliefs, self.state.problem
        if isinstance(part, Comparison):
            return None if beliefs.facts_of(part, {}) else beliefs.is_true(part)
        is_changed = problem.timed or part.predicate in _find_changed(problem.domain) or self.is_watched(part.predicate)
        return beliefs.holds(part) if beliefs.is_internal(part) or not is_changed else None

    def find_needed_directly(self, record: StepRecord) -> frozenset[str]:
        """Return the predicates that the goal or a later step names itself, and not only by axioms."""
        return frozenset([each.predicate for need in self._list_needs(record) for each in atoms_in(need)])

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
        declared = self.list_declared(step)
        items = [item for each in self._ground_effects(step) if each.requires == TRUE for item in each.modifies]
        return [each for each in items if is_in_place(each) and each.is_ground and declared.get(each, True)]

    def list_outcomes(self, step: Step) -> list[Facts]:
        """Return what each declared outcome of `step` brings or ends, without what all of them do."""
        action = self.state.problem.domain.actions[step.action]
        binding, declared = dict(bind_parameters(action, step)), self.list_declared(step)
        found = [list_literals([When(provides=outcome.provides)], binding) for outcome in action.outcomes]
        return [{fact: holds for fact, holds in each.items() if declared.get(fact) is not holds} for each in found]

    def list_declared(self, step: Step) -> Facts:
        """Return what `step` declares to bring or to end, also about objects that it is still to create."""
        known = self.state.beliefs.simulation.rules.universe, len(self.state.objects.created)
        if known != self._known:
            self._known = known
            self._declared.clear()
        found = self._declared.get(step)
        if found is None:
            facts = list_certain(self._ground_effects(step))
            found = {fact: holds for fact, holds in facts.items() if not self.state.beliefs.is_listing(fact)}
            self._declared[step] = found
        return found

    def _ground_effects(self, step: Step) -> list[When]:
        """Return the effects of `step` on the objects that there are, and on those that it creates."""
        of_types, is_open = self.state.beliefs.simulation.rules.universe.of_types, self.state.objects.is_open
        action = self.state.problem.domain.actions[step.action]

        def list_objects(types: tuple[str, ...]) -> list[str]:
            return [each for each in of_types(types) if each in step.arguments or not is_open(each)]

        return ground_effects(action, step, list_objects)

    def _find_effects_of_others(self, record: StepRecord) -> set[Atom]:
        """Return the facts that other steps of the plan bring or end, unless they were left out or have failed."""
        others = [each for each in self.state.steps.values() if each is not record and not each.is_obstructed]
        steps = [each.step for each in others if each.status not in LEFT_OUT]
        found, own = {fact for step in steps for fact in self.find_declared(step)}, self.find_declared(record.step)
        for each in self._list_foreseen(record):  # it may bring the same in its place, or end it afterwards
            later = self.find_declared(each.step).items()
            found.update(fact for fact, holds in later if own.get(fact) is (not holds))
        return found

    def _find_wanted(self, record: StepRecord) -> set[Atom]:
        """Return the facts on which the goal and the steps that are still to come depend."""
        beliefs = self.state.beliefs
        needed = [fact for each in self._list_coming(record) for fact in beliefs.facts_of_precondition(each.step)]
        return {*beliefs.facts_of(self.state.goal, {}), *needed}

    def _list_needs(self, record: StepRecord) -> list[Formula]:
        """Return the goal, and the preconditions of the steps that are still to come."""
        preconditions = [self.state.beliefs.precondition_of(each.step) for each in self._list_coming(record)]
        return [self.state.goal, *preconditions]

    def _list_coming(self, record: StepRecord) -> list[StepRecord]:
        return [*[each for each in self.state.pending() if each is not record], *self._list_foreseen(record)]

    def _list_foreseen(self, record: StepRecord) -> list[StepRecord]:
        return [each for each in self.foresee() if each.step != record.step]


def ground_effects(action: Action, step: Step, list_objects: Callable[[tuple[str, ...]], Iterable[str]]) -> list[When]:
    """Return the effects of a step of `action`, one for each row of objects of their variables, without numbers."""
    binding, found = dict(bind_parameters(action, step)), list[When]()
    for each in action.effects:
        names = [variable.name for variable in each.variables]
        for row in product(*[list_objects(variable.types) for variable in each.variables]):
            bound = {**binding, **dict(zip(names, row, strict=True))}
            provides = tuple([(fact if holds else Not(fact)) for fact, holds in list_literals([each], bound).items()])
            modifies = tuple([item.substitute(bound) for item in each.modifies])
            found.append(When(substitute(each.requires, bound), provides, modifies))
    return found


def list_certain(effects: Iterable[When]) -> Facts:
    """Return the ground facts that those of a step's ground `effects` bring or end which it has whatever holds."""
    facts = list_literals([each for each in effects if each.requires == TRUE])
    return {fact: holds for fact, holds in facts.items() if fact.is_ground}


def list_literals(effects: Sequence[When], binding: Mapping[str, str] = NO_BINDING) -> dict[Atom, bool]:
    """Return the literals that `effects` provide, with their values; what is brought comes last."""
    ended = {fact.substitute(binding): False for each in effects for fact in negated_atoms(each.provides)}
    return ended | {fact.substitute(binding): True for each in effects for fact in positive_atoms(each.provides)}


@cache_per_domain
def _find_changed(domain: DomainModel) -> frozenset[str]:
    """Return the predicates of facts that actions change, or that follow from others, or go stale with them."""
    provided = [each.provides for action in domain.actions.values() for each in action.effects]
    provided += [each.provides for action in domain.actions.values() for each in action.outcomes]
    written = [atom.predicate for each in provided for atom in (*positive_atoms(each), *negated_atoms(each))]
    stale = [each.name for each in domain.predicates.values() if each.stale_with]
    return frozenset([*written, *stale, *domain.derived])
