"""The plan with the most net benefit is the one that brute force finds."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from brute_force import TooManyStates, brute_force_plan
from effort import share
from random_tasks import with_random_constraints, with_random_wishes

from benchmarks.random_problems import ALL, random_problem
from planner import Status, solve, validate
from planner.compilations.driver import value_plan
from planner.model import Goal


def wishful(seed):
    rng = random.Random(seed)
    problem = random_problem(rng)
    if rng.random() < 0.7:
        problem = with_random_constraints(problem, rng, ALL, soft=0.7)
    return with_random_wishes(problem, rng, ALL)


def free(problem):
    """Return `problem` with nothing wished for."""
    hard = tuple([each for each in problem.constraints if each.utility is None])
    return replace(problem, goal=Goal(problem.goal.hard), constraints=hard)


@pytest.mark.parametrize("block", range(6))
def test_the_net_benefit_is_the_most(block):
    dearer = forgone = 0
    for seed in range(60 * block, 60 * block + 60):
        problem = wishful(seed)
        try:
            expected = brute_force_plan(problem, max_states=150)
        except TooManyStates:
            continue
        result = solve(problem, time_limit=None)
        if expected is None:
            assert result.status is Status.UNSOLVABLE, seed
            continue
        assert result.status is Status.OPTIMAL, seed
        verdict = validate(problem, result.expect_plan())
        assert verdict.valid
        assert verdict.forgone == result.forgone
        best = value_plan(expected, validate(problem, expected))
        assert result.expect_plan().charge == best.charge, seed
        if problem.wishes:
            assert result.net_benefit == result.most_net_benefit == best.utility - best.cost
            forgone += bool(result.forgone)
            dearer += result.cost > solve(free(problem), time_limit=None).cost
    assert forgone > 5
    assert dearer


@pytest.mark.parametrize("search", [None, "greedy", "weighted", "bfws"])
def test_every_plan_gains_what_is_said_and_no_more_than_the_bound(search):
    plans = 0
    for seed in share(range(40), 4):
        problem = wishful(seed)
        result = solve(problem, mode="anytime" if search else "first", search=search, time_limit=None)
        if result.plan is not None and problem.wishes:
            plans += 1
            verdict = validate(problem, result.plan)
            assert (verdict.valid, verdict.forgone) == (True, result.forgone)
            best = solve(problem, time_limit=None)
            assert result.net_benefit <= best.net_benefit <= result.most_net_benefit
            assert result.gap >= 0
    assert plans > 1
