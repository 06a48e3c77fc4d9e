"""Decompositions within budgets: the optimum is that of enumeration, with what was spent as part of the state."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal

import pytest
from effort import share
from random_tasks import with_random_wishes

from benchmarks.htn_brute import TooManyNetworks, cheapest
from benchmarks.random_hierarchies import PARTIAL, USUAL, HtnFeatures, random_htn
from htn.language.declare import Methods
from htn.verification.plan_verification import validate
from planner import Domain
from planner.model import COST
from planner.plan import Status
from planner.resources import resources
from planner.solve import solve

SEQUENCES = HtnFeatures(partial=False)
AMOUNTS = (0, 1, 2, 3, Decimal("0.5"))
CONFIGURATIONS = [{}, {"mode": "optimal"}, {"mode": "first"}, {"search": "astar"}, {"search": "uniform"}]


def limited(seed, features):
    rng = random.Random(seed)
    problem = random_htn(rng, features)
    classical = problem.classical
    names = ("money", "calls")[: rng.randint(1, 2)]
    actions = {
        name: replace(action, uses={each: (rng.choice(AMOUNTS),) for each in names if rng.random() < 0.8})
        for name, action in classical.domain.actions.items()
    }
    used = [name for name in names if any(name in action.uses for action in actions.values())]
    budgets = {each: rng.choice(AMOUNTS) * rng.randint(0, 4) for each in used if rng.random() < 0.9}
    if rng.random() < 0.3:
        budgets[COST] = rng.randint(0, 12)
    classical = replace(classical, domain=replace(classical.domain, actions=actions), budgets=budgets)
    if rng.random() < 0.3:
        classical = with_random_wishes(classical, rng, USUAL)
    return replace(problem, classical=classical, domain=replace(problem.domain, classical=classical.domain))


def is_named(problem, result):
    """Whether `result` says that it is a budget of `problem` that cannot be kept."""
    budgets = problem.classical.budgets
    return "budget" in result.reason or any(f"{name} at most" in result.reason for name in budgets)


@pytest.mark.parametrize("features", [SEQUENCES, PARTIAL], ids=["sequences", "any order"])
def test_the_optimum_of_tasks_within_budgets_is_that_of_enumeration(features):
    solved = excluded = 0
    for seed in share(range(80), 4):
        problem, how = limited(seed, features), CONFIGURATIONS[seed % len(CONFIGURATIONS)]
        try:
            best = cheapest(problem, 2000)
            free = cheapest(replace(problem, classical=replace(problem.classical, budgets={})), 2000)
        except TooManyNetworks:
            continue
        result = solve(problem, time_limit=2, **how)
        if result.status is Status.UNSOLVABLE:
            assert best is None, seed
            excluded += free is not None
            assert free is None or is_named(problem, result), (seed, result.reason)
        if result.plan is not None:
            verdict = validate(problem, result.plan)
            assert verdict.valid, (seed, verdict.reason)
            used = resources(result.plan) | {COST: result.plan.cost}
            assert all(used[name] <= most for name, most in problem.classical.budgets.items() if name in used)
            assert result.plan.charge >= best >= (result.lower_bound or 0), seed
        if result.status is Status.OPTIMAL:
            assert result.plan.charge == best, seed
            solved += 1
    assert solved > 5
    assert excluded


def knapsack(seed):
    """Return a problem in which each of some tasks is done in one of several ways, cheaply or for little money."""
    rng = random.Random(seed)
    domain = Domain("knapsack")
    how, size = Methods(domain), rng.randint(2, 4)
    for number in range(size):
        how.task(f"job{number}")
        for way in range(3):
            cost, money = rng.randint(0, 9), Decimal(rng.randint(0, 18)) / 2
            name = f"do{number}-{way}"
            first = [f"did{number - 1}"] if number and rng.random() < 0.3 else []
            domain.action(name, requires=first, provides=f"did{number}", cost=cost, uses={"money": money})
            how.method(f"by-{name}", task=f"job{number}", subtasks=[name])
    budgets = {"money": 3 * size} | ({COST: 5 * size} if rng.random() < 0.5 else {})
    return how.problem(tasks=[f"job{number}" for number in range(size)], ordered=rng.random() < 0.7, budgets=budgets)


def test_among_many_ways_the_cheapest_within_the_budgets_is_found():
    dearer = excluded = 0
    for seed in share(range(40), 2):
        problem, how = knapsack(seed), CONFIGURATIONS[seed % len(CONFIGURATIONS)]
        best, result = cheapest(problem), solve(problem, time_limit=None, **how)
        if best is None:
            assert result.status is Status.UNSOLVABLE
            assert is_named(problem, result), (seed, result.reason)
            excluded += 1
            continue
        assert validate(problem, result.expect_plan()).valid
        assert result.cost >= best >= (result.lower_bound or 0)
        if "mode" not in how or how["mode"] == "optimal":
            assert (result.status, result.cost) == (Status.OPTIMAL, best), seed
            dearer += (
                best > solve(replace(problem, classical=replace(problem.classical, budgets={})), time_limit=None).cost
            )
    assert dearer > 3
    assert excluded
