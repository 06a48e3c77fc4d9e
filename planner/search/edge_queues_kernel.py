"""Two queues of edges, for all and for helpful actions, as lazy best-first search with preferred actions has them.

The edges out of one state form batches, whose keys order them (Richter and Westphal, 2010). The queue of helpful edges
gains turns when an estimate reaches a new minimum.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import Index, Words, kernel
from planner.jit.containers_kernel import pop, push

BOOST: Final = 1000
"""Turns that the queue of helpful edges gains when the best estimate improves."""
GREATEST: Final = (1 << 31) - 1
"""Greatest key before the age of a batch is added."""


class EdgeQueues(NamedTuple):
    """Two heaps of batches of edges by key.

    Batch b has the edges `at[b]` up to `end[b]` of state `state[b]`. What `edge[e]` means is up to the search.
    """

    all_key: Words
    all_heap: Index
    helpful_key: Words
    helpful_heap: Index
    state: Index
    at: Index
    end: Index
    edge: Index


@kernel
def next_batch(queues: EdgeQueues, number: Words) -> int:
    """Return the first batch of the queue whose turn it is; -1 if both are empty."""
    if number[slot.MEMBERS] and (number[slot.TURNS + 1] <= number[slot.TURNS] or not number[slot.OPEN]):
        number[slot.TURNS + 1] += 1
        batch = queues.helpful_heap[0] + 0
        if queues.at[batch] + 1 == queues.end[batch]:
            number[slot.MEMBERS] = pop(queues.helpful_key, queues.helpful_heap, number[slot.MEMBERS])
        return batch
    if number[slot.OPEN]:
        number[slot.TURNS] += 1
        batch = queues.all_heap[0] + 0
        if queues.at[batch] + 1 == queues.end[batch]:
            number[slot.OPEN] = pop(queues.all_key, queues.all_heap, number[slot.OPEN])
        return batch
    return -1


@kernel
def note_estimate(number: Words, estimate: int) -> None:
    """Give the helpful edges more turns if the `estimate` is the best so far."""
    if estimate < number[slot.BEST]:
        number[slot.BEST] = estimate
        number[slot.TURNS + 1] -= BOOST


@kernel
def key_by_age(number: Words, key: int) -> int:
    """Return a key by which batches of equal `key` come the oldest first, or with `number[YOUNGEST]` the youngest."""
    age = number[slot.BATCHES] + 0
    if number[slot.YOUNGEST]:
        age = GREATEST - age
    return (min(key, GREATEST) << 31) + age


@kernel
def append_actions(edge: Index, count: int, found: Index, many: int, planned: Words, plan: int, more: int) -> int:
    """Append to the first `count` edges those of the first `many` of `found` that relaxed plan `plan` has, plus `more`.

    Without a plan (0), append all. Return how many edges there are then.
    """
    for index in range(many):
        if plan == 0 or planned[found[index]] == plan:
            edge[count] = found[index] + more
            count += 1
    return count


@kernel
def put_batch(queues: EdgeQueues, number: Words, helpful: int, key: int, state: int, first: int, last: int) -> None:
    """Queue the edges from `first` up to `last` of `state`, if there are any, among all or the `helpful` ones."""
    if last == first:
        return
    batch = number[slot.BATCHES] + 0
    queues.state[batch], queues.at[batch], queues.end[batch] = state, first, last
    if helpful:
        number[slot.MEMBERS] = push(queues.helpful_key, queues.helpful_heap, number[slot.MEMBERS], key, batch)
    else:
        number[slot.OPEN] = push(queues.all_key, queues.all_heap, number[slot.OPEN], key, batch)
    number[slot.BATCHES] += 1
