"""Pieces of plans made better: what comes out are plans, ever cheaper, and none is cheaper than enumeration knows."""

import pytest

from benchmarks.htn_brute import cheapest
from benchmarks.random_hierarchies import HtnFeatures, random_htn
from htn.grounding.ground_htn import ground
from htn.lifted.compiled_problem import compile_problem, moves_by, plan_by
from htn.lifted.depth_first import DepthFirst
from htn.search.htn_incumbent import plan_of, tree_of
from htn.search.packed_hierarchy import PackedHierarchy
from htn.search.plan_windows import PlanWindows
from htn.verification.plan_verification import validate
from planner.jit.common_kernel import ENTRIES
from planner.limits import Limits
from planner.search import Ending, Run

SEQUENCES = HtnFeatures(partial=False, steps=8)
SEEDS = range(60)
ROUNDS = 60
"""So often a search is asked to go on: windows are as long as these small plans by then."""


@pytest.mark.parametrize("seed", SEEDS)
def test_windows_make_plans_cheaper_and_never_too_cheap(seed):
    problem = random_htn(seed, SEQUENCES)
    made = compile_problem(problem, backwards=bool(seed % 2))
    search = DepthFirst(made)
    if ended(search.steps(), 10_000) is not Ending.FIRST_PLAN:
        pytest.skip("no plan to begin with")
    plan, instance = plan_by(search.ways, made, problem), ground(problem, Limits())
    moves = moves_by(search.ways, made, instance)
    board = PackedHierarchy(instance, ENTRIES)
    if moves is None or not PlanWindows.fits(board):
        pytest.skip("several ground actions for a step, or conditional effects")
    assert steps_of(problem, instance, moves) == plan.steps

    run = Run(limit=int(plan.cost * instance.task.resolution), plan=moves)
    ended(PlanWindows(board, run, lambda: run.plan).steps(), ROUNDS)
    better = plan_of(tree_of(instance, run.plan), problem, instance)
    verdict = validate(problem, better)
    assert verdict.valid, verdict.reason
    assert cheapest(problem) <= verdict.cost <= plan.cost
    assert verdict.cost * instance.task.resolution == run.limit


def steps_of(problem, instance, moves):
    return plan_of(tree_of(instance, moves), problem, instance).steps


def ended(steps, rounds):
    for _ in range(rounds):
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value
    return None
