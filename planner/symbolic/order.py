"""The order of variables in diagrams: those that actions read and write together stand close together.

The sum of squared distances is made small by exchanging pairs (Kissmann and Edelkamp, 2011).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from random import Random

from planner.annotations import Final
from planner.task import GroundAction, Task

ATTEMPTS: Final = 20
"""Orders to begin with; the first is the one given, the others are random."""
EXCHANGES: Final = 4_000_000
"""How often, over all attempts, the distance of a neighbour is looked at."""


def arranged(task: Task, variable_of: list[int], check: Callable[[], None]) -> list[int]:
    """Return the variables of `task` in a good order."""
    many, pairs = len(task.variables), neighbours(task, variable_of)
    near: list[list[int]] = [[] for _ in range(many)]
    for first, second in pairs:
        near[first].append(second)
        near[second].append(first)
    random = Random(0)  # noqa: S311 - the same order each time
    swaps = EXCHANGES // ATTEMPTS // max(1, 4 * len(pairs) // max(1, many))
    best: tuple[int, list[int]] | None = None
    for attempt in range(ATTEMPTS if many > 2 else 1):  # noqa: PLR2004 - two variables have one order
        check()
        order = list(range(many))
        if attempt:
            random.shuffle(order)
        _improve(order, near, random, min(swaps, 30 * many * many))
        cost = _stretch(order, pairs)
        if best is None or cost < best[0]:
            best = cost, order
    return best[1] if best else []


def neighbours(task: Task, variable_of: list[int]) -> set[tuple[int, int]]:
    """Return the pairs of variables that an action reads and writes, or writes both, the smaller first."""
    pairs: set[tuple[int, int]] = set()
    reads = _readers(task)
    for action in task.actions:
        written = {variable_of[fact] for fact in written_by(action)}
        read = {variable_of[base] for fact in read_by(action) for base in reads(fact)} - written
        pairs.update(combinations(sorted(written), 2))
        pairs.update((min(one, other), max(one, other)) for one in written for other in read)
    return pairs


def written_by(action: GroundAction) -> set[int]:
    """Return the facts that `action` may make true or false."""
    return {*action.adds, *action.deletes}.union(*[(*each.adds, *each.deletes) for each in action.conditional])


def read_by(action: GroundAction) -> set[int]:
    """Return the facts that `action` looks at."""
    return {*action.precondition}.union(*[each.condition for each in action.conditional])


def _readers(task: Task) -> Callable[[int], set[int]]:
    """Return a function: the base facts that a fact is, or is derived from."""
    bodies: dict[int, set[int]] = {fact: set() for fact in task.derived}
    for layer in task.axioms:
        for rule in layer.rules:
            bodies[rule.head].update(rule.body)
        for negated, derived in layer.negated:
            bodies[negated].add(derived)
    known: dict[int, set[int]] = {}

    def bases(fact: int) -> set[int]:
        if fact not in bodies:
            return {fact}
        if fact not in known:
            found, waiting = {fact}, [fact]
            while waiting:
                fresh = bodies.get(waiting.pop(), set()) - found
                found |= fresh
                waiting.extend(fresh)
            known[fact] = found - task.derived
        return known[fact]

    return bases


def _stretch(order: list[int], pairs: set[tuple[int, int]]) -> int:
    place = _places(order)
    return sum([(place[first] - place[second]) ** 2 for first, second in pairs])


def _places(order: list[int]) -> list[int]:
    place = [0] * len(order)
    for index, variable in enumerate(order):
        place[variable] = index
    return place


def _improve(order: list[int], near: list[list[int]], random: Random, swaps: int) -> None:
    """Exchange pairs as long as that shortens the distances, `swaps` times at most."""
    place, many = _places(order), len(order)
    for _ in range(swaps):
        here, there = int(random.random() * many), int(random.random() * many)
        one, other = order[here], order[there]
        change = sum([(there - place[each]) ** 2 - (here - place[each]) ** 2 for each in near[one] if each != other])
        change += sum([(here - place[each]) ** 2 - (there - place[each]) ** 2 for each in near[other] if each != one])
        if change < 0:
            order[here], order[there] = other, one
            place[one], place[other] = there, here


