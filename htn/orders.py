"""Partial orders of the tasks of a network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from graphlib import TopologicalSorter
from typing import TypeAlias

Order: TypeAlias = tuple[int, int]
"""Two places: what is at the first ends before what is at the second begins."""


def closure(size: int, ordering: Sequence[Order]) -> list[int]:
    """Return for each of `size` places, as bits, the places that come after it, transitively."""
    following: list[list[int]] = [[] for _ in range(size)]
    for first, second in ordering:
        following[first].append(second)
    after = [0] * size
    for place in reversed(linear(size, ordering)):
        for other in following[place]:
            after[place] |= after[other] | 1 << other
    return after


def linear(size: int, ordering: Iterable[Order]) -> list[int]:
    """Return the places in an order that agrees with `ordering`, as written where it leaves the choice.

    Raises `graphlib.CycleError` where there is none.
    """
    sorter: TopologicalSorter[int] = TopologicalSorter({place: [] for place in range(size)})
    for first, second in ordering:
        sorter.add(second, first)
    sorter.prepare()
    found: list[int] = []
    ready: list[int] = []
    while sorter.is_active():
        ready += sorter.get_ready()
        ready.sort(reverse=True)
        place = ready.pop()
        found.append(place)
        sorter.done(place)
    return found
