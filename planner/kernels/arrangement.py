"""Orders in which what belongs together stands close together."""

from __future__ import annotations

from typing import Final

from planner.kernels.kernel import Words, entry, kernel
from planner.kernels.lists import Lists

MULTIPLIER: Final = 1103515245
INCREMENT: Final = 12345
MODULUS: Final = 1 << 31
"""Of the generator of random numbers (linear congruential; the upper bits are used)."""


@entry
@kernel
def arrange(exchanges: int, seed: int, near: Lists, order: Words, place: Words) -> int:
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
        change = _moved(one, other, here, there, near, place) + _moved(other, one, there, here, near, place)
        if change < 0:
            order[here], order[there] = other, one
            place[one], place[other] = there, here
    total = 0
    for item in range(many):
        for index in range(near.start[item], near.start[item + 1]):
            total += (place[item] - place[near.item[index]]) ** 2
    return total


@kernel
def _moved(item: int, but: int, here: int, there: int, near: Lists, place: Words) -> int:
    """Return by how much the squared distances grow if `item` goes from `here` to `there`, those to `but` left out."""
    change = 0
    for index in range(near.start[item], near.start[item + 1]):
        if near.item[index] != but:
            at = place[near.item[index]]
            change += (there - at) ** 2 - (here - at) ** 2
    return change
