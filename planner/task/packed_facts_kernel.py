"""Facts in packed states: where they are, conditions on them, and changes of them."""

from __future__ import annotations

from typing import NamedTuple

from planner.jit.common_kernel import Index, Words, entry, kernel
from planner.jit.containers_kernel import Lists


class Coding(NamedTuple):
    """How states are packed.

    Variable v is `state[word[v]] >> shift[v] & mask[v]`; its value k is fact `fact[first[v] + k]`, or `NOTHING` where
    none of its facts holds.
    """

    word: Index
    shift: Words
    mask: Words
    first: Index
    fact: Index


class Places(NamedTuple):
    """Where facts are in a packed state: fact f holds where `state[word[f]] & mask[f] == bits[f]`.

    `variable` is which one it is a value of.
    """

    word: Index
    mask: Words
    bits: Words
    variable: Index


class Conditions(NamedTuple):
    """Conjunctions: number i holds where `state[word[j]] & mask[j] == bits[j]` for each j of its list."""

    start: Index
    word: Index
    mask: Words
    bits: Words


class Changes(NamedTuple):
    """Assignments: number i makes `state[word[j]]` be `state[word[j]] & keep[j] | put[j]` for each j of its list."""

    start: Index
    word: Index
    keep: Words
    put: Words


@kernel
def holds(conditions: Conditions, number: int, state: Words, base: int) -> bool:
    """Return whether conjunction `number` holds in the state whose words begin at `state[base]`."""
    for index in range(conditions.start[number], conditions.start[number + 1]):
        if state[base + conditions.word[index]] & conditions.mask[index] != conditions.bits[index]:
            return False
    return True


@kernel
def assign(changes: Changes, number: int, state: Words, base: int) -> None:
    """Carry out assignment `number` on the state whose words begin at `state[base]`, in place."""
    for index in range(changes.start[number], changes.start[number + 1]):
        word = base + changes.word[index]
        state[word] = state[word] & changes.keep[index] | changes.put[index]


@entry
@kernel
def pack_conditions(lists: Lists, places: Places, tests: Conditions) -> int:
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
def pack_assignments(needs: Lists, adds: Lists, deletes: Lists, places: Places, changes: Changes, unsure: Lists) -> int:
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
            if _has_value(adds, number, places.variable, places.variable[fact]):
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
def _has_value(adds: Lists, number: int, variable_of: Index, variable: int) -> bool:
    """Return whether list `number` has a value of the `variable`."""
    for place in range(adds.start[number], adds.start[number + 1]):
        if variable_of[adds.item[place]] == variable:
            return True
    return False


@kernel
def _has(lists: Lists, number: int, wanted: int) -> bool:
    """Return whether `wanted` is in list `number`."""
    for place in range(lists.start[number], lists.start[number + 1]):
        if lists.item[place] == wanted:
            return True
    return False


@entry
@kernel
def mark_emptied_variables(adds: Lists, deletes: Lists, variable_of: Index, vague: Index) -> int:
    """Mark in `vague` the variables that some action deletes a value of without adding another; returns 0."""
    for number in range(len(adds.start) - 1):
        for place in range(deletes.start[number], deletes.start[number + 1]):
            variable = variable_of[deletes.item[place]] + 0
            if not _has_value(adds, number, variable_of, variable):
                vague[variable] = 1
    return 0
