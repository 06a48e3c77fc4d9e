"""When steps begin, on random plans: as the longest way through all pairs of steps that are in order says."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import networkx as nx
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from order_twin import ordered_pairs
from random_plans import random_plan

from planner.plan import Plan
from planner.scheduling.schedule import makespan, schedule, starts
from planner.validation.validate import check_steps

DURATIONS = (None, Decimal(0), Decimal(1), Decimal("2.5"), Decimal(7))


def timed_plan(rng):
    """Return a random plan whose actions take random times."""
    plan = random_plan(rng)
    domain = plan.problem.domain
    actions = {name: replace(each, duration=rng.choice(DURATIONS)) for name, each in domain.actions.items()}
    return Plan(plan.steps, replace(plan.problem, domain=replace(domain, actions=actions)))


def longest_ways(plan):
    """Return when each step ends at the earliest."""
    actions = plan.problem.domain.actions
    graph = nx.DiGraph(list(ordered_pairs(plan.problem, plan)))
    graph.add_nodes_from(range(1, len(plan) + 1))
    ends = {}
    for number in sorted(graph):
        begin = max((ends[each] for each in graph.predecessors(number)), default=0)
        ends[number] = begin + (actions[plan.steps[number - 1].action].duration or 0)
    return tuple(ends[number] for number in range(1, len(plan) + 1))


@settings(max_examples=examples(150))
@given(st.randoms(use_true_random=False))
def test_steps_end_when_the_longest_way_to_them_does(rng):
    plan = timed_plan(rng)
    assume(len(plan) > 1)
    found = schedule(plan)
    assert found.ends == longest_ways(plan)
    assert makespan(plan) == max(found.ends)
    assert starts(plan) == found.starts
    path = found.critical_path
    assert found.starts[path[0] - 1] == 0
    assert found.ends[path[-1] - 1] == found.makespan
    for one, other in pairwise(path):
        assert found.ends[one - 1] == found.starts[other - 1]


@settings(max_examples=examples(100))
@given(st.randoms(use_true_random=False))
def test_the_plan_checker_holds_plans_to_the_deadline(rng):
    plan = timed_plan(rng)
    needed = makespan(plan)
    assert check_steps(replace(plan.problem, deadline=needed), plan.steps).valid
    assume(needed)
    verdict = check_steps(replace(plan.problem, deadline=needed - Decimal("0.5")), plan.steps)
    assert not verdict.valid
    assert verdict.reason == f"the plan takes {needed} seconds, and the deadline is {needed - Decimal('0.5')}"
