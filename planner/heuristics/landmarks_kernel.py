"""Counting fact landmarks along a path: which were accepted, which are needed again (Richter and Westphal, 2010).

They are called milestones here, to be told from the action landmarks of LM-cut.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import Index, Words, entry, kernel

BITS: Final = 63


class Milestones(NamedTuple):
    """Milestone i is reached where a fact of list i holds: `state[word[j]] & mask[j] == bits[j]`.

    It is accepted if all of list i in `before` are; it is wanted again while one of list i in `for_them` is not
    accepted, or always if it is a `goal`.
    """

    start: Index
    word: Index
    mask: Words
    bits: Words
    before_start: Index
    before: Index
    for_start: Index
    for_them: Index
    goal: Index


@kernel
def accept_milestones(
    milestones: Milestones, accepted: Words, parent: int, child: int, state: Words, base: int, merge: int
) -> None:
    """Write to `accepted[child:]` what is accepted in the state at `state[base]`, reached from that of `parent`.

    With `merge`, the child was reached before: only what is accepted on both ways stays.
    """
    number = 0
    for word in range((len(milestones.goal) + BITS - 1) // BITS):
        known, found = accepted[parent + word] + 0, 0
        for bit in range(min(BITS, len(milestones.goal) - word * BITS)):
            if known >> bit & 1 or (
                _is_reached(milestones, number, state, base) and _may_follow(milestones, accepted, parent, number)
            ):
                found |= 1 << bit
            number += 1
        accepted[child + word] = accepted[child + word] & found if merge else found


@entry
@kernel
def accept_initial(milestones: Milestones, accepted: Words, state: Words) -> int:
    """Write to `accepted` what holds in the initial state, which is the first in `state`; returns 0."""
    for number in range(len(milestones.goal)):
        if _is_reached(milestones, number, state, 0):
            accepted[number // BITS] |= 1 << (number % BITS)
    return 0


@kernel
def _is_reached(milestones: Milestones, number: int, state: Words, base: int) -> bool:
    for index in range(milestones.start[number], milestones.start[number + 1]):
        if state[base + milestones.word[index]] & milestones.mask[index] == milestones.bits[index]:
            return True
    return False


@kernel
def _may_follow(milestones: Milestones, accepted: Words, parent: int, number: int) -> bool:
    for index in range(milestones.before_start[number], milestones.before_start[number + 1]):
        if not _is_accepted(accepted, parent, milestones.before[index]):
            return False
    return True


@kernel
def _is_accepted(accepted: Words, base: int, number: int) -> bool:
    return accepted[base + number // BITS] >> (number % BITS) & 1 == 1


@kernel
def count_open(milestones: Milestones, accepted: Words, base: int, state: Words, place: int) -> int:
    """Return how many milestones are not accepted, or needed again, in the state at `state[place]`."""
    total = 0
    for number in range(len(milestones.goal)):
        if not _is_accepted(accepted, base, number) or (
            not _is_reached(milestones, number, state, place) and _is_needed_again(milestones, accepted, base, number)
        ):
            total += 1
    return total


@kernel
def _is_needed_again(milestones: Milestones, accepted: Words, base: int, number: int) -> bool:
    """Return whether an accepted milestone that does not hold is needed again."""
    if milestones.goal[number]:
        return True
    for index in range(milestones.for_start[number], milestones.for_start[number + 1]):
        if not _is_accepted(accepted, base, milestones.for_them[index]):
            return True
    return False
