"""Open lists of edges for lazy search: those that leave one state wait together, as a *batch*.

Several queues share the edges. Each has buckets of batches by key; the smallest key comes first, and in a bucket the
earliest batch. Which queue is next is a matter of turns.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.kernels.data import NOTHING
from planner.kernels.kernel import Index, Words, kernel
from planner.kernels.linked import append
from planner.kernels.numbers import BATCHES, LOWEST, TURNS

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
    """Return the number of a batch of the actions `edge[at:end]` of `state`; there must be room for it."""
    batch = number[BATCHES] + 0
    number[BATCHES] = batch + 1
    batches.state[batch] = state
    batches.at[batch] = at
    batches.end[batch] = end
    return batch


@kernel
def put_batch(batches: Batches, number: Words, queue: int, key: int, state: int, at: int, end: int) -> None:
    """Let the actions `edge[at:end]` of `state` wait in a queue, if there are any; there must be room for a batch."""
    if at == end:
        return
    bucket = min(key, len(batches.first) // QUEUES - 1) * QUEUES + queue
    append(batches.first, batches.last, batches.next, bucket, new_batch(batches, number, state, at, end))
    number[LOWEST + queue] = min(number[LOWEST + queue], bucket)


@kernel
def next_queue(batches: Batches, number: Words) -> int:
    """Return the queue whose turn it is, of those that are not empty, or -1."""
    best = -1
    for queue in range(QUEUES):
        bucket = number[LOWEST + queue]
        while bucket < len(batches.first) and batches.first[bucket] == NOTHING:
            bucket += QUEUES
        number[LOWEST + queue] = bucket
        if bucket < len(batches.first) and (best < 0 or number[TURNS + queue] < number[TURNS + best]):
            best = queue
    return best


@kernel
def next_batch(batches: Batches, number: Words, queue: int) -> int:
    """Return the first batch of a queue that is not empty; its next edge is used up."""
    bucket = number[LOWEST + queue]
    batch = batches.first[bucket] + 0
    batches.at[batch] += 1
    if batches.at[batch] == batches.end[batch]:
        batches.first[bucket] = batches.next[batch]
    return batch
