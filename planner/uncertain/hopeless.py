"""Whether a goal is out of reach however actions come out."""

from __future__ import annotations

from collections.abc import Callable

from planner.budget import Budget
from planner.model import Problem
from planner.plan import Result, Status
from planner.records import replace
from planner.uncertain.determinise import determinise


def is_hopeless(problem: Problem, budget: Budget, solve: Callable[..., Result]) -> bool:
    """Return whether `problem` has no plan even where each action comes out as one likes; False if that is not known.

    `solve` is `planner.solve`. Constraints are left out: steps that come out in another way have another name here.
    """
    left = None if budget.remaining is None else max(budget.remaining, 0.0)
    lucky = replace(determinise(problem).problem, constraints=())
    found = solve(lucky, mode="first", time_limit=left, memory_limit=budget.memory_limit, cancel=budget.cancel)
    return found.status is Status.UNSOLVABLE
