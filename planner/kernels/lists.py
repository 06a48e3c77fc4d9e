"""Lists of numbers in two arrays, and what is made of many of them at once."""

from __future__ import annotations

from typing import NamedTuple

from planner.kernels.data import NOTHING, Changes, Conditions
from planner.kernels.kernel import Index, Words, entry, kernel


class Lists(NamedTuple):
    """List k is `item[start[k]:start[k + 1]]`; the last element of `start` is where the last list ends."""

    start: Index
    item: Index


class Places(NamedTuple):
    """Where facts are in a packed state: fact f holds where `state[word[f]] & mask[f] == bits[f]`.

    `variable` is which one it is a value of.
    """

    word: Index
    mask: Words
    bits: Words
    variable: Index


@entry
@kernel
def inverted(lists: Lists, inverse: Lists) -> int:
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
def chosen(lists: Lists, which: Index, name: Index, made: Lists) -> int:
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


@entry
@kernel
def tested(lists: Lists, places: Places, tests: Conditions) -> int:
    """Make `tests` say that all facts of each list hold; returns how many words are tested.

    Facts that exclude each other make a test that no state passes.
    """
    count = 0
    for number in range(len(lists.start) - 1):
        tests.start[number] = count
        first = count
        for place in range(lists.start[number], lists.start[number + 1]):
            fact = lists.item[place]
            word, mask, bits = places.word[fact], places.mask[fact], places.bits[fact]
            at = first
            while at < count and tests.word[at] != word:
                at += 1
            if at == count:
                tests.word[at], tests.mask[at], tests.bits[at] = word, mask, bits
                count += 1
            elif tests.mask[at] & mask and tests.bits[at] & mask != bits:
                tests.word[first], tests.mask[first], tests.bits[first] = 0, 0, 1
                count = first + 1
                break
            else:
                tests.mask[at] |= mask
                tests.bits[at] |= bits
    tests.start[len(lists.start) - 1] = count
    return count


@entry
@kernel
def assigned(needs: Lists, adds: Lists, deletes: Lists, places: Places, changes: Changes, unsure: Lists) -> int:
    """Make `changes` what each action assigns whatever holds; returns how many words are changed.

    Deletes of what need not hold depend on what holds: they are `unsure`, and the changes say nothing of them.
    """
    count, left = 0, 0
    for number in range(len(adds.start) - 1):
        changes.start[number], unsure.start[number] = count, left
        first = count
        for place in range(adds.start[number], adds.start[number + 1]):
            fact = adds.item[place]
            count = _assign(changes, first, count, places.word[fact], places.mask[fact], places.bits[fact])
        for place in range(deletes.start[number], deletes.start[number + 1]):
            fact = deletes.item[place]
            if _changes(adds, number, places.variable, places.variable[fact]):
                continue
            if _has(needs, number, fact):
                count = _assign(changes, first, count, places.word[fact], places.mask[fact], 0)
            else:
                unsure.item[left] = fact
                left += 1
    changes.start[len(adds.start) - 1], unsure.start[len(adds.start) - 1] = count, left
    return count


@kernel
def _assign(changes: Changes, first: int, count: int, word: int, mask: int, bits: int) -> int:
    """Change the bits of a `mask` in a `word`; return how many words are changed now."""
    at = first
    while at < count and changes.word[at] != word:
        at += 1
    if at == count:
        changes.word[at], changes.keep[at], changes.put[at] = word, ~mask, bits
        return count + 1
    changes.keep[at] &= ~mask
    changes.put[at] |= bits
    return count


@kernel
def _changes(adds: Lists, number: int, variable_of: Index, variable: int) -> bool:
    """Return whether list `number` has a value of the `variable`."""
    for place in range(adds.start[number], adds.start[number + 1]):  # noqa: SIM110 - kernels have no generators
        if variable_of[adds.item[place]] == variable:
            return True
    return False


@kernel
def _has(lists: Lists, number: int, wanted: int) -> bool:
    """Return whether `wanted` is in list `number`."""
    for place in range(lists.start[number], lists.start[number + 1]):  # noqa: SIM110 - kernels have no generators
        if lists.item[place] == wanted:
            return True
    return False


@entry
@kernel
def emptied(adds: Lists, deletes: Lists, variable_of: Index, vague: Index) -> int:
    """Mark in `vague` the variables that some action deletes a value of without adding another; returns 0."""
    for number in range(len(adds.start) - 1):
        for place in range(deletes.start[number], deletes.start[number + 1]):
            variable = variable_of[deletes.item[place]] + 0
            if not _changes(adds, number, variable_of, variable):
                vague[variable] = 1
    return 0
