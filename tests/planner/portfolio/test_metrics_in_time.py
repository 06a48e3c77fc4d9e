"""Metrics of numbers in time, the least and the greatest, against all choices of steps one after another."""

from __future__ import annotations

import random
from decimal import Decimal
from itertools import combinations, permutations

import pytest

from planner import Domain, Status, solve, validate
from planner.lightweight import replace
from planner.model import Problem
from planner.model.formulas import Arithmetic, Atom
from planner.model.problem import NumericMetric
from planner.model.timing import TOTAL_TIME

GOLD = Atom("gold")


def dig(worth: list[int], lasts: list[int], deadline: int | None, *, has_crew: bool) -> Problem:
    """Sites that one may dig once each; one crew digs one site at a time."""
    domain = Domain("dig", types=["site"])
    domain.function("gold")
    domain.function("worth", "site")
    domain.function("lasts", "site")
    domain.action(
        "dig",
        {"x": "site"},
        requires="there(x)",
        provides=["dug(x)", "not there(x)"],
        modifies="gold += worth(x)",
        duration="lasts(x)",
        holds={"crew": 1},
    )
    names = [f"s{number}" for number in range(len(worth))]
    values = [f"worth({name}) = {each}" for name, each in zip(names, worth, strict=True)]
    values += [f"lasts({name}) = {each}" for name, each in zip(names, lasts, strict=True)]
    return domain.problem(
        objects=dict.fromkeys(names, "site"),
        initial=[*[f"there({name})" for name in names], "gold = 0", *values],
        goal=["dug(s0)"],
        capacity={"crew": 1 if has_crew else 9},
        deadline=deadline,
        objective="makespan",
    )


def makespan(sites: tuple[int, ...], lasts: list[int], *, has_crew: bool) -> Decimal:
    """Return when all `sites` are dug; with one crew, each begins 0.001 after the one before has ended."""
    times = [lasts[site] for site in sites]
    return sum(times) + (len(times) - 1) * Decimal("0.001") if has_crew else Decimal(max(times))


@pytest.mark.parametrize("seed", range(300))
def test_what_is_said_of_a_metric_of_numbers_holds(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(1, 3)
    worth, lasts = ([rng.randint(low, 5) for _ in range(size)] for low in (-3, 1))
    has_crew, is_most, with_time = rng.random() < 0.5, rng.random() < 0.6, rng.random() < 0.4
    deadline = rng.randint(2, 12) if rng.random() < 0.4 else None
    expression = Arithmetic("-" if is_most else "+", (GOLD, TOTAL_TIME)) if with_time else GOLD
    problem = replace(
        dig(worth, lasts, deadline, has_crew=has_crew), metric=NumericMetric(expression, maximize=is_most)
    )
    costs = []
    for count in range(1, size + 1):
        for sites in combinations(range(size), count):
            time = min(makespan(each, lasts, has_crew=has_crew) for each in permutations(sites))
            if 0 in sites and (deadline is None or time <= deadline):
                gold = sum(worth[site] for site in sites)
                costs.append((-gold if is_most else gold) + (time if with_time else 0))
    result = solve(problem, mode="optimal", time_limit=1)
    assert result.status is not Status.UNSUPPORTED
    if not costs:
        assert result.plan is None
        return
    assert result.status is not Status.UNSOLVABLE
    assert result.lower_bound is None or result.lower_bound <= min(costs)
    plan = result.expect_plan()
    assert validate(problem, plan).valid
    assert plan.cost >= min(costs)
    if result.status is Status.OPTIMAL:
        assert plan.cost == min(costs)


def test_the_most_gold_is_proved() -> None:
    problem = replace(dig([3, 5], [2, 2], None, has_crew=True), metric=NumericMetric(GOLD, maximize=True))
    result = solve(problem, mode="optimal", time_limit=20)
    assert (result.status, result.cost) == (Status.OPTIMAL, -8)


@pytest.mark.parametrize("seconds", [0.005, 0.02, 0.1])
def test_a_search_that_a_limit_ends_early_claims_no_bound_of_what_steps_gain(seconds: float) -> None:
    domain = Domain("dig", types=["site"])
    domain.function("gold")
    domain.action("dig", {"x": "site"}, requires="there(x)", provides="not there(x)", modifies="gold += 3")
    sites = ["s0", "s1", "s2"]
    problem = domain.problem(
        objects=dict.fromkeys(sites, "site"), initial=[*[f"there({site})" for site in sites], "gold = 0"], goal=[]
    )
    problem = replace(problem, metric=NumericMetric(GOLD, maximize=True))
    result = solve(problem, mode="optimal", time_limit=seconds)
    assert result.lower_bound is None or result.lower_bound <= -9
