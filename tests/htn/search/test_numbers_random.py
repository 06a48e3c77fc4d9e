"""Hierarchical planning with numbers against the enumeration of decompositions."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from numeric_hierarchies import random_numeric_htn

from benchmarks.htn_brute import TooManyNetworks, cheapest
from benchmarks.random_hierarchies import PARTIAL, WILD, HtnFeatures
from htn.model import HtnProblem
from htn.verification.chart_parsing import verify
from htn.verification.plan_verification import validate
from planner import Status, solve
from planner.limits import Limits
from planner.model import TOTAL_COST, Arithmetic, Atom, Comparison, Metric, NumericMetric
from planner.model.formulas import conjunction
from planner.plan import Result

SEQUENCES = HtnFeatures(partial=False)
SEEDS = range(60)
LEVEL = Atom("level")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", ["anytime", "optimal"])
def test_the_optimum_of_ordered_tasks_is_that_of_enumeration(seed: int, mode: str) -> None:
    problem = random_numeric_htn(seed, SEQUENCES)
    best, result = cheapest(problem), solve(problem, mode=mode, time_limit=None)
    assert result.status is (Status.UNSOLVABLE if best is None else Status.OPTIMAL), result.reason
    if best is not None:
        assert replayed(problem, result) == best


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("features", [PARTIAL, HtnFeatures(classical=WILD)])
def test_what_is_proved_is_true_in_any_order(seed: int, features: HtnFeatures) -> None:
    problem = random_numeric_htn(seed, features)
    result = solve(problem, time_limit=5)
    if result.has_plan:
        assert replayed(problem, result) >= result.lower_bound
    try:
        best = cheapest(problem, 2_000)
    except TooManyNetworks:
        return
    if result.status is Status.UNSOLVABLE:
        assert best is None
    if result.status is Status.OPTIMAL:
        assert result.cost == best


@pytest.mark.parametrize("part", range(4))
def test_the_best_by_a_metric_that_depends_on_the_state_is_found_in_rounds(part: int) -> None:
    """The cheapest plan to each value of the level says what the best is by the level and the costs."""
    proved = 0
    for seed in range(25 * part, 25 * part + 25):
        free = random_numeric_htn(seed, SEQUENCES, bounded=True)
        before = free.classical.values.get(LEVEL)
        if before is None:
            continue
        weight, halves = random.Random(seed).choice([-3, -1, 2]), range(9)
        plain = with_classical(free, metric=Metric.COST)
        ways = {Fraction(half, 2): cheapest(ending_at(plain, Decimal(half) / 2)) for half in halves}
        charges = [weight * (level - before) + Fraction(cost) for level, cost in ways.items() if cost is not None]
        metric = NumericMetric(Arithmetic("+", (Arithmetic("*", (weight, LEVEL)), TOTAL_COST)))
        result = solve(with_classical(free, metric=metric), time_limit=20)
        if not charges:
            assert result.status is Status.UNSOLVABLE, (seed, result.reason)
            continue
        assert result.status is Status.OPTIMAL, (seed, result.reason)
        assert Fraction(result.cost) == min(charges), (seed, result.cost, charges)
        proved += 1
    assert proved


def ending_at(problem: HtnProblem, level: Decimal) -> HtnProblem:
    goal = conjunction([problem.classical.goal.hard, Comparison(LEVEL, "=", level)])
    return with_classical(problem, goal=replace(problem.classical.goal, hard=goal))


def with_classical(problem: HtnProblem, **changes: object) -> HtnProblem:
    return replace(problem, classical=replace(problem.classical, **changes, seal=()), seal=())


def replayed(problem: HtnProblem, result: Result):
    assert result.plan is not None
    verdict = validate(problem, result.plan)
    assert verdict.valid, verdict.reason
    assert verdict.cost == result.cost
    found = verify(problem, replace(result.plan, tree=None), Limits(10))
    assert found.valid or found.valid is None, found.reason
    return verdict.cost


@pytest.mark.parametrize("part", range(4))
def test_budgets_are_kept_beside_numbers(part: int) -> None:
    bound = 0
    for seed in range(25 * part, 25 * part + 25):
        free, rng = random_numeric_htn(seed, SEQUENCES), random.Random(seed)
        classical = free.classical
        used = {name: (rng.choice([0, 1, 2]),) for name in classical.domain.actions}
        actions = {name: replace(each, uses={"fuel": used[name]}) for name, each in classical.domain.actions.items()}
        domain, budgets = replace(classical.domain, actions=actions), {"fuel": rng.choice([1, 2, 3, 5])}
        budgets["cost"] = rng.choice([2, 4, 8])
        limited = replace(classical, domain=domain, budgets=budgets, seal=())
        problem = replace(free, domain=replace(free.domain, classical=domain), classical=limited, seal=())
        best, result = cheapest(problem), solve(problem, time_limit=None)
        assert result.status is (Status.UNSOLVABLE if best is None else Status.OPTIMAL), (seed, result.reason)
        if best is not None:
            assert replayed(problem, result) == best
        bound += best != cheapest(free)
    assert bound
