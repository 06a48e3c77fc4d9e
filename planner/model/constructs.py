"""The constructs of problems: what a problem may have beyond facts, actions and a goal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from types import MappingProxyType

from planner.lightweight import Final
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


CONSTRAINED: Final = (Construct.CONSTRAINTS, Construct.SOFT_CONSTRAINTS)
"""Constraints of both kinds."""
_TESTS: Final[Mapping[Construct, Callable[[Problem], bool]]] = MappingProxyType(
    {
        Construct.CREATION: lambda problem: creates_objects(problem.domain),
        Construct.UNKNOWN: lambda problem: bool(problem.unknown),
        Construct.UNKNOWN_NUMBERS: lambda problem: bool(find_unread(problem)),
        Construct.SOFT_GOALS: lambda problem: bool(problem.goal.soft),
        Construct.SOFT_CONSTRAINTS: lambda problem: any(each.utility is not None for each in problem.constraints),
        Construct.CONSTRAINTS: lambda problem: any(each.utility is None for each in problem.constraints),
        Construct.BUDGETS: lambda problem: bool(problem.budgets),
        Construct.DEADLINE: lambda problem: problem.deadline is not None,
    }
)


def has(problem: Problem, *constructs: Construct) -> bool:
    """Return whether `problem` has one of the `constructs`."""
    return any(_TESTS[each](problem) for each in constructs)


def name_constructs(problem: Problem, refused: Collection[Construct]) -> list[str]:
    """Return the words for those constructs of `problem` that are `refused`, in the order of `Construct`."""
    return [each.value for each in Construct if each in refused and has(problem, each)]
