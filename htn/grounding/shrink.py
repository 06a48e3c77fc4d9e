"""The facts of a ground task that matter: those that some condition asks for, and what excludes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from planner.records import replace
from planner.task import AxiomLayer, ConditionalEffect, GroundAction, Rule, Task


def shrunk(
    task: Task, actions: Sequence[GroundAction], asked: Iterable[Iterable[int]], dropped: set[int]
) -> tuple[Task, dict[int, int]]:
    """Return `task` with these `actions` alone and the facts that matter, and what number each of them has now.

    What is `asked` for elsewhere matters, too, and what is `dropped` does not.
    """
    wanted = {*chain.from_iterable(asked), *task.goal}
    for action in actions:
        wanted.update(action.precondition, *[effect.condition for effect in action.conditional])
    for layer in task.axioms:
        wanted.update(*[rule.body for rule in layer.rules], *layer.negated, [rule.head for rule in layer.rules])
    wanted -= dropped
    variables = [variable for variable in task.variables if not wanted.isdisjoint(variable)]
    kept = [*chain.from_iterable(variables), *sorted(task.derived & wanted)]
    number = {fact: place for place, fact in enumerate(kept)}
    return _renumbered(task, actions, variables, kept, number), number


def _renumbered(
    task: Task,
    actions: Sequence[GroundAction],
    variables: list[tuple[int, ...]],
    kept: list[int],
    number: dict[int, int],
) -> Task:
    def numbers(facts: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted([number[fact] for fact in facts if fact in number]))

    return replace(
        task,
        facts=tuple([task.facts[fact] for fact in kept]),
        variables=tuple(map(numbers, variables)),
        mutexes=tuple([numbers(group) for group in task.mutexes if not number.keys().isdisjoint(group)]),
        initial=numbers(task.initial),
        goal=numbers(task.goal),
        actions=tuple(
            [
                GroundAction(
                    action.step,
                    numbers(action.precondition),
                    numbers(action.adds),
                    numbers(action.deletes),
                    tuple(
                        [
                            ConditionalEffect(numbers(each.condition), numbers(each.adds), numbers(each.deletes))
                            for each in action.conditional
                        ]
                    ),
                    action.cost,
                )
                for action in actions
            ]
        ),
        axioms=tuple(
            [
                AxiomLayer(
                    tuple([Rule(numbers(rule.body), number[rule.head]) for rule in layer.rules]),
                    tuple([(number[fact], number[derived]) for fact, derived in layer.negated]),
                )
                for layer in task.axioms
            ]
        ),
        derived=frozenset([number[fact] for fact in task.derived if fact in number]),
    )
