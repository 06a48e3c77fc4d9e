"""pyperplan as an engine by itself: what it takes, that it ignores costs, and what it claims."""

from __future__ import annotations

import pytest

from planner import Domain, Problem, Status, solve, validate
from planner.plan import StoppedBy


def tour(**more: object) -> Problem:
    """Return a problem in which the shortest plan is dear: by ship in one step for 9, or by two buses for 2."""
    domain = Domain("tour")
    domain.action("ship", requires=["home"], provides=["there"], cost=9)
    domain.action("first_bus", requires=["home"], provides=["half_way"])
    domain.action("second_bus", requires=["half_way"], provides=["there"])
    return domain.problem(**{"initial": ["home"], "goal": ["there"], **more})


@pytest.mark.parametrize("engine", ["pyperplan", "pyperplan-opt"])
def test_costs_are_ignored_and_that_is_said(engine: str) -> None:
    problem = tour()
    result = solve(problem, engine=engine)
    assert (result.status, result.lower_bound) == (Status.SOLVED, None)
    assert f"{engine} ignores costs" in result.reason
    verdict = validate(problem, result.expect_plan())
    assert verdict.valid
    assert verdict.cost == result.cost


def test_a_shortest_plan_is_optimal_where_all_actions_cost_the_same() -> None:
    domain = Domain("stairs")
    for at in range(4):
        domain.action(f"climb{at}", requires=[f"on{at}"], provides=[f"on{at + 1}"])
    problem = domain.problem(initial=["on0"], goal=["on4"])
    result = solve(problem, engine="pyperplan-opt")
    assert (result.status, result.cost) == (Status.OPTIMAL, 4)
    assert validate(problem, result.expect_plan()).valid
    assert solve(problem, engine="pyperplan").status is Status.SOLVED


def test_what_strips_cannot_say_is_refused() -> None:
    domain = Domain("tank")
    domain.function("level", low=0)
    domain.action("fill", modifies=["level += 1"])
    result = solve(domain.problem(values={"level": 0}, goal=["level >= 2"]), engine="pyperplan")
    assert result.status is Status.UNSUPPORTED
    assert "numbers in STRIPS" in result.reason


def test_that_it_finds_no_plan_is_no_proof() -> None:
    result = solve(tour(initial=[]), engine="pyperplan")
    assert (result.status, result.stopped_by) == (Status.UNKNOWN, StoppedBy.INCOMPLETE)
