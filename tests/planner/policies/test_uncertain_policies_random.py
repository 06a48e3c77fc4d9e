"""Policies of random problems are worth what they claim, by the declared problem, and survive being written."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks.random_problems import Features, random_problem
from planner import Objective, Policy, Status, decide, evaluate, executions
from planner.model import COST, Goal, SoftGoal

UNCERTAIN = Features(uncertain=True, decimals=True)
WAYS = {
    "success": {},
    "cost": {"objective": Objective.COST, "penalty": 5},
    "utility": {"objective": Objective.UTILITY},
}


def decided(seed, way):
    problem = random_problem(seed, UNCERTAIN)
    if way == "utility":
        wishes = tuple([SoftGoal(fact, 2) for fact in problem.initial[:3]])
        problem = replace(problem, goal=Goal(problem.goal.hard, wishes), budgets={COST: 4})
    return problem, decide(problem, time_limit=5, **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_policies_are_worth_what_they_claim(seed, way):
    problem, decision = decided(seed, way)
    policy = decision.policy
    if policy is None:
        assert decision.status in (Status.UNSOLVABLE, Status.UNKNOWN)
        return
    worth = evaluate(problem, policy)
    assert (worth.success, worth.cost, worth.utility) == pytest.approx((policy.success, policy.cost, policy.utility))
    if decision.status is Status.OPTIMAL:
        assert decision.expected_cost == pytest.approx(decision.cost_bound, abs=1e-7)
    again = Policy.from_dict(json.loads(json.dumps(policy.to_dict())), problem)
    assert again == policy
    assert str(again) == str(policy)


@pytest.mark.parametrize("seed", range(1000, 1010))
def test_executions_keep_budgets_and_take_only_steps_that_can_be_taken(seed):
    problem, decision = decided(seed, "utility")
    if decision.policy is not None:
        runs = [*executions(problem, decision.policy, 20)]
        assert all(run.cost <= 4 for run in runs)
        assert runs == [*executions(problem, decision.policy, 20)]
