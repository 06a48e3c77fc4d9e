"""Candidates against brute force, on random tasks: the same plans, by cost, each once."""

from __future__ import annotations

from itertools import islice

import pytest
from candidate_twins import Traces, enumerated, leads_to_goal
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import finished, random_task, unit_costs

from planner.heuristics import REGISTRY
from planner.jit import library
from planner.limits import never
from planner.portfolio.workplace import Workplace
from planner.search import Ending, Run, Space
from planner.search.task_compiled import Board
from planner.task.ground_task import INFINITY
from planner.topk.exploration import Explored, Race, Tiered
from planner.topk.exploration_compiled import CompiledExplored
from planner.topk.partial_order_reduction import Commuting
from planner.topk.plan_enumeration import PlanEnumeration

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
    commuting = None if orders else Commuting(task, lambda: None)
    return PlanEnumeration(Space(task), exploration, commuting, limit, never, frugal=not wasteful)


def check(task, exploration, orders, wasteful):
    """Compare the plans up to the cost that brute force has got to."""
    most = SEQUENCES // 3 if wasteful else SEQUENCES
    expected, complete = enumerated(task, orders=orders, wasteful=wasteful, most=most, plans=PLANS)
    last = INFINITY - 1 if complete else expected[-1][0] if expected else 0
    listed = listing(task, exploration, orders, wasteful, lambda _: last)
    found = [tuple(plan) for plan in islice((plan for plan in listed.plans() if plan is not None), PLANS)]
    costs = [sum(task.actions[action].cost for action in plan) for plan in found]
    assert costs == sorted(costs)
    assert all(leads_to_goal(task, plan) for plan in found)
    assert len(set(found)) == len(found)
    if complete:
        assert sorted(zip(costs, found, strict=True)) == sorted(expected)
        assert len(found) == PLANS or listed.lower_bound == INFINITY
    else:
        traces = Traces(task)
        assert costs[: len(expected)] == [cost for cost, _ in expected]
        cheaper = [plan for cost, plan in zip(costs, found, strict=True) if cost < last]
        wanted = {plan for cost, plan in expected if cost < last}
        assert {plan if orders else traces.sort_steps(plan) for plan in cheaper} == wanted


@pytest.mark.parametrize("wasteful", [False, True])
@pytest.mark.parametrize("orders", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(80))
@given(seed=seeds)
def test_the_plans_are_those_of_brute_force(kind, orders, wasteful, seed):
    task = task_of(kind, seed)
    check(task, explored(task, wasteful), orders, wasteful)


PLAIN = library.ENTRIES


@pytest.mark.parametrize("wasteful", [False, True])
@pytest.mark.parametrize("heuristic", ["blind", "lmcut"])
@settings(max_examples=examples(80))
@given(seed=seeds, kind=st.sampled_from(sorted(KINDS)))
def test_kernels_explore_what_their_twin_does(heuristic, wasteful, seed, kind):
    task = task_of(kind, seed)
    twin = explored(task, wasteful)
    found = CompiledExplored(Board(task, PLAIN), heuristic, past_goals=wasteful, work=50, room=1)
    assert finished(found.find_first_plan()) is finished(twin.find_first_plan()) is Ending.EXHAUSTED
    assert found.optimum == twin.optimum
    for more in range(4) if twin.optimum is not None else ():
        bound = twin.optimum + more
        assert finished(found.expand_through(bound)) is finished(twin.expand_through(bound)) is Ending.EXHAUSTED
        compare(found.part(bound), twin.part(bound))


def compare(found, twin):
    """Walk through two parts side by side."""
    pairs, waiting = {found.start: twin.start}, [found.start]
    while waiting:
        mine = waiting.pop()
        theirs = pairs[mine]
        assert found.distance(mine) == twin.distance(theirs)
        if twin.distance(theirs) < INFINITY:
            assert found.is_goal(mine) == twin.is_goal(theirs)
            assert [*found.edges(mine)] == [*twin.edges(theirs)]
            for action, child in found.edges(mine).items():
                if child not in pairs:
                    waiting.append(child)
                assert pairs.setdefault(child, twin.edges(theirs)[action]) == twin.edges(theirs)[action]


@settings(max_examples=examples(80))
@given(seed=seeds, kind=st.sampled_from(sorted(KINDS)), orders=st.booleans(), wasteful=st.booleans())
def test_the_plans_of_kernels_are_those_of_brute_force(seed, kind, orders, wasteful):
    task = task_of(kind, seed)
    check(task, CompiledExplored(Board(task, PLAIN), "lmcut", past_goals=wasteful, work=50, room=1), orders, wasteful)


@settings(max_examples=examples(60))
@given(seed=seeds, kind=st.sampled_from(sorted(KINDS)), orders=st.booleans(), wasteful=st.booleans())
def test_when_one_exploration_gives_up_another_goes_on(seed, kind, orders, wasteful):
    task = task_of(kind, seed)
    workplace = Workplace(task, Space(task), Run(), never)
    blind = Tiered(workplace, "blind", past_goals=wasteful, states=seed % 20)
    guided = Tiered(workplace, "lmcut", past_goals=wasteful)
    check(task, Race([(blind, 5), (guided, 1)]), orders, wasteful)
