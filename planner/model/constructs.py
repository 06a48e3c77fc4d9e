"""The constructs of problems: what a problem may have beyond facts, actions and a goal."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from planner.model.domain import creates_objects
from planner.model.problem import Problem
from planner.model.unknown_numbers import find_unread


class Construct(Enum):
    """A construct of problems, by the words with which a refusal names it."""

    CREATION = "actions that create objects"
    UNKNOWN = "unknown facts"
    UNKNOWN_NUMBERS = "unknown numbers"
    SOFT_GOALS = "soft goals"
    SOFT_CONSTRAINTS = "soft constraints"
    CONSTRAINTS = "constraints"
    BUDGETS = "budgets"
    DEADLINE = "deadlines"


def constructs_of(problem: Problem) -> frozenset[Construct]:
    """Return the constructs that `problem` has."""
    is_soft = [each.utility is not None for each in problem.constraints]
    has = {
        Construct.CREATION: creates_objects(problem.domain),
        Construct.UNKNOWN: bool(problem.unknown),
        Construct.UNKNOWN_NUMBERS: bool(find_unread(problem)),
        Construct.SOFT_GOALS: bool(problem.goal.soft),
        Construct.SOFT_CONSTRAINTS: any(is_soft),
        Construct.CONSTRAINTS: not all(is_soft),
        Construct.BUDGETS: bool(problem.budgets),
        Construct.DEADLINE: problem.deadline is not None,
    }
    return frozenset([construct for construct, there in has.items() if there])


def name_constructs(problem: Problem, refused: Collection[Construct]) -> list[str]:
    """Return the words for those constructs of `problem` that are `refused`, in the order of `Construct`."""
    found = constructs_of(problem).intersection(refused)
    return [each.value for each in Construct if each in found]
