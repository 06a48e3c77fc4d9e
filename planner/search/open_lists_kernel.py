"""Open lists in arrays: buckets for A*, queues of edges for lazy search, and a type-based open list.

A*: buckets by f, and for the smallest f by h; the latest entry of a bucket comes first. Costs may be too great for
buckets: then a heap. An entry is *stale* if search found a cheaper path to its state or raised its estimate; `take`
drops stale entries.

Lazy search: the edges out of one state form a *batch*. Several queues take turns; each has buckets of batches by key,
and the earliest batch of a bucket comes first.

Types: states with the same estimate and depth are of one type (Xie et al., 2014). A random type takes its turn, and its
oldest batch comes first, so that search can leave plateaus and local minima.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import NOTHING, Index, Words, kernel
from planner.jit.containers_kernel import append_item, pop, push
from planner.task.packed_states_kernel import FACTS
from planner.task.state_registry_kernel import LOW_BITS, MULTIPLIER, Nodes

MOST_COST: Final = 1 << 36
"""No key of a heap is greater."""
TIES: Final = 20
"""Binary digits of keys by which states of the same f are ordered."""


class Open(NamedTuple):
    """An open list by f and then h: buckets for tasks without numbers, a heap for others.

    Entries of buckets are linked lists of states: `by_f[f - lowest]` and `by_h[h]` are the first ones. Entries of the
    smallest f are in `by_h`, all others in `by_f`. A heap has states in `heap` by `key`.
    """

    by_f: Index
    by_h: Index
    state: Index
    next: Index
    key: Words
    heap: Index


@kernel
def put(layers: int, waiting: Open, number: Words, nodes: Nodes, state: int) -> None:
    """Insert `state`; there must be a bucket for f and one for h, and room for an entry."""
    if layers != FACTS:
        key = _key_of(number, nodes, state)
        number[slot.OPEN] = push(waiting.key, waiting.heap, number[slot.OPEN], key, state)
        return
    entry = number[slot.FREE]
    if entry == NOTHING:
        entry = number[slot.COUNTERS]
        number[slot.COUNTERS] = entry + 1
    else:
        number[slot.FREE] = waiting.next[entry]
    waiting.state[entry] = state
    number[slot.OPEN] += 1
    f, h = nodes.cost[state] + nodes.bound[state], nodes.bound[state] + 0
    number[slot.HIGHEST_F] = max(number[slot.HIGHEST_F], f)
    _link(waiting, number, f, h, entry)


@kernel
def _key_of(number: Words, nodes: Nodes, state: int) -> int:
    h = min(nodes.bound[state], MOST_COST)
    return ((nodes.cost[state] + number[slot.WEIGHT] * h) << TIES) + min(h, (1 << TIES) - 1)


@kernel
def _link(waiting: Open, number: Words, f: int, h: int, entry: int) -> None:
    if f == number[slot.CURRENT_F]:
        waiting.next[entry] = waiting.by_h[h]
        waiting.by_h[h] = entry
        number[slot.LOWEST_H] = min(number[slot.LOWEST_H], h)
    else:
        bucket = f - number[slot.BASE_F]
        waiting.next[entry] = waiting.by_f[bucket]
        waiting.by_f[bucket] = entry


@kernel
def take(layers: int, waiting: Open, number: Words, nodes: Nodes) -> int:
    """Remove and return a state with the smallest f, and among these the smallest h; -1 if none waits.

    With weight 1, `number[CURRENT_F]` is the f of the state.
    """
    if layers != FACTS:
        return _take_from_heap(waiting, number, nodes)
    while number[slot.OPEN]:
        h = number[slot.LOWEST_H]
        while h < len(waiting.by_h) and waiting.by_h[h] == NOTHING:
            h += 1
        number[slot.LOWEST_H] = h
        if h == len(waiting.by_h):
            _next_f(waiting, number, nodes)
            continue
        entry = waiting.by_h[h] + 0
        state = waiting.state[entry] + 0
        waiting.by_h[h] = waiting.next[entry]
        _release(waiting, number, entry)
        if nodes.bound[state] == h and nodes.cost[state] + h == number[slot.CURRENT_F]:
            return state
    return -1


@kernel
def _take_from_heap(waiting: Open, number: Words, nodes: Nodes) -> int:
    while number[slot.OPEN]:
        state, key = waiting.heap[0] + 0, waiting.key[0] + 0
        number[slot.OPEN] = pop(waiting.key, waiting.heap, number[slot.OPEN])
        number[slot.WORK] += 5
        if key == _key_of(number, nodes, state):
            if number[slot.WEIGHT] == 1:
                number[slot.CURRENT_F] = max(number[slot.CURRENT_F], nodes.cost[state] + nodes.bound[state])
            return state
    return -1


@kernel
def _next_f(waiting: Open, number: Words, nodes: Nodes) -> None:
    """Advance to the next f that has entries, and distribute these by h."""
    bucket = number[slot.CURRENT_F] - number[slot.BASE_F] + 1
    while waiting.by_f[bucket] == NOTHING:
        bucket += 1
    f = bucket + number[slot.BASE_F]
    number[slot.CURRENT_F] = f
    entry = waiting.by_f[bucket] + 0
    waiting.by_f[bucket] = NOTHING
    while entry != NOTHING:
        after = waiting.next[entry] + 0
        state = waiting.state[entry] + 0
        if nodes.cost[state] + nodes.bound[state] == f:
            _link(waiting, number, f, nodes.bound[state], entry)
        else:
            _release(waiting, number, entry)
        entry = after


@kernel
def _release(waiting: Open, number: Words, entry: int) -> None:
    waiting.next[entry] = number[slot.FREE]
    number[slot.FREE] = entry
    number[slot.OPEN] -= 1


QUEUES: Final = 4


class Batches(NamedTuple):
    """The queues: bucket `key` of queue q begins with batch `first[key * QUEUES + q]` and ends with `last[…]`.

    Batch b has the actions `edge[at[b]:end[b]]` of `state[b]`, and is followed by `next[b]`.
    """

    first: Index
    last: Index
    state: Index
    at: Index
    end: Index
    next: Index
    edge: Index


@kernel
def new_batch(batches: Batches, number: Words, state: int, at: int, end: int) -> int:
    """Make a batch of the actions `edge[at:end]` of `state`, and return its number; there must be room for it."""
    batch = number[slot.BATCHES] + 0
    number[slot.BATCHES] = batch + 1
    batches.state[batch] = state
    batches.at[batch] = at
    batches.end[batch] = end
    return batch


@kernel
def put_batch(batches: Batches, number: Words, queue: int, key: int, state: int, at: int, end: int) -> None:
    """Insert the actions `edge[at:end]` of `state` into a queue, if there are any; there must be room for a batch."""
    if at == end:
        return
    bucket = min(key, len(batches.first) // QUEUES - 1) * QUEUES + queue
    append_item(batches.first, batches.last, batches.next, bucket, new_batch(batches, number, state, at, end))
    number[slot.LOWEST + queue] = min(number[slot.LOWEST + queue], bucket)


@kernel
def next_queue(batches: Batches, number: Words) -> int:
    """Return the non-empty queue with the fewest turns so far, or -1."""
    best = -1
    for queue in range(QUEUES):
        bucket = number[slot.LOWEST + queue]
        while bucket < len(batches.first) and batches.first[bucket] == NOTHING:
            bucket += QUEUES
        number[slot.LOWEST + queue] = bucket
        if bucket < len(batches.first) and (best < 0 or number[slot.TURNS + queue] < number[slot.TURNS + best]):
            best = queue
    return best


@kernel
def next_batch(batches: Batches, number: Words, queue: int) -> int:
    """Take an edge from the first batch of a non-empty queue; return the batch."""
    bucket = number[slot.LOWEST + queue]
    batch = batches.first[bucket] + 0
    batches.at[batch] += 1
    if batches.at[batch] == batches.end[batch]:
        batches.first[bucket] = batches.next[batch]
    return batch


class Types(NamedTuple):
    """Types by number, each with a list of batches from `first` to `last`.

    `table` is a hash table from the `key` of a type to its number (open addressing; the length is a power of 2).
    `active` lists the types that have batches.
    """

    table: Index
    key: Words
    first: Index
    last: Index
    active: Index


@kernel
def put_typed(types: Types, batches: Batches, number: Words, key: int, state: int, at: int, end: int) -> None:
    """Insert the actions `edge[at:end]` of `state`, which is of type `key`, if there are any."""
    if at == end:
        return
    kind = _type(types, number, key)
    if types.first[kind] == NOTHING:
        types.active[number[slot.ACTIVE]] = kind
        number[slot.ACTIVE] += 1
    append_item(types.first, types.last, batches.next, kind, new_batch(batches, number, state, at, end))


@kernel
def first_slot(key: int, mask: int) -> int:
    """Return the hash of a key: the first place in the table to look at."""
    value = ((key ^ key >> 29) * MULTIPLIER) & LOW_BITS
    return (value ^ value >> 31) & mask


@kernel
def _type(types: Types, number: Words, key: int) -> int:
    """Return the number of the type with this key; a new key gets the next number."""
    mask = len(types.table) - 1
    bucket = first_slot(key, mask)
    while types.table[bucket] != NOTHING:
        if types.key[types.table[bucket]] == key:
            return types.table[bucket] + 0
        bucket = (bucket + 1) & mask
    kind = number[slot.TYPES]
    number[slot.TYPES] = kind + 1
    types.table[bucket] = kind
    types.key[kind] = key
    types.first[kind] = NOTHING
    return kind


@kernel
def random_below(number: Words, many: int) -> int:
    """Return a random number from 0 to `many` - 1 (a linear congruential generator)."""
    number[slot.RANDOM] = (number[slot.RANDOM] * MULTIPLIER + 1) & LOW_BITS
    return (number[slot.RANDOM] >> 24) % many


@kernel
def shuffle(number: Words, items: Index, begin: int, end: int) -> None:
    """Put `items[begin:end]` into a random order, in place (Fisher and Yates, 1938)."""
    for last in range(end - begin - 1, 0, -1):
        place = begin + random_below(number, last + 1)
        item = items[begin + last] + 0
        items[begin + last] = items[place]
        items[place] = item


@kernel
def next_typed(types: Types, batches: Batches, number: Words) -> int:
    """Take an edge from a batch of a random type; return the batch, which moves to the end of its list."""
    place = random_below(number, number[slot.ACTIVE])
    kind = types.active[place] + 0
    batch = types.first[kind] + 0
    types.first[kind] = batches.next[batch]
    batches.at[batch] += 1
    if batches.at[batch] < batches.end[batch]:
        append_item(types.first, types.last, batches.next, kind, batch)
    elif types.first[kind] == NOTHING:
        number[slot.ACTIVE] -= 1
        types.active[place] = types.active[number[slot.ACTIVE]]
    return batch
