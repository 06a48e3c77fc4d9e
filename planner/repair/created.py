"""What steps create, in repairs: placeholders of the given steps, and some to spare for new ones."""

from __future__ import annotations

from collections.abc import Iterable

from planner.annotations import Final
from planner.creation import for_steps
from planner.model import Problem
from planner.model.domain import creates_objects, uncertain_actions
from planner.plan import Status, Step

SPARE: Final = 2
"""So many objects of each type that steps create are there beside those that the given steps name."""


def with_spare(problem: Problem, steps: Iterable[Step]) -> Problem:
    """Return `problem`, with objects for what `steps` create, and some to spare, if its actions create anything."""
    return for_steps(problem, steps, spare=SPARE)


def claimed(problem: Problem, status: Status) -> Status:
    """Return `status` as what may be claimed: no proof, where more objects might be created than were tried.

    Where actions may come out otherwise than intended, nothing is unsolvable.
    """
    if creates_objects(problem.domain):
        return {Status.OPTIMAL: Status.SOLVED, Status.UNSOLVABLE: Status.UNKNOWN}.get(status, status)
    return Status.UNKNOWN if status is Status.UNSOLVABLE and uncertain_actions(problem.domain) else status


def untried(problem: Problem) -> str:
    """Return what was not tried, because of which less is claimed."""
    if creates_objects(problem.domain):
        return f"no more than {SPARE} objects of each type that steps create were tried, beside those that were given"
    return f"only the intended outcomes (of {', '.join(uncertain_actions(problem.domain))}) were tried"
