"""Containers in arrays: lists, linked lists, orders, and a binary heap.

lists          numbers in two arrays, where they start and what they are
orders         orders in which what belongs together stands close together
heap           numbers by key; `key` and `heap` have room for all that wait
linked lists   the first and last of each list, and what follows a number
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import NOTHING, Index, Words, entry, kernel


class Lists(NamedTuple):
    """List k is `item[start[k]:start[k + 1]]`; the last element of `start` is where the last list ends."""

    start: Index
    item: Index


@entry
@kernel
def invert_lists(lists: Lists, inverse: Lists) -> int:
    """Make list i of `inverse` the numbers of the `lists` that have i, ascending; returns 0.

    `inverse.start` must be all 0 at first.
    """
    start, inside = inverse.start, lists.item
    for place in range(len(inside)):
        start[inside[place] + 1] += 1
    for number in range(1, len(start)):
        start[number] += start[number - 1]
    for number in range(len(lists.start) - 1):
        for place in range(lists.start[number], lists.start[number + 1]):
            at = start[inside[place]] + 0
            inverse.item[at] = number
            start[inside[place]] = at + 1
    for number in range(len(start) - 1, 0, -1):
        start[number] = start[number - 1]
    start[0] = 0
    return 0


@entry
@kernel
def select_lists(lists: Lists, which: Index, name: Index, made: Lists) -> int:
    """Make `made` those of the `lists` that are asked for, in this order, by the `name` of each item.

    Returns how many items these are. What is called `NOTHING` is left out.
    """
    count = 0
    for number in range(len(which)):
        made.start[number] = count
        for place in range(lists.start[which[number]], lists.start[which[number] + 1]):
            called = name[lists.item[place]] + 0
            if called != NOTHING:
                made.item[count] = called
                count += 1
    made.start[len(which)] = count
    return count


MULTIPLIER: Final = 1103515245
INCREMENT: Final = 12345
MODULUS: Final = 1 << 31
"""Of the generator of random numbers (linear congruential; the upper bits are used)."""


@entry
@kernel
def arrange_items(exchanges: int, seed: int, near: Lists, order: Words, place: Words) -> int:
    """Exchange pairs as long as that lessens the sum of squared distances between each item and those `near` it.

    That many times two items are drawn; `place[order[i]]` is i. Both are modified in place. Returns the sum, in which
    each pair counts twice.
    """
    many = len(order)
    for _ in range(exchanges):
        seed = (MULTIPLIER * seed + INCREMENT) % MODULUS
        here = (seed >> 8) % many
        seed = (MULTIPLIER * seed + INCREMENT) % MODULUS
        there = (seed >> 8) % many
        one, other = order[here] + 0, order[there] + 0
        change = _distance_change(one, other, here, there, near, place) + _distance_change(
            other, one, there, here, near, place
        )
        if change < 0:
            order[here], order[there] = other, one
            place[one], place[other] = there, here
    total = 0
    for item in range(many):
        for index in range(near.start[item], near.start[item + 1]):
            total += (place[item] - place[near.item[index]]) ** 2
    return total


@kernel
def _distance_change(item: int, but: int, here: int, there: int, near: Lists, place: Words) -> int:
    """Return by how much the squared distances grow if `item` goes from `here` to `there`, those to `but` left out."""
    change = 0
    for index in range(near.start[item], near.start[item + 1]):
        if near.item[index] != but:
            at = place[near.item[index]]
            change += (there - at) ** 2 - (here - at) ** 2
    return change


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


@kernel
def append_item(first: Index, last: Index, following: Index, which: int, item: int) -> None:
    """Put `item` at the end of list `which`; `last` counts only where there is a first one."""
    following[item] = NOTHING
    if first[which] == NOTHING:
        first[which] = item
    else:
        following[last[which]] = item
    last[which] = item
