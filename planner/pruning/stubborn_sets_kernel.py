"""Strong stubborn sets: of the actions that can be applied in a state, some are enough (Wehrle and Helmert, 2014).

A set of actions is stubborn in a state that is not a goal if it has all actions that add some fact of the goal that
does not hold, all that add some missing precondition of each of its actions that cannot be applied, and all that
interfere with those that can be. On a cheapest plan of the fewest actions, the first action of the set can be moved to
the front; so the actions outside can be left out. Each missing fact of the goal is tried, and the set with the fewest
actions that can be applied is taken, the first of several.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import Index, Words, kernel

FEW: Final = 1_000
"""States after which it is seen whether pruning pays, ..."""
MUCH: Final = 30_000_000
"""... or steps that it took: there are tasks in which sets are large."""
PART: Final = 5
"""It pays if one in so many actions is left out."""
NONE: Final = -1
PROVIDED: Final = -2


class Stubborn(NamedTuple):
    """What stubborn sets are found by, and room for one.

    By action: those that interfere with it, and its preconditions. By fact: the actions that add it, and where it is
    in a packed state. `round` counts sets, in one element; what is in the last one is marked with that in `inside` by
    action, and in `provided` by fact where all that add it are. `waiting` and `best` are room for all actions.
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
    """Leave those of the first `count` actions of `found` that are stubborn; return how many there are.

    `found` has all actions that can be applied in the state at `state[base]`. It stops for good (`number[PRUNES]` is 0)
    when too few were left out.
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
    """Make the stubborn set that begins with what adds the fact `goal`; return how many of it can be applied.

    It is given up when there are `most`.
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
    """Let the actions of list `which` that are not in the set yet wait behind the first `last`; return how many do."""
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
    """Return the missing precondition of `action` that the fewest actions add.

    It is `NONE` where none is missing, and `PROVIDED` where the set has all that add one of them already.
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
    """Return how long list `which` is."""
    return (start[which + 1] + 0) - (start[which] + 0)


@kernel
def _has(stubborn: Stubborn, fact: int, state: Words, base: int) -> bool:
    """Return whether `fact` holds in the state at `state[base]`."""
    return state[base + stubborn.word[fact]] & stubborn.mask[fact] == stubborn.bits[fact]
