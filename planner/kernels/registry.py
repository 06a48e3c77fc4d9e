"""All states that were seen, each once, by number: an open-addressing hash table over packed states."""

from __future__ import annotations

from typing import Final

from planner.kernels.data import NOTHING, Registry
from planner.kernels.kernel import Words, entry, kernel

MULTIPLIER: Final = 0x1E3779B97F4A7C15
LOW_BITS: Final = (1 << 62) - 1


@kernel
def hashed(state: Words, base: int, words: int) -> int:
    """Return a number that is never negative and depends on all words of the state at `state[base]`.

    Products are cut off at 62 bits: so much is the same whether or not numbers wrap around at 64.
    """
    value = 0
    for word in range(base, base + words):
        value = ((value ^ state[word]) * MULTIPLIER) & LOW_BITS
        value ^= value >> 29
    return value


@kernel
def number_of(registry: Registry, count: int, words: int) -> int:
    """Return the number of the state that stands behind the `count` known ones; a new state has the number `count`.

    A new state is entered; `table` must have room for it.
    """
    state, table = registry.state, registry.table
    mask = len(table) - 1
    base = count * words
    slot = hashed(state, base, words) & mask
    while table[slot] != NOTHING:
        known = table[slot] * words
        word = 0
        while word < words and state[known + word] == state[base + word]:
            word += 1
        if word == words:
            return known // words
        slot = (slot + 1) & mask
    table[slot] = count
    return count


@entry
@kernel
def enter_all(registry: Registry, count: int, words: int) -> int:
    """Enter the `count` states into an empty table, which has just grown; returns 0."""
    state, table = registry.state, registry.table
    mask = len(table) - 1
    for number in range(count):
        slot = hashed(state, number * words, words) & mask
        while table[slot] != NOTHING:
            slot = (slot + 1) & mask
        table[slot] = number
    return 0
