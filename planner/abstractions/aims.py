"""What abstractions may aim at: one goal, all goals, or what every plan comes by.

Before a plan reaches a landmark, it goes by nothing but what is reached without it (as if nothing were ever deleted):
a box of values. If some goal is not among these, every plan leaves the box, from whatever state in it; what that costs
at least is what the landmark is worth (after Seipp and Helmert, 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.abstractions.moves import Condition, Moves, Option
from planner.annotations import Final
from planner.records import dataclass

Box = tuple[frozenset[int], ...]
"""A set of states: by variable, the values that it may have."""
Before = Callable[[Condition], tuple[Box, list[Condition]]]
"""What is reached before a value is; and what every action needs that may lead to it first, of what does not hold."""
Touched = dict[int, list[Option]]
MOST_LANDMARKS: Final = 200


@dataclass(frozen=True, slots=True)
class Aim:
    """A set of states that contains all goal states: those of the `box`, or if not `inside`, all others."""

    box: Box
    inside: bool


def aims(moves: Moves, before: Before) -> Iterator[Aim]:
    """Yield landmarks, goals, and all goals together."""
    full = everything(moves)
    goals = sorted(moves.goal.items())
    yield from _landmarks(moves, [goal for goal in goals if moves.initial[goal[0]] != goal[1]], before)
    for goal in goals:
        yield Aim(_narrowed(full, [goal]), inside=True)
    if len(goals) > 1:
        yield Aim(_narrowed(full, goals), inside=True)


def everything(moves: Moves) -> Box:
    """Return the box of all states."""
    return tuple([frozenset(range(size)) for size in moves.sizes])


def _narrowed(box: Box, values: list[Condition]) -> Box:
    """Return what of `box` has these values."""
    wanted = dict(values)
    return tuple([old & {wanted[variable]} if variable in wanted else old for variable, old in enumerate(box)])


def _landmarks(moves: Moves, goals: list[Condition], before: Before) -> Iterator[Aim]:
    """Yield the landmarks that come before the `goals`: what all need that may lead to one of them first."""
    waiting, known = list(goals), set(goals)
    while waiting and len(known) < MOST_LANDMARKS:
        value = waiting.pop()
        box, needed = before(value)
        if value not in goals and any(goal not in box[variable] for variable, goal in moves.goal.items()):
            yield Aim(box, inside=False)
        waiting += [each for each in needed if each not in known]
        known.update(needed)


def before(moves: Moves, value: Condition) -> tuple[Box, list[Condition]]:
    """Return what is reached without this value, and what all need that may lead to it first.

    The twin of `planner.kernels.beforehand`.
    """
    reached = [{first} for first in moves.initial]
    going = True
    while going:
        new = {
            target
            for touched in moves.touches
            if _is_possible(touched, reached)
            for target in _targets(touched)
            if target != value and target[1] not in reached[target[0]]
        }
        for variable, target in new:
            reached[variable].add(target)
        going = bool(new)
    leading = [touched for touched in moves.touches if value in _targets(touched) and _is_possible(touched, reached)]
    common = set.intersection(*[_needs(touched) for touched in leading]) if leading else set()
    return tuple(map(frozenset, reached)), sorted([need for need in common if moves.initial[need[0]] != need[1]])


def _is_possible(touched: Touched, reached: list[set[int]]) -> bool:
    return all(
        any(option.origin is None or option.origin in reached[variable] for option in options)
        for variable, options in touched.items()
    )


def _targets(touched: Touched) -> set[Condition]:
    """Return which values an action may lead to."""
    return {
        (variable, option.target)
        for variable, options in touched.items()
        for option in options
        if option.target is not None
    }


def _needs(touched: Touched) -> set[Condition]:
    """Return which values an action needs for sure."""
    return {
        (variable, options[0].origin)
        for variable, options in touched.items()
        if len(options) == 1 and options[0].origin is not None
    }
