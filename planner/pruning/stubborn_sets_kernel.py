"""Strong stubborn sets: some applicable actions suffice (partial-order reduction; Wehrle and Helmert, 2014).

A stubborn set contains the actions that add some false goal fact. For each of its inapplicable actions, it contains the
actions that add some missing precondition; for each of its applicable actions, all actions that interfere with it. On a
cheapest plan of the fewest actions, the first action of the set can move to the front. So search may prune the
applicable actions outside the set. The kernel tries each false goal fact, and takes the first set with the fewest
applicable actions.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import Index, Words, kernel

FEW: Final = 1_000
"""Number of states after which the kernel decides whether pruning pays, ..."""
MUCH: Final = 30_000_000
"""... or number of steps after which it decides: some tasks have large sets."""
PART: Final = 5
"""Pruning pays if it prunes at least one action in this number."""
NONE: Final = -1
PROVIDED: Final = -2


class Stubborn(NamedTuple):
    """The tables for stubborn sets, and working memory for one set.

    By action: the actions that interfere with it, and its preconditions. By fact: the actions that add it, and its
    place in packed states. `round[0]` numbers the sets: `inside` holds this number for the actions of the present set,
    and `provided` for the facts whose achievers are all in the set. `waiting` and `best` have room for all actions.
    """

    interfering_start: Index
    interfering: Index
    precondition_start: Index
    precondition: Index
    adding_start: Index
    adding: Index
    word: Index
    mask: Words
    bits: Words
    goal: Index
    round: Words
    inside: Words
    provided: Words
    waiting: Index
    best: Index


@kernel
def prune_applicable(stubborn: Stubborn, number: Words, state: Words, base: int, found: Index, count: int) -> int:
    """Keep the stubborn actions among the first `count` of `found`; return their number.

    `found` holds all actions applicable in the state at `state[base]`. Pruning stops for good (`number[PRUNES]` becomes
    0) if it prunes too few actions.
    """
    if number[slot.PRUNES] == 0:
        return count
    # one closure for each open goal fact; keep the one with the fewest applicable actions
    before, least = number[slot.SETS] + 0, count + 0
    for place in range(len(stubborn.goal)):
        fact = stubborn.goal[place] + 0
        if least < 2 or _has(stubborn, fact, state, base):
            continue
        size = _close_set(stubborn, number, fact, state, base, least)
        if size < least:
            least = 0
            for index in range(count):
                if stubborn.inside[found[index]] == stubborn.round[0]:
                    stubborn.best[least] = found[index]
                    least += 1
    if least < count:
        for index in range(least):
            found[index] = stubborn.best[index]
    number[slot.WORK] += (number[slot.SETS] - before) // 2
    number[slot.PRUNED] += 1
    number[slot.APPLICABLE] += count
    number[slot.STUBBORN] += least
    # prune no more if sets turn out to be large
    lasts = number[slot.PRUNED] >= FEW or number[slot.SETS] >= MUCH
    if lasts and PART * number[slot.STUBBORN] > (PART - 1) * number[slot.APPLICABLE]:
        number[slot.PRUNES] = 0
    return least


@kernel
def _close_set(stubborn: Stubborn, number: Words, goal: int, state: Words, base: int, most: int) -> int:
    """Compute the stubborn set that starts with the achievers of the fact `goal`; count its applicable actions.

    The kernel abandons a set with `most` applicable actions.
    """
    stubborn.round[0] += 1
    first, applicable = 0, 0
    last = _add_actions(stubborn, number, stubborn.adding_start, stubborn.adding, goal, 0)
    stubborn.provided[goal] = stubborn.round[0]
    while first < last:
        action = stubborn.waiting[first] + 0
        first += 1
        fact = _find_missing(stubborn, action, state, base)
        if fact == NONE:
            applicable += 1
            if applicable == most:
                return most
            last = _add_actions(stubborn, number, stubborn.interfering_start, stubborn.interfering, action, last)
        elif fact != PROVIDED:
            stubborn.provided[fact] = stubborn.round[0]
            last = _add_actions(stubborn, number, stubborn.adding_start, stubborn.adding, fact, last)
    return applicable


@kernel
def _add_actions(stubborn: Stubborn, number: Words, start: Index, item: Index, which: int, last: int) -> int:
    """Append the actions of list `which` outside the set to the queue of length `last`; return the new length."""
    number[slot.SETS] += _list_length(start, which) + 4
    for index in range(start[which], start[which + 1]):
        action = item[index]
        if stubborn.inside[action] != stubborn.round[0]:
            stubborn.inside[action] = stubborn.round[0]
            stubborn.waiting[last] = action
            last += 1
    return last


@kernel
def _find_missing(stubborn: Stubborn, action: int, state: Words, base: int) -> int:
    """Return the missing precondition of `action` with the fewest achievers.

    Returns `NONE` if no precondition is missing, and `PROVIDED` if the set already has all achievers of one.
    """
    found, fewest = NONE, 0
    for index in range(stubborn.precondition_start[action], stubborn.precondition_start[action + 1]):
        fact = stubborn.precondition[index] + 0
        if not _has(stubborn, fact, state, base):
            if stubborn.provided[fact] == stubborn.round[0]:
                return PROVIDED
            many = _list_length(stubborn.adding_start, fact)
            if found == NONE or many < fewest:
                found, fewest = fact, many
    return found


@kernel
def _list_length(start: Index, which: int) -> int:
    """Return the length of list `which`."""
    return (start[which + 1] + 0) - (start[which] + 0)


@kernel
def _has(stubborn: Stubborn, fact: int, state: Words, base: int) -> bool:
    """Return whether `fact` holds in the state at `state[base]`."""
    return state[base + stubborn.word[fact]] & stubborn.mask[fact] == stubborn.bits[fact]
