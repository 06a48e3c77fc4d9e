"""Hierarchical planning against the enumeration of decompositions."""

import pytest

from benchmarks.htn_brute import TooManyNetworks, cheapest
from benchmarks.random_hierarchies import ORDERED, HtnFeatures, random_htn
from htn.model import HtnProblem
from htn.verification.plan_verification import validate
from planner.plan import Result, Status
from planner.solve import solve

SEEDS = range(100)
SEQUENCES = HtnFeatures(partial=False)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", ["anytime", "optimal"])
def test_the_optimum_of_ordered_tasks_is_that_of_enumeration(seed, mode):
    problem = random_htn(seed, SEQUENCES)
    best, result = cheapest(problem), solve(problem, mode=mode, time_limit=None)
    assert result.status is (Status.UNSOLVABLE if best is None else Status.OPTIMAL)
    if best is not None:
        assert replayed(problem, result) == best


@pytest.mark.parametrize("seed", SEEDS)
def test_tasks_that_recur_anywhere_are_never_proved_wrongly(seed):
    problem = random_htn(seed, ORDERED)
    best, result = cheapest(problem), solve(problem, time_limit=1)
    if result.has_plan:
        assert replayed(problem, result) >= best >= result.lower_bound
    if result.status is Status.UNSOLVABLE:
        assert best is None
    if result.status is Status.OPTIMAL:
        assert result.cost == best


@pytest.mark.parametrize("seed", SEEDS)
def test_a_first_plan_decomposes_the_tasks(seed):
    problem = random_htn(seed)
    result = solve(problem, mode="first", time_limit=5)
    if result.has_plan:
        assert replayed(problem, result) >= result.lower_bound
    elif result.status is Status.UNSOLVABLE:
        try:
            assert cheapest(problem) is None
        except TooManyNetworks:
            pytest.skip("too many networks to enumerate")


def replayed(problem: HtnProblem, result: Result):
    verdict = validate(problem, result.plan)
    assert verdict.valid, verdict.reason
    return verdict.cost
