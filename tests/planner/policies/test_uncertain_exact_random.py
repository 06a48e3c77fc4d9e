"""Exact solution against value iteration on the declared problem."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice

import pytest
from uncertain_twin import declared_options, least, success, utility

from benchmarks.random_problems import Features, random_problem, reachable
from planner.limits import Limits
from planner.model import COST, TRUE, Goal, SoftGoal
from planner.policies.decision import Aim, Hopes, Objective
from planner.policies.evaluation import Declared
from planner.policies.lao_star import Bounds, search_all_states, search_promising_states
from planner.policies.markov_decision_process import Graph
from planner.policies.process_grounding import process_of

LIMIT = 80
UNCERTAIN = Features(uncertain=True, decimals=True)


def never():
    pass


def solved(problem, objective, solve, *, penalty=None, budget=None):
    """Return the values of the initial state, with costs in units of the problem."""
    if budget is not None:
        problem = replace(problem, budgets={COST: budget})
    process = process_of(problem, Limits())
    units = process.task.resolution
    hopes = Hopes(process, never) if solve is search_promising_states else None
    aim = Aim(process, objective, None if penalty is None else penalty * units, hopes)
    bounds = Bounds(())
    solve(Graph(process, aim), bounds, never)
    assert bounds.proved
    return (*bounds.values[:-1], bounds.values[-1] / units)


def tasks(seed, **options):
    """Return a random problem, its declared options and states; skips what is too large."""
    problem = random_problem(seed, UNCERTAIN)
    declared = Declared(problem)
    found, states = declared_options(declared, problem.goal.hard, limit=LIMIT, **options)
    if found is None:
        pytest.skip("too many states")
    return problem, found, states


@pytest.mark.parametrize("seed", range(100))
def test_success(seed):
    problem, options, states = tasks(seed)
    expected = success(options, [state.holds(problem.goal.hard) for state in states])
    assert solved(problem, Objective.SUCCESS, search_all_states) == pytest.approx(expected, abs=1e-7)
    assert solved(problem, Objective.SUCCESS, search_promising_states) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("seed", range(300, 360))
def test_cost_with_a_penalty(seed):
    problem, options, states = tasks(seed)
    penalty = 4
    stops = [0.0 if state.holds(problem.goal.hard) else penalty for state in states]
    expected = (least(options, stops)[0],)
    assert solved(problem, Objective.COST, search_all_states, penalty=penalty) == pytest.approx(expected, abs=1e-7)
    assert solved(problem, Objective.COST, search_promising_states, penalty=penalty) == pytest.approx(
        expected, abs=1e-7
    )


@pytest.mark.parametrize("seed", range(500, 560))
def test_success_within_a_budget(seed):
    problem, options, states = tasks(seed, budget=3)
    expected = success(options, [state.holds(problem.goal.hard) for state in states])
    assert solved(problem, Objective.SUCCESS, search_all_states, budget=3) == pytest.approx(expected, abs=1e-7)
    assert solved(problem, Objective.SUCCESS, search_promising_states, budget=3) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("seed", range(700, 760))
def test_utility_within_a_budget(seed):
    budget = 3 if seed % 2 else None
    problem = random_problem(seed, UNCERTAIN)
    rng = random.Random(seed)
    *_, far = islice(reachable(problem), rng.randint(2, 20))
    others = sorted(far.facts ^ frozenset(problem.initial), key=str) or [TRUE]
    wishes = (SoftGoal(problem.goal.hard, 2), *[SoftGoal(fact, 3) for fact in rng.choices(others, k=2)])
    problem = replace(problem, goal=Goal(TRUE if seed % 3 else problem.goal.hard, wishes))
    declared = Declared(problem)
    options, states = declared_options(declared, problem.goal.hard, budget=budget, absorbing=False, limit=LIMIT)
    if options is None:
        pytest.skip("too many states")
    goals = [state.holds(problem.goal.hard) for state in states]
    gains = [sum(wish.utility for wish in wishes if state.holds(wish.condition)) for state in states]
    expected = utility(options, goals, gains)
    assert solved(problem, Objective.UTILITY, search_all_states, budget=budget) == pytest.approx(expected, abs=1e-7)
    assert solved(problem, Objective.UTILITY, search_promising_states, budget=budget) == pytest.approx(
        expected, abs=1e-7
    )
