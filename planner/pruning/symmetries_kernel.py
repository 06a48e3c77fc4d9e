"""Orbit space search: one canonical state represents many symmetric states.

(Pochter, Zohar and Rosenschein, 2011; Domshlak, Katz and Shleyfman, 2012.)
"""

from __future__ import annotations

from typing import NamedTuple

from planner.jit.common_kernel import NOTHING, Index, Words, kernel


class Symmetries(NamedTuple):
    """Permutations of states: symmetry g writes the fields of its list, ascending by variable, and keeps all others.

    Field i is `state[word[i]] >> shift[i] & mask[i]`. Its new value is `image[first[i] + k]`, where k is the old value
    of `state[source[i]] >> across[i] & mask[i]`, or k itself where `first[i]` is `NOTHING`. `room` has room for the
    values of the longest list.
    """

    start: Index
    word: Index
    shift: Words
    mask: Words
    source: Index
    across: Words
    first: Index
    image: Index
    room: Words


@kernel
def canonicalize(symmetries: Symmetries, state: Words, base: int) -> int:
    """Replace the state at `state[base]` by the least state that greedy descent finds; return 1 if it changed.

    Each step applies a symmetry that makes the state less. The first variable in which two states differ orders them.
    """
    moved = 0
    many = len(symmetries.start) - 1
    number, left = 0, many
    while left:
        if lessens(symmetries, number, state, base):
            permute(symmetries, number, state, base)
            moved, left = 1, many
        left -= 1
        number = number + 1 if number + 1 < many else 0
    return moved


@kernel
def lessens(symmetries: Symmetries, number: int, state: Words, base: int) -> bool:
    """Return whether symmetry `number` makes the state at `state[base]` less."""
    for index in range(symmetries.start[number], symmetries.start[number + 1]):
        mask = symmetries.mask[index]
        new = state[base + symmetries.source[index]] >> symmetries.across[index] & mask
        if symmetries.first[index] != NOTHING:
            new = symmetries.image[symmetries.first[index] + new]
        old = state[base + symmetries.word[index]] >> symmetries.shift[index] & mask
        if new != old:
            return new < old
    return False


@kernel
def permute(symmetries: Symmetries, number: int, state: Words, base: int) -> None:
    """Apply symmetry `number` to the state at `state[base]`."""
    first, last = symmetries.start[number], symmetries.start[number + 1]
    room = symmetries.room
    for index in range(first, last):
        value = state[base + symmetries.source[index]] >> symmetries.across[index] & symmetries.mask[index]
        room[index - first] = value
        if symmetries.first[index] != NOTHING:
            room[index - first] = symmetries.image[symmetries.first[index] + value]
    for index in range(first, last):
        word, shift = base + symmetries.word[index], symmetries.shift[index]
        state[word] = state[word] & ~(symmetries.mask[index] << shift) | room[index - first] << shift
