"""A queue of facts by value: a binary heap in which every fact knows its place, so that it can move up."""

from __future__ import annotations

from planner.kernels.data import NOTHING
from planner.kernels.kernel import Index, Words, kernel


@kernel
def push(heap: Index, place: Index, value: Words, size: int, fact: int) -> int:
    """Put `fact` where its (lowered) `value` belongs, whether or not it waits already; return the new size."""
    at = size
    if place[fact] != NOTHING:
        at = place[fact] + 0
    else:
        size += 1
    mine = value[fact]
    while at:
        above = (at - 1) >> 1
        if value[heap[above]] <= mine:
            break
        heap[at] = heap[above]
        place[heap[at]] = at
        at = above
    heap[at] = fact
    place[fact] = at
    return size


@kernel
def pop(heap: Index, place: Index, value: Words, size: int) -> int:
    """Take out and return the fact with the smallest value; the queue is one shorter after it."""
    least = heap[0]
    place[least] = NOTHING
    size -= 1
    if size:
        last = heap[size]
        mine = value[last]
        at, below = 0, 1
        while below < size:
            if below + 1 < size and value[heap[below + 1]] < value[heap[below]]:
                below += 1
            if mine <= value[heap[below]]:
                break
            heap[at] = heap[below]
            place[heap[at]] = at
            at, below = below, 2 * below + 1
        heap[at] = last
        place[last] = at
    return least
