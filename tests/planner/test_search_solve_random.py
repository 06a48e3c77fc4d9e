"""The whole pipeline on random declared problems: its optimum is that of brute force over the declared states."""

from __future__ import annotations

import pytest
from brute_force import TooManyStates, brute_force
from effort import examples
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from benchmarks.random_problems import random_problem
from planner.plan import Status
from planner.solve import solve
from planner.validation.validate import validate

CONFIGURATIONS = [
    {"mode": "anytime"},
    {"mode": "optimal"},
    {"search": "astar", "heuristic": "hmax"},
    {"search": "weighted"},
    {"search": "uniform"},
]


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(seed=st.integers(0, 10**9))
def test_the_optimum_is_that_of_brute_force(seed):
    problem = random_problem(seed)
    try:
        optimum = brute_force(problem, max_states=400)
    except TooManyStates:
        assume(False)
    for options in CONFIGURATIONS:
        result = solve(problem, **options, time_limit=None)
        assert result.status is (Status.UNSOLVABLE if optimum is None else Status.OPTIMAL), options
        assert result.cost == optimum, options


@pytest.mark.parametrize("options", [{"mode": "first"}, {"search": "greedy"}, {"search": "breadth"}])
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(seed=st.integers(0, 10**9))
def test_first_plans_are_valid_and_bounds_hold(options, seed):
    problem = random_problem(seed)
    try:
        optimum = brute_force(problem, max_states=400)
    except TooManyStates:
        assume(False)
    result = solve(problem, **options, time_limit=None)
    assert result.has_plan == (optimum is not None)
    if result.plan is not None:
        assert validate(problem, result.plan).valid
        assert result.lower_bound <= optimum <= result.cost
        assert result.status is not Status.OPTIMAL or result.cost == optimum
