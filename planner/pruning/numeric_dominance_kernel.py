"""Tests whether a numeric state is dominated: another one costs no more, and has no less of any resource."""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import NOTHING, Index, Words, kernel
from planner.task.state_registry_kernel import LOW_BITS, MULTIPLIER, Nodes, Registry

MOST_COMPARED: Final = 300
"""Most states that one is compared with: the newest ones of its slot."""


class Fronts(NamedTuple):
    """States of which none dominates another, as lists of those that hash alike.

    Two states compare if they agree in the bits `mask[i]` of each `word[i]`. Resource r is
    `state[place[r]] >> shift[r] & field[r]`; `sign[r]` says whether more (1) or less (-1) of it is better. `first` has
    the newest state of each slot, `next` by state the one before it.
    """

    word: Index
    mask: Words
    place: Index
    shift: Words
    field: Words
    sign: Words
    first: Index
    next: Index


@kernel
def is_dominated(fronts: Fronts, registry: Registry, nodes: Nodes, state: int) -> bool:
    """Return whether a known state dominates `state`; if not, take `state` in, and drop what it dominates."""
    row = len(registry.state) // len(nodes.parent)
    base, value = state * row, 0
    for index in range(len(fronts.word)):
        value = ((value ^ (registry.state[base + fronts.word[index]] & fronts.mask[index])) * MULTIPLIER) & LOW_BITS
        value ^= value >> 29
    slot = value & (len(fronts.first) - 1)
    before, other = NOTHING, fronts.first[slot] + 0
    for _ in range(MOST_COMPARED):
        if other == NOTHING:
            break
        after = fronts.next[other] + 0
        verdict = _compare(fronts, registry, base, other * row, nodes.cost[state] - nodes.cost[other])
        if verdict > 0:
            return True
        if verdict == 0:
            before = other
        elif before == NOTHING:
            fronts.first[slot] = after
        else:
            fronts.next[before] = after
        other = after
    fronts.next[state] = fronts.first[slot]
    fronts.first[slot] = state
    return False


@kernel
def _compare(fronts: Fronts, registry: Registry, one: int, other: int, more: int) -> int:
    """Return 1 if the state at `other` dominates the one at `one`, which costs so much `more`; -1 if the reverse."""
    better, worse, state = more >= 0, more <= 0, registry.state
    for index in range(len(fronts.word)):
        word = fronts.word[index]
        if (state[one + word] ^ state[other + word]) & fronts.mask[index]:
            return 0
    for index in range(len(fronts.sign)):
        place, shift, field = fronts.place[index], fronts.shift[index], fronts.field[index]
        ahead = ((state[other + place] >> shift & field) - (state[one + place] >> shift & field)) * fronts.sign[index]
        better = better and ahead >= 0
        worse = worse and ahead <= 0
        if not better and not worse:
            return 0
    if better:
        return 1
    return -1 if worse else 0
