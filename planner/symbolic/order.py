"""The order of variables in diagrams: those that actions read and write together stand close together.

The sum of squared distances is made small by exchanging pairs (Kissmann and Edelkamp, 2011).
"""

from __future__ import annotations

from itertools import combinations
from random import Random

from planner.annotations import Final
from planner.closure import sources
from planner.compiled.arrays import flat, words
from planner.compiled.library import ENTRIES
from planner.compiled.lists import Entries
from planner.kernels.lists import Lists
from planner.task import GroundAction, Task, bits, facts_of

ATTEMPTS: Final = 20
"""Orders to begin with; the first is the one given, the others are random."""
ORDERS: Final = 4
"""Orders that are given back."""
EXCHANGES: Final = 50_000
"""Pairs that are looked at in each attempt by machine code."""
FEW_EXCHANGES: Final = 2_000
"""The same in plain Python."""


def arranged(task: Task, variable_of: list[int], entries: Entries) -> list[list[int]]:
    """Return the variables of `task` in a few good orders."""
    pairs = neighbours(task, variable_of)
    near: list[list[int]] = [[] for _ in task.variables]
    for first, second in sorted(pairs):
        near[first].append(second)
        near[second].append(first)
    lists = Lists(*flat(near))
    random, given = Random(0), list(range(len(near)))  # noqa: S311 - the same order each time
    found = {}
    for attempt in range(ATTEMPTS):
        cost, order = _improved(random.sample(given, len(given)) if attempt else given, lists, attempt, entries)
        found[tuple(order)] = cost
    return [list(order) for order in sorted(found, key=found.__getitem__)[:ORDERS]]


def _improved(order: list[int], near: Lists, seed: int, entries: Entries) -> tuple[int, list[int]]:
    if len(order) < 2:
        return 0, order
    better, place = words(order), words(order)
    for index, variable in enumerate(order):
        place[variable] = index
    exchanges = FEW_EXCHANGES if entries is ENTRIES else EXCHANGES
    return entries["arrange"](exchanges, seed, near, better, place), list(better)


def neighbours(task: Task, variable_of: list[int]) -> set[tuple[int, int]]:
    """Return the pairs of variables that an action reads and writes, or writes both, the smaller first."""
    pairs: set[tuple[int, int]] = set()
    depends = sources(task)
    for action in task.actions:
        written = {variable_of[fact] for fact in written_by(action)}
        bases = bits(read_by(action) - task.derived)
        for fact in read_by(action) & task.derived:
            bases |= depends[fact]
        read = {variable_of[fact] for fact in facts_of(bases)} - written
        pairs.update(combinations(sorted(written), 2))
        pairs.update((min(one, other), max(one, other)) for one in written for other in read)
    return pairs


def written_by(action: GroundAction) -> set[int]:
    """Return the facts that `action` may make true or false."""
    return {*action.adds, *action.deletes}.union(*[(*each.adds, *each.deletes) for each in action.conditional])


def read_by(action: GroundAction) -> set[int]:
    """Return the facts that `action` looks at."""
    return {*action.precondition}.union(*[each.condition for each in action.conditional])
