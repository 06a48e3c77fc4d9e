"""What is said to be proved about problems without a plan is true of random ones."""

import pytest
from effort import share

from benchmarks.htn_brute import TooManyNetworks, cheapest
from benchmarks.random_hierarchies import ORDERED, PARTIAL, WILD, HtnFeatures, random_htn
from htn.explain.dead_end_search import FirstChoices, search_dead_ends
from htn.explain.impossible_tasks import RelaxedHierarchy, find_impossible_tasks
from htn.explain.task_explanations import explain_plan, explain_unsolvable
from planner import solve
from planner.limits import Limits

KINDS = [ORDERED, PARTIAL, HtnFeatures(classical=WILD)]


@pytest.mark.parametrize("features", KINDS)
def test_a_proof_is_given_only_where_there_is_no_plan(features):
    solvable = proved = 0
    for seed in share(range(60), 3):
        problem = random_htn(seed, features)
        try:
            cost = cheapest(problem, 1_000)
        except TooManyNetworks:
            continue
        found = explain_unsolvable(problem, Limits(10))
        if cost is None:
            assert not found.solvable, seed
            assert found.proved or found.stopped_by is None, seed
            proved += found.proved
        else:
            assert not found.proved, (seed, str(found))
            assert found.dead_ends == () or not found.exhausted, seed
            solvable += found.solvable
        assert bool(found.summary) is bool(found.failures or found.goal or found.dead_ends), seed
    assert solvable > 2
    assert proved


@pytest.mark.parametrize("features", KINDS)
def test_what_is_pulled_up_rules_out_what_is_ruled_out_anyway(features):
    same = 0
    for seed in range(40):
        problem = random_htn(seed, features)
        exact, pulled = (
            find_impossible_tasks(RelaxedHierarchy(problem, Limits())),
            find_impossible_tasks(RelaxedHierarchy(problem, Limits(), pulled=True)),
        )
        assert bool(exact) is bool(pulled), seed
        same += bool(pulled)
    assert same > 1


@pytest.mark.parametrize("features", KINDS)
def test_what_is_tried_without_the_relaxed_world_is_no_proof(features):
    dead_ends = solvable = 0
    for seed in share(range(40), 2):
        problem = random_htn(seed, features)
        try:
            cost = cheapest(problem, 1_000)
        except TooManyNetworks:
            continue
        met = search_dead_ends(problem, FirstChoices(problem), Limits(10))
        assert not met.exhausted
        assert not met.solvable or cost is not None, seed
        dead_ends += bool(met.dead_ends)
        solvable += met.solvable
    assert dead_ends
    assert solvable > 1


@pytest.mark.parametrize("features", KINDS)
def test_each_step_is_there_for_a_task(features):
    steps = 0
    for seed in share(range(30), 3):
        problem = random_htn(seed, features)
        result = solve(problem, mode="first", time_limit=2)
        if result.plan is None:
            continue
        explained = explain_plan(problem, result.plan)
        roots = {str(result.plan.tree.nodes[place].task) for place in result.plan.tree.roots}
        for step, purpose in zip(result.plan.steps, explained.purposes, strict=True):
            top = purpose[-1][0] if purpose else f"{step.action}({', '.join(step.arguments)})"
            assert {top, top.removesuffix("()")} & roots, seed
        steps += len(result.plan.steps)
    assert steps > 4
