"""A binary heap of numbers by key: `key` and `heap` have room for all that wait."""

from __future__ import annotations

from planner.kernels.kernel import Index, Words, kernel


@kernel
def push(key: Words, heap: Index, waiting: int, value: int, item: int) -> int:
    """Let `item` wait among `waiting` others, the least `key` first; return how many these are now."""
    place = waiting
    while place and key[(place - 1) >> 1] > value:
        above = (place - 1) >> 1
        key[place], heap[place] = key[above], heap[above]
        place = above
    key[place], heap[place] = value, item
    return waiting + 1


@kernel
def pop(key: Words, heap: Index, waiting: int) -> int:
    """Take out the first that waits; return how many are left."""
    left = waiting - 1
    value, item = key[left] + 0, heap[left] + 0
    place, below = 0, 1
    while below < left:
        if below + 1 < left and key[below + 1] < key[below]:
            below += 1
        if key[below] >= value:
            break
        key[place], heap[place] = key[below], heap[below]
        place, below = below, 2 * below + 1
    key[place], heap[place] = value, item
    return left
