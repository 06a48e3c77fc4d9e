"""Soft goals and budgets beside numbers: the best plans are those of enumerating all states."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal

import pytest
from numeric_problems import TooManyStates, Unbounded, find_least_cost, random_numeric_problem

from planner import Domain, Plan, Status, Step, solve
from planner.errors import ForethoughtError
from planner.model import Comparison, Goal, Metric, NumericMetric, SoftGoal
from planner.options import SolveOptions
from planner.solve import answer
from planner.topk.candidates import candidates
from planner.validation.validate import check_steps


def wished(seed):
    """Return a random problem with soft goals that compare numbers, often beside a metric of numbers."""
    rng, problem = random.Random(seed), random_numeric_problem(seed)
    terms = sorted(problem.values, key=str)
    soft = [
        SoftGoal(Comparison(rng.choice(terms), rng.choice(["<", "=", ">="]), rng.randint(-1, 4)), rng.randint(1, 6))
        for _ in range(rng.randint(1, 2))
    ]
    return replace(problem, goal=Goal(problem.goal.hard, tuple(soft)))


def test_the_best_net_benefit_is_that_of_enumerating_states():
    proved = metrics = 0
    for seed in range(60):
        try:
            problem = wished(seed)
            least = find_least_cost(problem, 150)
            result = answer(problem, SolveOptions(time_limit=3))
        except (TooManyStates, Unbounded, ForethoughtError, IndexError):
            continue
        if result.plan is None:
            assert least is None or result.status in (Status.UNSUPPORTED, Status.UNKNOWN), seed
            continue
        assert check_steps(problem, result.plan).valid, seed
        if result.status is Status.OPTIMAL:
            assert result.plan.charge == least, seed
            proved += 1
            metrics += isinstance(problem.metric, NumericMetric)
        else:
            assert result.plan.charge >= least, seed
    assert proved > 6
    assert metrics > 1


def within(budget, metric=Metric.COST, amount=2):
    """Return the problem to get 10 units of fuel by buying 2 for 2 coins, or 5 for 8 coins and at less work."""
    domain = Domain("station")
    domain.function("fuel", low=0, high=12)
    domain.action("sip", modifies=["fuel += 2"], cost=3, uses={"coins": amount})
    domain.action("gulp", modifies=["fuel += 5"], cost=1, uses={"coins": 8})
    return domain.problem(initial=["fuel = 0"], goal=["fuel >= 10"], budgets=budget, metric=metric)


@pytest.mark.parametrize(
    ("budget", "cost"),
    [
        ({"coins": 20}, 2),
        ({"coins": 15}, 10),
        ({"coins": 10}, 15),
        ({"coins": 9}, None),
        ({"cost": 2}, 2),
        ({"cost": 1}, None),
    ],
)
def test_plans_keep_budgets(budget, cost):
    found = solve(within(budget))
    assert found.cost == cost
    assert found.status is (Status.UNSOLVABLE if cost is None else Status.OPTIMAL)


@pytest.mark.parametrize(("budget", "most"), [(5, 12), (4, 10), (2, 10), (1, None)])
def test_a_budget_on_the_cost_beside_a_metric_of_numbers_counts_what_actions_cost(budget, most):
    problem = within({"cost": budget}, metric="maximize fuel")  # two gulps and a sip fill it up
    found = solve(problem)
    assert found.status is (Status.UNSOLVABLE if most is None else Status.OPTIMAL)
    assert found.cost == (most and -most)
    too_much = Plan(tuple([Step(name, ()) for name in ("gulp", "gulp", "sip")]), problem)
    verdict = check_steps(problem, too_much.steps)
    assert verdict.valid is (budget >= 5)
    assert verdict.valid or verdict.reason == f"the plan costs 5, and the budget is {budget}"


def test_budgets_that_are_not_sums_of_terms_are_refused_by_name():
    found = solve(within({"coins": 5}, amount=lambda: 2))
    assert (found.status, "Python" in found.reason) == (Status.UNSUPPORTED, True)


def delivery(deadline):
    """Return the problem to get 12 units: a truck fetches 4 in 10 seconds for 1 coin; a shop sells 4 at once for 5."""
    domain = Domain("delivery", types=["truck"])
    domain.function("stock", low=0, high=20)
    domain.action("fetch", {"t": "truck"}, requires=["idle(t)"], modifies=["stock += 4", "idle(t)"], duration=10)
    domain.action("buy", modifies=["stock += 4"], duration=1, cost=5)
    facts = ["stock = 0", "idle(t1)", "idle(t2)"]
    return domain.problem(
        objects=dict.fromkeys(["t1", "t2"], "truck"), initial=facts, goal=["stock >= 12"], deadline=deadline
    )


@pytest.mark.parametrize(
    ("deadline", "cost", "status"), [(100, 3, Status.OPTIMAL), (12, 11, Status.SOLVED), (3, 15, Status.SOLVED)]
)
def test_plans_meet_deadlines(deadline, cost, status):
    found = solve(delivery(deadline))
    assert (found.cost, found.status, found.lower_bound) == (cost, status, 3)
    assert check_steps(found.plan.problem, found.plan).valid


def test_deadlines_of_which_nothing_is_known_end_unknown():
    assert solve(delivery(Decimal("0.5"))).status is Status.UNKNOWN


def test_candidates_meet_deadlines_beside_numbers():
    first = next(candidates(delivery(100)))
    assert first.cost == 3
    assert check_steps(first.problem, first).valid
