"""Policies that sense, against value iteration over beliefs about the declared problem."""

from __future__ import annotations

from dataclasses import replace

import pytest
from effort import share
from uncertain_twin import least, success
from unknown_random import random_unknown
from unknown_twin import Beliefs, belief_options

from benchmarks.random_problems import Features
from planner import Objective, Status, decide
from planner.model import Metric

PLAIN = Features(
    objects=3,
    actions=4,
    disjunctive=False,
    quantified=False,
    conditional=False,
    universal=False,
    axioms=False,
    stale=False,
)
UNCERTAIN = Features(**{name: getattr(PLAIN, name) for name in PLAIN.__slots__} | {"uncertain": True})


def tasks(seeds, features):
    """Yield random problems with their options over beliefs, and where the goal is known; those that are small."""
    for seed in seeds:
        problem = random_unknown(seed, features, 3)
        options, ends = (None, None) if problem is None else belief_options(Beliefs(problem), problem.goal.hard)
        if options is not None:
            yield problem, options, ends


@pytest.mark.parametrize("features", [PLAIN, UNCERTAIN], ids=["certain", "uncertain"])
@pytest.mark.parametrize("part", share(range(4), 4))
@pytest.mark.drawn
def test_the_best_policy_is_found(features, part) -> None:
    sensing = 0
    for problem, options, ends in tasks(range(20 * part, 20 * part + 20), features):
        likely, cost = success(options, ends)
        found = decide(problem, time_limit=None)
        if found.policy is None:
            assert (found.status, likely) == (Status.UNKNOWN, 0)
            continue
        assert (found.status, found.validated) == (Status.OPTIMAL, True)
        assert (found.policy.success, found.policy.cost) == pytest.approx((likely, cost), abs=1e-6)
        sensing += any(node.supposed or len(node.branches) > 1 for node in found.policy.nodes)
    assert sensing


def test_the_least_cost_is_found_where_giving_up_has_a_price() -> None:
    for problem, options, ends in tasks(range(100, 130), PLAIN):
        expected = least(options, [0.0 if end else 3.0 for end in ends])[0]
        found = decide(problem, objective=Objective.COST, penalty=3, time_limit=None)
        assert found.expected_cost == pytest.approx(expected, abs=1e-6)


def actions_of(problem):
    return problem.domain.actions.values()


def test_a_budget_on_the_cost_is_one_on_money_that_each_step_costs() -> None:
    kept = 0
    for problem, _, _ in tasks(range(200, 240), PLAIN):
        prices = {each.name: (1,) if problem.metric is Metric.LENGTH else each.cost for each in actions_of(problem)}
        actions = {each.name: replace(each, uses={"money": prices[each.name]}) for each in actions_of(problem)}
        paid = replace(problem, domain=replace(problem.domain, actions=actions))
        for most in (1, 2, 4):
            found = decide(replace(problem, budgets={"cost": most}), time_limit=None)
            other = decide(replace(paid, budgets={"money": most}), time_limit=None)
            assert (found.status, found.expected_cost) == (other.status, other.expected_cost)
            if found.policy is not None and other.policy is not None:
                assert found.validated
                assert found.policy.success == pytest.approx(other.policy.success)
                kept += 1
    assert kept > 20
