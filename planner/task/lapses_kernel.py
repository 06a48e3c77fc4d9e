"""Lapses in packed states: the steps that run, each with the time that is left.

Behind the words of facts and numbers, a state has an agenda: entries in the order in which lapses end.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import NOTHING, Index, Words, kernel
from planner.task.packed_facts_kernel import Conditions, holds
from planner.task.packed_numbers_kernel import Fields, value_of

SHIFT: Final = 20
"""An entry of the agenda is the ticks that are left, and in so many lower bits the number of the lapse."""
FREE: Final = 1 << 62
"""A free place of the agenda."""
MOST_TICKS: Final = 1 << 40
"""No lapse takes as long."""


class Lapses(NamedTuple):
    """What passes: see `planner.task.temporal_task`.

    Action a begins lapse `begins[a]`; `NOTHING` for an action without a duration, and one more than the number of
    lapses for one that only ends a lapse. Lapse p takes `ticks[p]`, or what variable `variable[p]` says, unless that is
    `NOTHING`. `invariants` are conjunctions, those of its list. While it runs with less than `doom_ticks[d]` left, for
    d of its list, word `doom_word[d]` has `doom_bits[d]` under `doom_mask[d]`. After that, a step may go on as lapse
    `longer[p]`, which is `NOTHING` for others; its ticks are those by which the step may last longer, and its variable
    says how long the step may last in all. Such a lapse `is_open`: it may end at any time.
    """

    begins: Index
    longer: Index
    is_open: Index
    ticks: Words
    variable: Index
    factor: Words
    divisor: Words
    end_start: Index
    end: Index
    invariant_start: Index
    invariant: Index
    invariants: Conditions
    doom_start: Index
    doom_ticks: Words
    doom_word: Index
    doom_mask: Words
    doom_bits: Words


@kernel
def find_end(preconditions: Conditions, lapses: Lapses, lapse: int, state: Words, source: int) -> int:
    """Return the action that ends `lapse` in the state at `state[source]`; `NOTHING` if none can be applied."""
    for index in range(lapses.end_start[lapse], lapses.end_start[lapse + 1]):
        action = lapses.end[index] + 0
        if holds(preconditions, action, state, source):
            return action
    return NOTHING


@kernel
def ticks_of(lapses: Lapses, fields: Fields, lapse: int, state: Words, variables: int) -> int:
    """Return how long `lapse` takes, in the state after its start whose variables begin at `state[variables]`."""
    if lapses.variable[lapse] == NOTHING:
        return lapses.ticks[lapse] + 0
    value = value_of(fields, lapses.variable[lapse], state, variables) * lapses.factor[lapse]
    return -(-value // lapses.divisor[lapse])


@kernel
def slack_of(lapses: Lapses, fields: Fields, lapse: int, state: Words, variables: int) -> int:
    """Return by how many ticks `lapse` may last longer than the least time, in the state after its start."""
    longer = lapses.longer[lapse] + 0
    if longer == NOTHING:
        return 0
    if lapses.variable[longer] == NOTHING:
        return lapses.ticks[longer] + 0
    value = value_of(fields, lapses.variable[longer], state, variables) * lapses.factor[longer]
    return min(value // lapses.divisor[longer] - ticks_of(lapses, fields, lapse, state, variables), MOST_TICKS)


@kernel
def find_ending(lapses: Lapses, state: Words, agenda: int, places: int) -> int:
    """Return the place of the lapse that ends next: of several that end at once, one that needs something until then.

    Another one that ends at the same moment might take what it needs.
    """
    first = state[agenda] >> SHIFT
    for place in range(places):
        known = state[agenda + place]
        if known == FREE or known >> SHIFT != first:
            return 0
        lapse = known & ((1 << SHIFT) - 1)
        if lapses.invariant_start[lapse] != lapses.invariant_start[lapse + 1]:
            return place
    return 0


@kernel
def move_on(state: Words, source: int, target: int, places: int, passed: int, ending: int) -> None:
    """Write the agenda at `state[source]` without entry `ending`, so many ticks later, to `state[target]`."""
    for index in range(places - 1):
        entry_there = state[source + index + int(index >= ending)] + 0
        if entry_there >> SHIFT < MOST_TICKS:
            entry_there -= passed << SHIFT
        state[target + index] = entry_there
    state[target + places - 1] = FREE


@kernel
def insert_lapse(state: Words, agenda: int, places: int, added: int) -> bool:
    """Insert an entry into the agenda, which is sorted; return False if there is no place."""
    if state[agenda + places - 1] != FREE:
        return False
    place = places - 1
    while place > 0 and state[agenda + place - 1] > added:
        state[agenda + place] = state[agenda + place - 1]
        place -= 1
    state[agenda + place] = added
    return True


@kernel
def is_running(lapses: Lapses, state: Words, agenda: int, places: int, lapse: int) -> bool:
    """Return whether `lapse`, or what it goes on as, is in the agenda."""
    for place in range(places):
        known = state[agenda + place]
        if known == FREE:
            return False
        runs = known & ((1 << SHIFT) - 1)
        if runs == lapse or runs == lapses.longer[lapse]:
            return True
    return False


@kernel
def keeps_invariants(lapses: Lapses, state: Words, base: int, agenda: int, places: int) -> bool:
    """Return whether the state at `state[base]` has all that the lapses need which do not end now."""
    for place in range(places):
        known = state[agenda + place]
        if known == FREE:
            return True
        lapse = known & ((1 << SHIFT) - 1)
        first, after = lapses.invariant_start[lapse], lapses.invariant_start[lapse + 1]
        if first == after or known >> SHIFT == 0:
            continue
        kept = False
        for index in range(first, after):
            if holds(lapses.invariants, lapses.invariant[index], state, base):
                kept = True
        if not kept:
            return False
    return True


@kernel
def doom_facts(lapses: Lapses, state: Words, base: int, agenda: int, places: int) -> None:
    """Let the state at `state[base]` say that facts hold too short which lapses of its agenda will delete soon."""
    for place in range(places):
        known = state[agenda + place] + 0
        if known == FREE:
            return
        left, lapse = known >> SHIFT, known & ((1 << SHIFT) - 1)
        for index in range(lapses.doom_start[lapse], lapses.doom_start[lapse + 1]):
            if left >= lapses.doom_ticks[index]:
                break
            word = base + lapses.doom_word[index]
            state[word] = state[word] & ~lapses.doom_mask[index] | lapses.doom_bits[index]
