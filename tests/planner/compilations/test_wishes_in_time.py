"""Soft goals and budgets of problems in time: the most net benefit, as choosing by hand finds it."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations
from typing import Any

import pytest

from planner import Domain, solve, validate
from planner.compilations import wishes_in_time
from planner.model import Problem
from planner.model.formulas import conjuncts, with_conjuncts
from planner.model.problem import Goal
from planner.plan import Progress, Status

ERRANDS = {"bakery": 10, "market": 40, "post": 25}
"""Minutes in each shop."""


def errands(**more: Any) -> Problem:
    """Three shops, of which one person visits one at a time, and dinner, which takes half an hour."""
    domain = Domain("errands", types=["shop"])
    domain.function("minutes", "shop")
    domain.action("visit", {"s": "shop"}, provides="been(s)", duration="minutes(s)", holds={"me": 1}, uses={"money": 3})
    domain.action(
        "cook", {"s": "shop"}, requires=["been(s)", "food(s)"], provides="dinner", duration=30, uses={"money": 1}
    )
    given = {"objective": "makespan", "goal": "been(bakery)", **more}
    return domain.problem(
        objects=dict.fromkeys(ERRANDS, "shop"),
        initial=["food(market)", *[f"minutes({shop}) = {minutes}" for shop, minutes in ERRANDS.items()]],
        capacity={"me": 1},
        **given,
    )


WISHES = {"been(post)": 20, "dinner": 71, "been(market)": 4}


def find_least_charge(problem: Problem) -> Any:
    """Return the least charge by solving for each set of wishes with these as hard goals."""
    wishes = problem.goal.soft
    charges = []
    for chosen in chain.from_iterable(combinations(wishes, count) for count in range(len(wishes) + 1)):
        parts = [part for wish in chosen for part in conjuncts(wish.condition)]
        alone = replace(problem, goal=Goal(with_conjuncts(problem.goal.hard, *parts)))
        result = solve(alone, mode="optimal")
        if result.status is Status.OPTIMAL:
            charges.append(result.cost + sum(wish.utility for wish in wishes if wish not in chosen))
        else:
            assert result.status is Status.UNSOLVABLE
    return min(charges)


@pytest.mark.parametrize("utilities", [WISHES, {"been(post)": 40}, {"dinner": 30}, {"dinner": 75, "been(post)": 24}])
def test_the_plan_is_charged_least(utilities: dict[str, int]) -> None:
    problem = errands(goal={"hard": "been(bakery)", "soft": utilities})
    result = solve(problem)
    plan = result.expect_plan()
    assert result.status is Status.OPTIMAL
    assert plan.charge == result.lower_bound == find_least_charge(problem)
    verdict = validate(problem, plan)
    assert verdict.valid
    assert verdict.forgone == plan.forgone
    assert plan.utility == sum(utilities.values()) - sum(wish.utility for wish in plan.forgone)


def test_more_wishes_than_are_chosen_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = errands(goal={"hard": "been(bakery)", "soft": WISHES})
    least = solve(problem).expect_plan().charge
    monkeypatch.setattr(wishes_in_time, "MOST_CHOSEN", 0)
    result = solve(problem, time_limit=15)
    plan = result.expect_plan()
    assert plan.charge == least
    assert result.lower_bound is not None
    assert result.lower_bound <= least
    assert validate(problem, plan).valid
    assert all(not step.action.startswith("@") for step in plan.steps)


def test_progress_tells_of_better_plans_only() -> None:
    seen: list[Progress] = []
    result = solve(errands(goal={"hard": "been(bakery)", "soft": WISHES}), on_progress=seen.append)
    charges = [each.plan.charge for each in seen if each.plan is not None]
    assert charges == sorted(charges, reverse=True)
    assert charges[-1] == result.expect_plan().charge


def test_a_wish_that_nothing_grants_is_forgone() -> None:
    domain = Domain("d")
    domain.action("act", provides="done", duration=2)
    domain.action("fly", requires="wings", provides="flown", duration=2)
    result = solve(domain.problem(goal={"hard": "done", "soft": {"flown": 100}}, objective="makespan"))
    assert (result.status, result.expect_plan().charge, result.utility) == (Status.OPTIMAL, 102, 0)
    impossible = domain.problem(goal={"hard": "flown", "soft": {"done": 100}}, objective="makespan")
    assert solve(impossible).status is Status.UNSOLVABLE


def test_a_budget_limits_what_steps_use_in_all() -> None:
    rich = errands(goal=["been(bakery)", "dinner"], budgets={"money": 7})
    plan = solve(rich).expect_plan()
    assert (float(plan.makespan or 0), validate(rich, plan).valid) == (70.001, True)
    poor = replace(rich, budgets={"money": 6})
    verdict = validate(poor, plan)
    assert not verdict.valid
    assert "uses 7 of money, and the budget is 6" in verdict.reason
    assert solve(poor, time_limit=1).plan is None
    wishful = errands(goal={"hard": "been(bakery)", "soft": {"dinner": 500}}, budgets={"money": 6})
    assert solve(wishful, time_limit=2).expect_plan().charge == 510


@pytest.mark.parametrize(("budget", "makespan"), [(9, 1), (8, 5), (1, 5), (0, None)])
def test_a_budget_on_the_cost_limits_what_steps_cost_beside_a_metric_of_time(budget, makespan) -> None:
    domain = Domain("parcel")
    domain.action("fly", provides=["there"], duration=1, cost=9)
    domain.action("walk", provides=["there"], duration=5, cost=1)
    domain.predicate("lucky")
    for wishes in ({}, {"lucky": 3}):
        result = solve(
            domain.problem(goal={"hard": "there", "soft": wishes}, budgets={"cost": budget}, metric="makespan")
        )
        if makespan is None:
            assert result.status is Status.UNSOLVABLE
        else:
            assert result.status is Status.OPTIMAL
            assert result.expect_plan().makespan == makespan


def test_a_weighted_metric_has_a_bound() -> None:
    result = solve(errands(objective="2 * makespan + cost"))
    assert (result.status, result.cost, result.lower_bound) == (Status.OPTIMAL, 21, 21)
