"""Refinement of Cartesian abstractions in plain Python: the twin of `cartesian_refinement_kernel`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from planner.heuristics.abstractions.cartesian import Aim, Box, full_box
from planner.heuristics.abstractions.projections import DEAD, AbstractSpace, Condition, Edge, Moves, Option
from planner.lightweight import dataclass

Touched = dict[int, list[Option]]


def reach_without(moves: Moves, value: Condition) -> tuple[Box, list[Condition]]:
    """Return what is reached without this value, and what all need that may lead to it first.

    The twin of `planner.heuristics.abstractions.cartesian_refinement_kernel`.
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


STAY = [Option(None, None)]
Way = tuple[int, int]
"""An action, and the box that it leads to."""


@dataclass(slots=True)
class Cartesian:
    """Boxes that are all states together, and which of them are goals."""

    boxes: list[Box]
    goals: list[bool]


def refine(moves: Moves, aim: Aim, prices: Sequence[int], most: int) -> Cartesian:
    """Return an abstraction of at most so many boxes, but enough for the `aim`; `prices` of actions are above 0."""
    inside, others = full_box(moves), []
    for variable, wanted in enumerate(aim.box):
        if not inside[variable] <= wanted:
            others.append(_with(inside, variable, inside[variable] - wanted))
            inside = _with(inside, variable, inside[variable] & wanted)
    made = Cartesian([*others, inside], [not aim.inside] * len(others) + [aim.inside])
    while len(made.boxes) < most and (flaw := _find_flaw(moves, made, prices)):
        number, variable, kept = flaw
        box = made.boxes[number]
        made.boxes[number] = _with(box, variable, box[variable] - kept)
        made.boxes.append(_with(box, variable, kept))
        made.goals.append(made.goals[number])
    return made


def _with(box: Box, variable: int, values: frozenset[int]) -> Box:
    return (*box[:variable], values, *box[variable + 1 :])


def may_lead(moves: Moves, action: int, one: Box, other: Box) -> bool:
    """Return whether `action` may lead from a state in `one` to a state in `other`."""
    touched = moves.touches[action]
    return all(_keep_values(touched.get(v, STAY), *pair) for v, pair in enumerate(zip(one, other, strict=True)))


def _keep_values(options: list[Option], one: frozenset[int], other: frozenset[int]) -> frozenset[int]:
    """Return which values of `one` an option leads from to `other`."""
    return frozenset([value for value in one if next(_generate_outcomes(options, value, other), None) is not None])


def _generate_outcomes(options: list[Option], value: int, other: frozenset[int]) -> Iterator[int]:
    """Yield what may become of `value` that is in `other`."""
    for option in options:
        if option.origin in (None, value):
            after = value if option.target is None else option.target
            if after in other:
                yield after


def _find_flaw(moves: Moves, made: Cartesian, prices: Sequence[int]) -> tuple[int, int, frozenset[int]] | None:
    """Return which box to split, by which variable, and the values that are kept together; None if nothing is wrong."""
    ways, state = _find_ways(moves, made, prices), list(moves.initial)
    at = next(number for number, box in enumerate(made.boxes) if _contains(box, state))
    while not made.goals[at] and at in ways:
        action, after = ways[at]
        here, there, touched = made.boxes[at], made.boxes[after], moves.touches[action]
        values = [next(_generate_outcomes(touched.get(v, STAY), x, there[v]), None) for v, x in enumerate(state)]
        wrong = [variable for variable, value in enumerate(values) if value is None]
        if wrong:
            worst = min(wrong, key=lambda variable: len(here[variable]) / moves.sizes[variable])
            return at, worst, _keep_values(touched.get(worst, STAY), here[worst], there[worst])
        at, state = after, [value for value in values if value is not None]
    return None


def _contains(box: Box, state: Sequence[int]) -> bool:
    return all(value in values for value, values in zip(state, box, strict=True))


def _find_ways(moves: Moves, made: Cartesian, prices: Sequence[int]) -> dict[int, Way]:
    """Return the first step of a cheapest way to a goal, for each box that has one (Dijkstra, 1959)."""
    ways: dict[int, Way] = {}
    heap: list[tuple[int, int, Way | None]] = [(0, number, None) for number, goal in enumerate(made.goals) if goal]
    done: set[int] = set()
    while heap:
        near, number, way = heappop(heap)
        if number not in done:
            done.add(number)
            if way:
                ways[number] = way
            for source, box in enumerate(made.boxes):
                for action, price in enumerate(prices):
                    if source not in done and may_lead(moves, action, box, made.boxes[number]):
                        heappush(heap, (near + price, source, (action, number)))
    return ways


def make_space(moves: Moves, made: Cartesian, *, anywhere: bool = False) -> AbstractSpace:
    """Return the abstract state space: the index of a state is the number of its box.

    With `anywhere`, it has states that are not reached, too.
    """
    steps = [
        (source, target, action)
        for action in range(len(moves.touches))
        for source, box in enumerate(made.boxes)
        for target, other in enumerate(made.boxes)
        if may_lead(moves, action, box, other)
    ]
    first = {number for number, box in enumerate(made.boxes) if anywhere or _contains(box, moves.initial)}
    reached = _reach(first, [(a, b) for a, b, _ in steps])
    goals = {number for number, goal in enumerate(made.goals) if goal}
    alive = sorted(reached & _reach(goals, [(b, a) for a, b, _ in steps]))
    rank = {number: place for place, number in enumerate(alive)}
    lively = [(rank[a], rank[b], action) for a, b, action in steps if a in rank and b in rank]
    used = sorted({action for a, b, action in lively if a != b})
    return AbstractSpace(
        [rank.get(number, DEAD) for number in range(len(made.boxes))],
        [made.goals[number] for number in alive],
        [Edge(a, b, used.index(action)) for a, b, action in lively if a != b],
        [(action,) for action in used],
        [any(a == b and action == other for a, b, other in lively) for action in used],
    )


def _reach(first: set[int], steps: list[tuple[int, int]]) -> set[int]:
    """Return what is reached from `first`."""
    found, before = set(first), -1
    while len(found) != before:
        before = len(found)
        found |= {target for source, target in steps if source in found}
    return found
