"""Landmark counting along a path: accepted landmarks, and landmarks needed again (Richter and Westphal, 2010).

These landmarks are called milestones here, to distinguish them from the action landmarks of LM-cut.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import Index, Words, entry, kernel

BITS: Final = 63


class Milestones(NamedTuple):
    """Milestone i is reached if a fact of list i holds: `state[word[j]] & mask[j] == bits[j]`.

    It is accepted once all milestones of list i of `before` are accepted. It is needed again while a milestone of list
    i of `for_them` is not accepted, or always if it is a `goal`.
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
    """Write the milestones accepted in the state at `state[base]`, a successor of `parent`, to `accepted[child:]`.

    With `merge`, intersect them with those of an earlier path to the child.
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
    """Accept the milestones that hold in the initial state, the first in `state`; return 0."""
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
    """Count the milestones that are not accepted, or needed again, in the state at `state[place]`."""
    total = 0
    for number in range(len(milestones.goal)):
        if not _is_accepted(accepted, base, number) or (
            not _is_reached(milestones, number, state, place) and _is_needed_again(milestones, accepted, base, number)
        ):
            total += 1
    return total


@kernel
def _is_needed_again(milestones: Milestones, accepted: Words, base: int, number: int) -> bool:
    """Return whether an accepted milestone that is false is needed again."""
    if milestones.goal[number]:
        return True
    for index in range(milestones.for_start[number], milestones.for_start[number + 1]):
        if not _is_accepted(accepted, base, milestones.for_them[index]):
            return True
    return False
