"""The decomposition with the most net benefit is the one that enumeration finds."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from effort import share
from random_tasks import with_random_constraints, with_random_wishes

from benchmarks.htn_brute import TooManyNetworks, cheapest
from benchmarks.random_hierarchies import PARTIAL, USUAL, HtnFeatures, random_htn
from htn.verification.plan_verification import validate
from planner.model import Metric
from planner.plan import Status
from planner.solve import solve

SEQUENCES = HtnFeatures(partial=False)


def wishful(seed, features):
    rng = random.Random(seed)
    problem = random_htn(rng, features)
    classical = with_random_wishes(problem.classical, rng, USUAL)
    if rng.random() < 0.5:
        classical = with_random_constraints(classical, rng, USUAL, soft=0.7)
    if rng.random() < 0.2:
        classical = replace(classical, metric=Metric.LENGTH)
    return replace(problem, classical=classical, domain=replace(problem.domain, classical=classical.domain))


@pytest.mark.parametrize("features", [SEQUENCES, PARTIAL], ids=["sequences", "any order"])
def test_the_net_benefit_of_tasks_is_the_most(features):
    settled = forgone = granted = 0
    for seed in share(range(60), 4):
        problem = wishful(seed, features)
        try:
            best = cheapest(problem, 2000)
        except TooManyNetworks:
            continue
        result = solve(problem, time_limit=2)
        assert result.status is not Status.UNSOLVABLE if best is not None else not result.has_plan, seed
        if result.plan is None:
            continue
        verdict = validate(problem, result.plan)
        assert verdict.valid, verdict.reason
        assert verdict.forgone == result.forgone
        assert all(step.action in problem.domain.classical.actions for step in result.plan.steps)
        assert result.plan.charge >= best >= (result.lower_bound or 0), seed
        if result.status is Status.OPTIMAL:
            assert result.plan.charge == best, seed
            settled += 1
        forgone += bool(result.forgone)
        granted += bool(problem.classical.wishes and result.utility)
    assert min(settled, forgone, granted) > 1
