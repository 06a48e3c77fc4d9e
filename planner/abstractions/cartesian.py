"""Cartesian abstractions: abstract states are boxes, which are split where an abstract plan goes wrong.

A cheapest plan of the abstraction is followed from the initial state. Where a variable cannot go on into the next box,
the present one is split into the values that can and the others; so it goes on until nothing is wrong any more, or
there are enough boxes (Seipp and Helmert, 2018). Conditions of effects are taken to hold where that helps. The twin of
`planner.kernels.cartesian`, which keeps what a split does not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from planner.abstractions.aims import Aim, Box, everything
from planner.abstractions.moves import Moves, Option
from planner.abstractions.space import DEAD, AbstractSpace, Edge
from planner.records import dataclass

STAY = [Option(None, None)]
Way = tuple[int, int]
"""An action, and the box that it leads to."""


@dataclass(slots=True)
class Cartesian:
    """Boxes that are all states together, and which of them are goals."""

    boxes: list[Box]
    goals: list[bool]


def refined(moves: Moves, aim: Aim, prices: Sequence[int], most: int) -> Cartesian:
    """Return an abstraction of at most so many boxes, but enough for the `aim`; `prices` of actions are above 0."""
    inside, others = everything(moves), []
    for variable, wanted in enumerate(aim.box):
        if not inside[variable] <= wanted:
            others.append(_with(inside, variable, inside[variable] - wanted))
            inside = _with(inside, variable, inside[variable] & wanted)
    made = Cartesian([*others, inside], [not aim.inside] * len(others) + [aim.inside])
    while len(made.boxes) < most and (flaw := _flaw(moves, made, prices)):
        number, variable, kept = flaw
        box = made.boxes[number]
        made.boxes[number] = _with(box, variable, box[variable] - kept)
        made.boxes.append(_with(box, variable, kept))
        made.goals.append(made.goals[number])
    return made


def _with(box: Box, variable: int, values: frozenset[int]) -> Box:
    return (*box[:variable], values, *box[variable + 1 :])


def goes(moves: Moves, action: int, one: Box, other: Box) -> bool:
    """Return whether `action` may lead from a state in `one` to a state in `other`."""
    touched = moves.touches[action]
    return all(_kept(touched.get(v, STAY), *pair) for v, pair in enumerate(zip(one, other, strict=True)))


def _kept(options: list[Option], one: frozenset[int], other: frozenset[int]) -> frozenset[int]:
    """Return which values of `one` an option leads from to `other`."""
    return frozenset([value for value in one if next(_afters(options, value, other), None) is not None])


def _afters(options: list[Option], value: int, other: frozenset[int]) -> Iterator[int]:
    """Yield what may become of `value` that is in `other`."""
    for option in options:
        if option.origin in (None, value):
            after = value if option.target is None else option.target
            if after in other:
                yield after


def _flaw(moves: Moves, made: Cartesian, prices: Sequence[int]) -> tuple[int, int, frozenset[int]] | None:
    """Return which box to split, by which variable, and the values that are kept together; None if nothing is wrong."""
    ways, state = _ways(moves, made, prices), list(moves.initial)
    at = next(number for number, box in enumerate(made.boxes) if _contains(box, state))
    while not made.goals[at] and at in ways:
        action, after = ways[at]
        here, there, touched = made.boxes[at], made.boxes[after], moves.touches[action]
        values = [next(_afters(touched.get(v, STAY), x, there[v]), None) for v, x in enumerate(state)]
        wrong = [variable for variable, value in enumerate(values) if value is None]
        if wrong:
            worst = min(wrong, key=lambda variable: len(here[variable]) / moves.sizes[variable])
            return at, worst, _kept(touched.get(worst, STAY), here[worst], there[worst])
        at, state = after, [value for value in values if value is not None]
    return None


def _contains(box: Box, state: Sequence[int]) -> bool:
    return all(value in values for value, values in zip(state, box, strict=True))


def _ways(moves: Moves, made: Cartesian, prices: Sequence[int]) -> dict[int, Way]:
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
                    if source not in done and goes(moves, action, box, made.boxes[number]):
                        heappush(heap, (near + price, source, (action, number)))
    return ways


def space_of(moves: Moves, made: Cartesian, *, anywhere: bool = False) -> AbstractSpace:
    """Return the abstract state space: the index of a state is the number of its box.

    With `anywhere`, it has states that are not reached, too.
    """
    steps = [
        (source, target, action)
        for action in range(len(moves.touches))
        for source, box in enumerate(made.boxes)
        for target, other in enumerate(made.boxes)
        if goes(moves, action, box, other)
    ]
    first = {number for number, box in enumerate(made.boxes) if anywhere or _contains(box, moves.initial)}
    reached = _closure(first, [(a, b) for a, b, _ in steps])
    goals = {number for number, goal in enumerate(made.goals) if goal}
    alive = sorted(reached & _closure(goals, [(b, a) for a, b, _ in steps]))
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


def _closure(first: set[int], steps: list[tuple[int, int]]) -> set[int]:
    """Return what is reached from `first`."""
    found, before = set(first), -1
    while len(found) != before:
        before = len(found)
        found |= {target for source, target in steps if source in found}
    return found
