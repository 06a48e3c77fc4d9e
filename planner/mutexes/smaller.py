"""A task with fewer actions, and without the facts that nothing makes true then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.records import replace
from planner.task import AxiomLayer, ConditionalEffect, GroundAction, Rule, Task


def smaller(task: Task, actions: Sequence[int]) -> tuple[Task, list[int], list[int]]:
    """Return `task` with these actions only, and which of them and of its facts are left.

    Facts are numbered anew, in order. What can be reached with the actions can be reached just so in the smaller task.
    """
    holding = _holding(task, [task.actions[number] for number in actions])
    left = [number for number in actions if holding.issuperset(task.actions[number].precondition)]
    kept = [task.actions[number] for number in left]
    facts = [fact for fact in range(len(task.facts)) if fact in holding]
    if len(facts) == len(task.facts):
        return replace(task, actions=tuple(kept)), left, facts
    return _Numbering(facts).task(task, kept), left, facts


def _holding(task: Task, actions: Sequence[GroundAction]) -> set[int]:
    """Return the facts that may hold if deletes are ignored, those that are derived or goals among them."""
    holding = {*task.initial, *task.goal, *task.derived}
    waiting = [(action.precondition, action.adds) for action in actions if not holding.issuperset(action.adds)]
    waiting += [
        (action.precondition + effect.condition, effect.adds) for action in actions for effect in action.conditional
    ]
    before = -1
    while before != len(waiting):
        before, open_still = len(waiting), []
        for needed, adds in waiting:
            if holding.issuperset(needed):
                holding.update(adds)
            else:
                open_still.append((needed, adds))
        waiting = open_still
    return holding


class _Numbering:
    """New numbers for the `facts` that are left."""

    def __init__(self, facts: Sequence[int]) -> None:
        self._facts = facts
        self._number = {fact: number for number, fact in enumerate(facts)}

    def task(self, task: Task, actions: Iterable[GroundAction]) -> Task:
        """Return `task` with these actions."""
        groups = [self._left(group) for group in task.mutexes]
        return replace(
            task,
            facts=tuple([task.facts[fact] for fact in self._facts]),
            variables=tuple([left for group in task.variables if (left := self._left(group))]),
            initial=self._left(task.initial),
            goal=self._left(task.goal),
            actions=tuple([self._action(action) for action in actions]),
            axioms=tuple([self._layer(layer) for layer in task.axioms]),
            derived=frozenset(self._left(task.derived)),
            mutexes=tuple([group for group in groups if len(group) > 1]),
        )

    def _left(self, facts: Iterable[int]) -> tuple[int, ...]:
        number = self._number
        return tuple([number[fact] for fact in facts if fact in number])

    def _can_hold(self, facts: Iterable[int]) -> bool:
        return all(fact in self._number for fact in facts)

    def _action(self, action: GroundAction) -> GroundAction:
        effects = [
            ConditionalEffect(self._left(effect.condition), self._left(effect.adds), self._left(effect.deletes))
            for effect in action.conditional
            if self._can_hold(effect.condition)
        ]
        return replace(
            action,
            precondition=self._left(action.precondition),
            adds=self._left(action.adds),
            deletes=self._left(action.deletes),
            conditional=tuple([effect for effect in effects if effect.adds or effect.deletes]),
        )

    def _layer(self, layer: AxiomLayer) -> AxiomLayer:
        rules = [
            Rule(self._left(rule.body), self._left([rule.head])[0]) for rule in layer.rules if self._can_hold(rule.body)
        ]
        negated = [(self._number[fact], self._number[derived]) for fact, derived in layer.negated]
        return AxiomLayer(tuple(rules), tuple(negated))
