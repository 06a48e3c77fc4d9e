"""An open list that keeps its distance from the estimates: a type of state at random, and then whoever waited longest.

States are of one type if they have the same estimate and depth (Xie, Müller, Holte and Imai, 2014). Where estimates
lead into a trap, every type outside it still has its turns.
"""

from __future__ import annotations

from typing import NamedTuple

from planner.kernels.batches import Batches, new_batch
from planner.kernels.data import NOTHING
from planner.kernels.kernel import Index, Words, kernel
from planner.kernels.linked import append
from planner.kernels.numbers import ACTIVE, RANDOM, TYPES
from planner.kernels.registry import LOW_BITS, MULTIPLIER


class Types(NamedTuple):
    """Types by number: a list of batches each, from `first` to `last`.

    `table` finds a type by its `key` (open addressing; the length is a power of 2). `active` are the types that have
    batches.
    """

    table: Index
    key: Words
    first: Index
    last: Index
    active: Index


@kernel
def put_typed(types: Types, batches: Batches, number: Words, key: int, state: int, at: int, end: int) -> None:
    """Let the actions `edge[at:end]` of `state`, which is of type `key`, wait, if there are any."""
    if at == end:
        return
    kind = _type(types, number, key)
    if types.first[kind] == NOTHING:
        types.active[number[ACTIVE]] = kind
        number[ACTIVE] += 1
    append(types.first, types.last, batches.next, kind, new_batch(batches, number, state, at, end))


@kernel
def first_slot(key: int, mask: int) -> int:
    """Return where in the table to look for a key first."""
    value = ((key ^ key >> 29) * MULTIPLIER) & LOW_BITS
    return (value ^ value >> 31) & mask


@kernel
def _type(types: Types, number: Words, key: int) -> int:
    """Return the number of the type with this key, a new one if need be."""
    mask = len(types.table) - 1
    slot = first_slot(key, mask)
    while types.table[slot] != NOTHING:
        if types.key[types.table[slot]] == key:
            return types.table[slot] + 0
        slot = (slot + 1) & mask
    kind = number[TYPES]
    number[TYPES] = kind + 1
    types.table[slot] = kind
    types.key[kind] = key
    types.first[kind] = NOTHING
    return kind


@kernel
def drawn(number: Words, many: int) -> int:
    """Return a random number from 0 to `many` - 1 (a linear congruential generator)."""
    number[RANDOM] = (number[RANDOM] * MULTIPLIER + 1) & LOW_BITS
    return (number[RANDOM] >> 24) % many


@kernel
def next_typed(types: Types, batches: Batches, number: Words) -> int:
    """Return a batch of a random type, the next edge of which is used up; it goes to the end of its list."""
    place = drawn(number, number[ACTIVE])
    kind = types.active[place] + 0
    batch = types.first[kind] + 0
    types.first[kind] = batches.next[batch]
    batches.at[batch] += 1
    if batches.at[batch] < batches.end[batch]:
        append(types.first, types.last, batches.next, kind, batch)
    elif types.first[kind] == NOTHING:
        number[ACTIVE] -= 1
        types.active[place] = types.active[number[ACTIVE]]
    return batch
