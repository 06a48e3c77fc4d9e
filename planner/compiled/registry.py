"""The registry of states, as it begins and as it grows."""

from __future__ import annotations

from planner.compiled.arrays import empty_index, zeros
from planner.compiled.library import Call
from planner.kernels.data import Registry


def first_registry(initial: list[int], states: int, entries: dict[str, Call]) -> Registry:
    """Return a registry that has room for so many `states`, with the packed initial one as number 0."""
    registry = Registry(zeros(states * len(initial)), empty_index(1 << (2 * states).bit_length()))
    for word, value in enumerate(initial):
        registry.state[word] = value
    entries["enter_all"](registry, 1, len(initial))
    return registry


def with_table(registry: Registry, count: int, states: int, words: int, entries: dict[str, Call]) -> Registry:
    """Return `registry`, which has `count` states, with a table that is long enough for so many `states`."""
    if 2 * states > len(registry.table):
        registry = registry._replace(table=empty_index(1 << (4 * states).bit_length()))
        entries["enter_all"](registry, count, words)
    return registry
