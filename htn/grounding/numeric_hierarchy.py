"""Numbers in ground hierarchies: comparisons become facts before grounding, and get their meaning back after it.

The preconditions of methods are abstracted together with those of actions (see
`planner.compilations.number_abstraction`), so that equal comparisons are one fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from htn.grounding.instances import METHOD
from htn.model import HtnProblem
from planner.compilations.number_abstraction import NumberAbstraction, abstract_numbers
from planner.grounding.ground import Explored, Groups, Numbering, Reached
from planner.grounding.ground_numeric import find_groups, instantiate_abstraction, remove_constants, set_costs
from planner.grounding.instantiate import RawAction, parts_of
from planner.grounding.numeric_meaning import NumericMeaning
from planner.grounding.numeric_scaling import Scaling, group_effects
from planner.lightweight import dataclass, replace
from planner.limits import Limits
from planner.model import Action, Atom, Not
from planner.model.arithmetic import Key
from planner.semantics.linear_forms import LinearForm
from planner.task.ground_task import Task
from planner.task.numeric_task import NumericEffects, NumericTask

Changes = dict[int, list[tuple[int, ...]]]
"""The conditions, as literals, under which an action has each numeric effect."""


def abstract_hierarchy(problem: HtnProblem) -> AbstractHierarchy:
    """Return `problem` without numbers, and what replaces them."""
    classical, domain = problem.classical, problem.domain
    tests = {
        METHOD + name: Action(METHOD + name, each.parameters, each.precondition)
        for name, each in domain.methods.items()
    }
    whole = replace(classical.domain, actions={**classical.domain.actions, **tests})
    abstraction = abstract_numbers(replace(classical, domain=whole))
    actions = abstraction.problem.domain.actions
    methods = {
        name: replace(each, precondition=actions[METHOD + name].requires) for name, each in domain.methods.items()
    }
    own = replace(abstraction.problem.domain, actions={name: actions[name] for name in classical.domain.actions})
    plain = replace(
        problem,
        classical=replace(abstraction.problem, domain=own),
        domain=replace(domain, classical=own, methods=methods),
        seal=(),
    )
    return AbstractHierarchy(plain, problem, abstraction)


@dataclass(frozen=True, slots=True)
class AbstractHierarchy:
    """The hierarchical problem `plain` without numbers, made from `source`."""

    plain: HtnProblem
    source: HtnProblem
    abstraction: NumberAbstraction

    def instantiate(self, reached: Reached, predicates: Iterable[str], limits: Limits) -> NumericInstances:
        """Instantiate and simplify what was reached, over the facts of these `predicates`; others count as true.

        Raises `UnsupportedError` for terms that are not linear, and `LimitReached`.
        """
        task, atoms, unreachable = instantiate_abstraction(reached, self.abstraction, predicates, limits)
        classical = self.source.classical
        meaning = NumericMeaning(classical, self.abstraction, atoms)
        if unreachable is None:
            meaning.interpret(task)
            unreachable = remove_constants(task, meaning, limits)
        if unreachable is not None:
            return NumericInstances(Explored(task, atoms, meaning.describe(unreachable)), meaning)
        actions = [each for each in task.actions if not each.action.name.startswith(METHOD)]
        set_costs(actions, classical)
        meaning.price(actions, with_metric=False)
        return NumericInstances(Explored(task, atoms), meaning)


class NumericInstances:
    """The instances of actions and methods with the `meaning` of their facts for numbers."""

    def __init__(self, found: Explored, meaning: NumericMeaning) -> None:
        self.found, self.meaning = found, meaning
        self._changes: dict[int, Changes] = {}

    def find_groups(self, limits: Limits) -> Groups:
        """Find mutex groups of the facts that are not about numbers; drop the actions that need two facts of one."""
        return find_groups(self.found.task, self.meaning, limits)

    def take_changes(self, groups: Groups) -> Groups:
        """Move the numeric effects out of the task; return `groups` with a variable for each comparison."""
        task, meaning = self.found.task, self.meaning
        for action in task.actions:
            self._take(action)
        literals = {*task.goal, *chain.from_iterable([rule.body for rule in task.rules])}
        for each in task.actions:
            literals.update(each.condition, *[effect.condition for effect in each.effects])
        for changes in self._changes.values():
            literals.update(*chain.from_iterable(changes.values()))
        facts = {literal if literal >= 0 else ~literal for literal in literals}
        compared = [(fact,) for fact in sorted(facts.intersection(meaning.forms))]
        return Groups(groups.groups, [*groups.variables, *compared])

    def _take(self, action: RawAction) -> None:
        effects, found = self.meaning.effects, Changes()
        for part in parts_of([action]):
            condition = () if part is action else tuple(part.condition)
            for fact in part.adds:
                if fact in effects:
                    found.setdefault(fact, []).append(condition)
            part.adds = [fact for fact in part.adds if fact not in effects]
        if found:
            self._changes[action.number] = found

    def make_task(self, frame: Task, numbers: Numbering, instances: Sequence[int]) -> NumericTask:
        """Return the numeric task of `frame`, whose facts have `numbers`, and of the actions with these `instances`."""
        meaning = self.meaning
        number_of = {atom: number for number, atom in enumerate(meaning.atoms)}
        forms = {
            fact: source
            for fact, literal in enumerate(frame.facts)
            if isinstance(literal, Not)
            and isinstance(literal.part, Atom)
            and (source := number_of[literal.part]) in meaning.forms
        }
        scaling = Scaling(meaning, *self._needed(forms.values(), instances))
        return scaling.make_task(frame, forms, [self._effects_of(number, scaling, numbers) for number in instances])

    def _needed(
        self, forms: Iterable[int], instances: Sequence[int]
    ) -> tuple[list[Key], list[tuple[Key, bool, LinearForm]]]:
        """Return the fluents on which the comparisons `forms` depend, and the effects on them."""
        meaning = self.meaning
        waiting = dict.fromkeys(key for form in forms for key in meaning.forms[form].weights)
        waiting |= dict.fromkeys(sorted(meaning.guarded))
        facts = dict.fromkeys(fact for number in instances for fact in self._changes.get(number, ()))
        by_key: dict[Key, list[int]] = {}
        for fact in facts:
            by_key.setdefault(meaning.effects[fact][0], []).append(fact)
        keys = [*waiting]
        for key in keys:
            for fact in by_key.get(key, ()):
                keys += [other for other in meaning.effects[fact][2].weights if other not in waiting]
                waiting |= dict.fromkeys(meaning.effects[fact][2].weights)
        return keys, [meaning.effects[fact] for key in keys for fact in by_key.get(key, ())]

    def _effects_of(self, instance: int, scaling: Scaling, numbers: Numbering) -> tuple[NumericEffects, ...]:
        own = self._changes.get(instance, {}).items()
        return group_effects((scaling.effect(fact), [*map(numbers, found)]) for fact, found in own)
