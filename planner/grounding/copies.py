"""Copies of one step, made for the alternatives of its condition, of which one asks for no less than another."""

from __future__ import annotations

from collections.abc import Container, Sequence

from planner.task import GroundAction


def without_needless_copies(actions: Sequence[GroundAction], outcomes: Container[str]) -> tuple[GroundAction, ...]:
    """Return `actions` without those that do what another copy of the same step does, and require more for it.

    Actions named in `outcomes` all stay: each is one of the things that may come of a choice with its precondition.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number, action in enumerate(actions):
        if action.step.action not in outcomes:
            groups.setdefault((action.step.action, action.step.arguments), []).append(number)
    dropped = {
        number
        for numbers in groups.values()
        if len(numbers) > 1
        for number in numbers
        if any(_serves(actions[other], actions[number], first=other < number) for other in numbers if other != number)
    }
    return tuple([action for number, action in enumerate(actions) if number not in dropped])


def _serves(one: GroundAction, other: GroundAction, *, first: bool) -> bool:
    """Return whether `one` does wherever `other` would; of two that are the same, the `first` one does."""
    if (one.adds, one.deletes, one.conditional) != (other.adds, other.deletes, other.conditional):
        return False
    mine, theirs = set(one.precondition), set(other.precondition)
    return mine < theirs or (first and mine == theirs)
