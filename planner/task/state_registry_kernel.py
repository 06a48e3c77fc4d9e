"""The states that a search has seen, numbered by a hash table with open addressing, and how it reached each of them."""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import NOTHING, Index, Words, entry, kernel

MOVED: Final = 1 << 31
"""Added to the action that led to a state, if what it led to is one that the state stands for."""

WAITING: Final = 0
EVALUATED: Final = 1
CLOSED: Final = 2
LOOKED_UP: Final = 3


class Registry(NamedTuple):
    """All states that were seen: number s is `state[s * words:(s + 1) * words]`.

    `table` is an open-addressing hash table of state numbers (`NOTHING` where it is free); its length is a power of 2.
    """

    state: Words
    table: Index


class Nodes(NamedTuple):
    """What a search knows of each state: how it was reached, `cost` to get there, `bound` on the way to the goal.

    `stage` is one of `WAITING`, `LOOKED_UP` (estimated by what is cheap), `EVALUATED` and `CLOSED`.
    """

    parent: Index
    action: Index
    cost: Words
    bound: Words
    stage: Index


MULTIPLIER: Final = 0x1E3779B97F4A7C15
LOW_BITS: Final = (1 << 62) - 1


@kernel
def hash_state(state: Words, base: int, words: int) -> int:
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
    slot = hash_state(state, base, words) & mask
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
def rehash_states(registry: Registry, count: int, words: int) -> int:
    """Enter the `count` states into an empty table, which has just grown; returns 0."""
    state, table = registry.state, registry.table
    mask = len(table) - 1
    for number in range(count):
        slot = hash_state(state, number * words, words) & mask
        while table[slot] != NOTHING:
            slot = (slot + 1) & mask
        table[slot] = number
    return 0
