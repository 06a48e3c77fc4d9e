"""Search of random problems with numbers, against breadth-first search over the declared states."""

from __future__ import annotations

import pytest
from numeric_problems import TooManyStates, Unbounded, explore, find_least_cost, random_numeric_problem

from planner.errors import PlanError
from planner.model import Problem
from planner.options import SolveOptions
from planner.plan import Result, Status
from planner.portfolio.incumbent import Incumbent
from planner.portfolio.numeric_portfolio import search_numeric
from planner.search import exact_numeric_search
from planner.validation.validate import check_steps

BLOCK = 10
"""Random problems of one test."""


def search(problem: Problem, mode: str) -> Result:
    options = SolveOptions(mode=mode, time_limit=20)
    incumbent = Incumbent(problem, options)
    return incumbent.run_within_limits(lambda: search_numeric(incumbent, options))


@pytest.mark.parametrize("block", range(100, 109))
def test_search_finds_plans_where_there_are_some(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_numeric_search, "MOST_STATES", 250)
    compared = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        problem = random_numeric_problem(seed)
        try:
            shortest = explore(problem, 250).plan
        except (TooManyStates, PlanError):  # PlanError: some step changes the metric by what is no decimal
            continue
        result = search(problem, "first")
        if result.status is Status.UNSUPPORTED:
            continue
        compared += 1
        assert result.has_plan == (shortest is not None), f"{seed}: {result.status}, {result.reason}"
        if result.plan is not None:
            assert check_steps(problem, result.plan).valid
            assert result.status is Status.SOLVED or is_least(result, problem)
        else:
            assert result.status in (Status.UNSOLVABLE, Status.UNKNOWN)
    assert compared > BLOCK // 2


def is_least(result: Result, problem: Problem) -> bool:
    """Return whether no plan costs less, as far as the states can be enumerated."""
    try:
        return result.cost == find_least_cost(problem, 2000)
    except (TooManyStates, PlanError):  # PlanError: some step changes the metric by what is no decimal
        return True
    except Unbounded:
        return False
