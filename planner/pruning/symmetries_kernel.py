"""Orbit space search: one canonical state represents many symmetric states.

(Pochter, Zohar and Rosenschein, 2011; Domshlak, Katz and Shleyfman, 2012.)
"""

from __future__ import annotations

from typing import NamedTuple

from planner.jit.common_kernel import DONE, NOTHING, Index, Words, entry, kernel


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


class Descent(NamedTuple):
    """A state that becomes canonical, and the permutation of items that undoes this.

    Symmetry g maps each `item` of its list, which begins at `start[g]`, to its `image`. The permutation maps each item
    to an element of `here`; `room` has room for the longest list.
    """

    symmetries: Symmetries
    state: Words
    start: Index
    item: Index
    image: Index
    here: Index
    room: Index


@kernel
def canonicalize(symmetries: Symmetries, state: Words, base: int) -> int:
    """Replace the state at `state[base]` by the least state that greedy descent finds; return 1 if it changed.

    Each step applies a symmetry that makes the state less. The first variable in which two states differ orders them.
    """
    moved = 0
    number = find_lessening(symmetries, 0, state, base)
    while number != NOTHING:
        permute(symmetries, number, state, base)
        moved = 1
        number = find_lessening(symmetries, number + 1, state, base)
    return moved


@entry
@kernel
def trace_descent(base: int, at: Descent) -> int:
    """Canonicalize the state at `at.state[base]` as `canonicalize` does, and let `at.here` undo that first."""
    number = find_lessening(at.symmetries, 0, at.state, base)
    while number != NOTHING:
        permute(at.symmetries, number, at.state, base)
        first, last = at.start[number], at.start[number + 1]
        for index in range(first, last):
            at.room[index - first] = at.here[at.item[index]]
        for index in range(first, last):
            at.here[at.image[index]] = at.room[index - first]
        number = find_lessening(at.symmetries, number + 1, at.state, base)
    return DONE


@kernel
def find_lessening(symmetries: Symmetries, first: int, state: Words, base: int) -> int:
    """Return the next symmetry, from `first` on and then from 0, that makes the state at `state[base]` less."""
    many = len(symmetries.start) - 1
    for step in range(many):
        number = first + step if first + step < many else first + step - many
        if lessens(symmetries, number, state, base):
            return number
    return NOTHING


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
