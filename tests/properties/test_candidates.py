"""Candidates against brute force, on random tasks: the same plans, by cost, each once."""

from __future__ import annotations

from itertools import islice

import pytest
from candidate_twins import Traces, enumerated, leads_to_goal
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import random_task, unit_costs

from planner.candidates.commuting import Commuting
from planner.candidates.explore import Explored
from planner.candidates.listing import Listing
from planner.heuristics import REGISTRY
from planner.heuristics.kind import never
from planner.search import Space
from planner.task import INFINITY

seeds = st.integers(0, 10**9)
SEQUENCES = 1_000
PLANS = 40
KINDS = {
    "strips": {"conditional": False, "axioms": False, "max_cost": 0},
    "costs": {"conditional": False, "axioms": False},
    "zero": {"conditional": False, "axioms": False, "max_cost": 1},
    "adl": {},
}


def task_of(kind, seed):
    task = random_task(seed, **KINDS[kind])
    return unit_costs(task) if kind == "strips" else task


def explored(task, wasteful):
    space = Space(task)
    return Explored(space, REGISTRY["lmcut"].build(task, space.costs, never), past_goals=wasteful)


def listing(task, exploration, orders, wasteful, limit=lambda _: INFINITY - 1):
    costs = [action.cost for action in task.actions]
    commuting = None if orders else Commuting(task)
    return Listing(exploration, costs, commuting, limit, never, frugal=not wasteful)


def check(task, exploration, orders, wasteful):
    """Compare the plans up to the cost that brute force has got to."""
    expected, all_of_them = enumerated(task, orders=orders, wasteful=wasteful, most=SEQUENCES, plans=PLANS)
    listed = listing(task, exploration, orders, wasteful)
    found = [tuple(plan) for plan in islice((plan for plan in listed.plans() if plan is not None), PLANS)]
    costs = [sum(task.actions[action].cost for action in plan) for plan in found]
    assert costs == sorted(costs)
    assert all(leads_to_goal(task, plan) for plan in found)
    assert len(set(found)) == len(found)
    traces = Traces(task)
    if all_of_them:
        assert sorted(zip(costs, found, strict=True)) == sorted(expected)
        assert len(found) == PLANS or listed.lower_bound == INFINITY
        return len(expected)
    assert costs[: len(expected)] == [cost for cost, _ in expected]
    last = expected[-1][0] if expected else 0
    wanted = {key for cost, key in expected if cost < last}
    assert {
        plan if orders else traces.first(plan) for cost, plan in zip(costs, found, strict=True) if cost < last
    } == wanted
    return len(wanted)


@pytest.mark.parametrize("wasteful", [False, True])
@pytest.mark.parametrize("orders", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=80)
@given(seed=seeds)
def test_the_plans_are_those_of_brute_force(kind, orders, wasteful, seed):
    task = task_of(kind, seed)
    check(task, explored(task, wasteful), orders, wasteful)
