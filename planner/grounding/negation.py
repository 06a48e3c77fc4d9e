"""Negative conditions compiled away: where `not p` is needed, it becomes a fact of its own.

Every effect on p then writes both. Within an action adding wins, so the fact for `not p` is only added where no effect
that fires at the same time adds p.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from itertools import chain

from planner.grounding.instantiate import RawAction, RawEffect, parts_of
from planner.grounding.literals import Literal
from planner.grounding.simplify import RawTask
from planner.grounding.tables import ActionTable, members
from planner.records import replace


def needed_negations(task: RawTask) -> dict[int, None]:
    """Return the facts whose negations are needed, in order of occurrence.

    Those of conditions, rules and goal are; and where an effect deletes such a fact while another may add it, those
    that say that the other does not fire.
    """
    needed = {~literal: None for literal in _conditions(task) if literal < 0}
    conflicts = [pair for action in task.actions if action.effects for pair in _conflicts(action)]
    while True:
        more = {literal: None for fact, rival in conflicts if fact in needed for literal in rival if literal >= 0}
        if needed.keys() >= more.keys():
            return needed
        needed |= more


def _conflicts(action: RawAction) -> Iterator[tuple[int, list[Literal]]]:
    """Yield each fact that the action deletes with each condition under which it adds it all the same."""
    rivals = {fact for effect in action.effects for fact in effect.adds}
    deleted = [*action.deletes, *[fact for effect in action.effects for fact in effect.deletes]]
    for fact in deleted:
        if fact in rivals:
            yield from ((fact, effect.condition) for effect in action.effects if fact in effect.adds)


def _conditions(task: RawTask) -> Iterable[Literal]:
    """Return all literals that something asks for, each once."""
    conditions = chain.from_iterable([part.condition for part in parts_of(task.actions)])
    columns = [column for table in task.tables for column in table.condition if column[0] < 0]
    return dict.fromkeys(
        chain(task.goal, conditions, *columns, chain.from_iterable([rule.body for rule in task.rules]))
    )


def table_with_negations(table: ActionTable, negation: dict[int, int]) -> Iterator[ActionTable]:
    """Yield `table` with effects on the negations of the facts that its actions write, as `write_negations` does it."""
    written = [*table.adds, *table.deletes]
    masks = [members(column, negation) for column in written]
    for values, part in table.split(masks) if masks else []:
        opposites = [
            [negation[fact] for fact in column] if written else None
            for column, written in zip([*part.adds, *part.deletes], values, strict=True)
        ]
        made, unmade = opposites[len(part.adds) :], opposites[: len(part.adds)]
        adds = [*part.adds, *[column for column in made if column is not None]]
        deletes = [*part.deletes, *[column for column in unmade if column is not None]]
        yield replace(part, adds=adds, deletes=deletes)


def write_negations(action: RawAction, negation: dict[int, int]) -> None:
    """Add to `action`, in place, its effects on the negations of the facts that it writes.

    `negation` maps a fact to the fact that stands for its negation.
    """
    conditional_adds = [(effect, fact) for effect in action.effects for fact in effect.adds if fact in negation]
    extra = [opposite for effect in action.effects for opposite in _conditional(effect, conditional_adds, negation)]
    for fact in [fact for fact in action.deletes if fact in negation]:
        rivals = [effect.condition for effect, added in conditional_adds if added == fact]
        if rivals:
            extra += [RawEffect(list(condition), [negation[fact]], []) for condition in _none_of(rivals)]
        else:
            action.adds.append(negation[fact])
    action.deletes.extend([negation[fact] for fact in action.adds if fact in negation])
    action.effects += extra


def _conditional(effect: RawEffect, adds: list[tuple[RawEffect, int]], negation: dict[int, int]) -> Iterator[RawEffect]:
    gone = [negation[fact] for fact in effect.adds if fact in negation]
    for fact in [fact for fact in effect.deletes if fact in negation]:
        rivals = [rival.condition for rival, added in adds if added == fact]
        for condition in _none_of(rivals):
            if not any(~literal in effect.condition for literal in condition):
                yield RawEffect(sorted({*effect.condition, *condition}), [negation[fact]], [])
    effect.deletes = effect.deletes + gone


def _none_of(conditions: Iterable[list[Literal]]) -> Iterator[tuple[Literal, ...]]:
    """Yield conditions whose disjunction says that none of `conditions` holds."""
    for choice in itertools.product(*conditions):
        literals = {~literal for literal in choice}
        if not any(~literal in literals for literal in literals):
            yield tuple(sorted(literals))
