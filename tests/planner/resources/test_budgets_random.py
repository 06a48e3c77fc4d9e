"""Plans within budgets on random problems: the optimum is that of brute force over states and what was used."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import pytest
from brute_force import TooManyStates
from budget_twins import cheapest_within, limited_problem, routes
from effort import share

from benchmarks.random_problems import ALL, STRIPS
from planner.grounding.ground import ground
from planner.limits import Limits
from planner.model import COST, FALSE, Action, Atom, DomainModel, Goal, Predicate, Problem
from planner.plan import Status
from planner.portfolio.workplace import Workplace
from planner.resources import resources
from planner.resources.resource_portfolio import (
    Spending,
    _search_labels,
    cost_allowance,
    cost_search_of,
    resource_allowances,
    search_other_costs,
)
from planner.search import Run, Space
from planner.solve import solve
from planner.validation.validate import validate

CONFIGURATIONS = [
    {"mode": "anytime"},
    {"mode": "optimal"},
    {"search": "astar"},
    {"search": "astar", "heuristic": "hmax"},
    {"search": "uniform"},
]


def cases(features, seeds, resources=2):
    """Yield random problems with their optima under the budgets, those among them that are small."""
    for seed in seeds:
        problem = limited_problem(random.Random(seed), features, resources)
        try:
            yield seed, problem, cheapest_within(problem)
        except TooManyStates:
            continue


@pytest.mark.parametrize(("features", "seeds"), [(ALL, range(100)), (STRIPS, range(1000, 1290))])
def test_the_optimum_within_budgets_is_that_of_brute_force(features, seeds):
    seen, solvable, dearer = 0, 0, 0
    for seed, problem, optimum in cases(features, share(seeds, 4), resources=3):
        seen += 1
        solvable += optimum is not None
        result = solve(problem, **CONFIGURATIONS[seed % len(CONFIGURATIONS)], time_limit=None)
        assert result.status is (Status.UNSOLVABLE if optimum is None else Status.OPTIMAL), (seed, result.describe())
        assert result.cost == optimum, seed
        free = solve(replace(problem, budgets={}), time_limit=None).cost
        dearer += free != optimum
        if result.plan is not None:
            assert validate(problem, result.plan).valid
            used = resources(result.plan) | {COST: result.plan.cost}
            assert all(used[name] <= limits for name, limits in problem.budgets.items() if name in used)
        elif "every plan uses" in result.reason or "budget on" in result.reason:
            assert free is not None or "budget on" in result.reason, (seed, result.reason)
    assert seen > 12
    assert 4 < solvable < seen
    assert dearer


def test_searches_for_other_costs_alone_give_plans_and_bounds_that_hold():
    met, summed = 0, 0
    problems = [problem for _, problem, _ in cases(STRIPS, range(2000, 2060))]
    for number, problem in enumerate([*problems, *map(routes, map(random.Random, range(60)))]):
        task, optimum = ground(problem, Limits()), cheapest_within(problem)
        limited = resource_allowances(task)
        if optimum is None or not limited:
            continue
        workplace = Workplace(task, Space(task), Run(), lambda: None)
        spending = Spending(workplace.run, limited, cost_allowance(task), cost_search_of(workplace))
        labels = partial(_search_labels, workplace, spending, "lmcut")
        for _ in search_other_costs(spending, (1, *[0] * len(limited)), ("anytime", "optimal")[number % 2], labels):
            pass
        assert not spending.excluded, number
        assert workplace.run.lower_bound <= optimum * task.resolution <= workplace.run.limit, number
        met += 1
        if workplace.run.by == ("labels", "lmcut of sums"):
            summed += 1
            assert workplace.run.limit == workplace.run.lower_bound == optimum * task.resolution, number
    assert met > 40
    assert summed > 10


def test_what_keeps_a_problem_from_having_a_plan_is_said():
    problem = errands(budgets={"money": 3})
    assert solve(problem).reason == "every plan uses 4 of money or more, and the budget is 3"
    assert solve(replace(problem, budgets={COST: 1})).reason == "every plan costs 2 or more, and the budget is 1"
    both = solve(replace(problem, budgets={"money": 4, COST: 3}))
    assert both.status is Status.UNSOLVABLE
    assert both.reason == "every plan that keeps the budgets on money costs 4 or more, and the budget is 3"


def test_without_any_plan_no_budget_is_blamed():
    problem = errands(budgets={"money": 100})
    never = {name: replace(action, requires=FALSE) for name, action in problem.domain.actions.items()}
    nowhere = replace(problem, domain=replace(problem.domain, actions=never))
    assert solve(nowhere).status is Status.UNSOLVABLE
    assert "budget" not in solve(nowhere).reason


SEARCHES = ["greedy", "weighted", "bfws", "breadth", "mcts"]


@pytest.mark.parametrize("features", [ALL, STRIPS])
def test_every_search_keeps_the_budgets(features):
    solved = excluded = 0
    for seed, problem, optimum in cases(features, share(range(3000, 3060), 3)):
        search = SEARCHES[seed % len(SEARCHES)]
        result = solve(problem, search=search, time_limit=None)
        if optimum is None:
            assert result.status in (Status.UNSOLVABLE, Status.UNKNOWN), (seed, result.describe())
            excluded += "at most" in result.reason
            continue
        solved += 1
        assert validate(problem, result.expect_plan()).valid
        assert result.cost >= optimum
        if search in ("weighted", "mcts"):
            assert (result.status, result.cost) == (Status.OPTIMAL, optimum), seed
    assert solved > 2
    assert excluded


def test_simulations_within_budgets_are_counted_and_draw_from_the_seed():
    found = [solve(errands(budgets={"money": 5}), search="mcts", simulations=3, seed=1) for _ in range(2)]
    assert found[0].statistics.simulations == found[1].statistics.simulations <= 3
    assert found[0].plan == found[1].plan


def test_the_first_plan_keeps_the_budgets():
    result = solve(errands(budgets={"money": 4}), mode="first")
    assert [str(step) for step in result.expect_plan().steps] == ["walk()", "ask()"]


def errands(budgets):
    """Return a problem in which one gets there, then has it: cheaply for money, or dearly for little."""
    there, had = Atom("there"), Atom("had")
    actions = [
        Action("ride", provides=(there,), cost=(1,), uses={"money": (5,)}),
        Action("walk", provides=(there,), cost=(3,), uses={"money": (1,)}),
        Action("ask", requires=there, provides=(had,), cost=(1,), uses={"money": (3,)}),
    ]
    predicates = {name: Predicate(name) for name in ("there", "had")}
    domain = DomainModel("errands", predicates=predicates, actions={each.name: each for each in actions})
    return Problem("errands", domain, goal=Goal(had), budgets=budgets)
