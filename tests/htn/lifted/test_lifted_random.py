"""Depth-first search without grounding: what it finds are plans, and where tasks are ordered it misses none."""

import pytest

from benchmarks.htn_brute import cheapest
from benchmarks.random_hierarchies import ORDERED, PARTIAL, HtnFeatures, random_htn
from htn.lifted.compiled_problem import compile_problem, plan_by
from htn.lifted.depth_first import DepthFirst
from htn.verification.plan_verification import validate
from planner.search.search_run import Ending

SEEDS = range(70)
SEQUENCES = HtnFeatures(partial=False)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("features", [SEQUENCES, ORDERED], ids=["tails", "anywhere"])
@pytest.mark.parametrize("seed", SEEDS)
def test_there_is_a_plan_exactly_where_enumeration_finds_one(seed, features, backwards):
    problem = random_htn(seed, features)
    plan = first_plan(problem, backwards=backwards)
    best = cheapest(problem)
    assert (plan is None) == (best is None)
    if plan is not None:
        verdict = validate(problem, plan)
        assert verdict.valid, verdict.reason
        assert verdict.cost == plan.cost >= best


@pytest.mark.parametrize("seed", SEEDS)
def test_where_tasks_are_not_ordered_what_is_found_are_plans(seed):
    problem = random_htn(seed, PARTIAL)
    plan = first_plan(problem, backwards=False)
    assert plan is None or validate(problem, plan).valid


def first_plan(problem, *, backwards):
    made = compile_problem(problem, backwards=backwards)
    search = DepthFirst(made)
    steps = search.steps()
    for _ in range(5000):
        try:
            next(steps)
        except StopIteration as stop:
            return plan_by(search.ways, made, problem) if stop.value is Ending.FIRST_PLAN else None
    raise AssertionError("the search does not end")
