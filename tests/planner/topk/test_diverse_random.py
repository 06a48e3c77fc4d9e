"""Diverse sets against brute force: within a factor of two of the best; what is drawn is what is listed."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, islice

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.random_hierarchies import random_htn
from benchmarks.random_problems import Features, random_problem
from planner import StoppedBy, candidates, causal_links, diverse
from planner.problem_kinds import classical_of

pytestmark = pytest.mark.usefixtures("counted_clock")

seeds = st.integers(0, 10**9)
SMALL = Features(actions=3)
MOST = 8
WITHIN = 3


def problem_of(kind, seed):
    return random_problem(seed, SMALL) if kind == "classical" else random_htn(seed)


def actions(plan):
    return Counter(str(step) for step in plan.steps)


def links(plan):
    names = ["start", *map(str, plan.steps), "end"]
    found = causal_links(classical_of(plan.problem), plan)
    return Counter((names[each.provider], str(each.condition), names[each.consumer]) for each in found)


def apart(one, other):
    either = sum(max(one[each], other[each]) for each in {*one, *other})
    both = sum(min(one[each], other[each]) for each in {*one, *other})
    return Fraction(either - both, either) if either else Fraction(0)


def least_distance(features):
    return min(apart(one, other) for one, other in combinations(features, 2))


@pytest.mark.parametrize("kind", ["classical", "tasks"])
@pytest.mark.parametrize(("by", "features"), [("actions", actions), ("links", links)])
@settings(max_examples=examples(25))
@given(seed=seeds, k=st.integers(2, 4))
def test_the_least_distance_is_half_of_the_best_at_least(kind, by, features, seed, k):
    problem = problem_of(kind, seed)
    listed = candidates(problem, within=WITHIN, time_limit=0.3)
    plans = [*islice(listed, MOST + 1)]
    if listed.stopped_by is not StoppedBy.EXHAUSTED:
        return
    found = diverse(problem, k, by=by, within=WITHIN, time_limit=None)
    assert found.diversity.all_seen
    assert found.diversity.seen == len(plans)
    assert {plan.steps for plan in found.plans} <= {plan.steps for plan in plans}
    assert [plan.cost for plan in found.plans] == sorted(plan.cost for plan in found.plans)
    assert found.plans[:1] == () if not plans else found.plans[0].cost == plans[0].cost
    mine = [features(plan) for plan in found.plans]
    assert found.diversity.distances == tuple(tuple(apart(one, other) for other in mine) for one in mine)
    if len(mine) >= 2:
        assert found.diversity.least == least_distance(mine) > 0
        best = max(map(least_distance, combinations(map(features, plans), len(mine))))
        assert 2 * found.diversity.least >= best
    if len(mine) < min(k, len(plans)):
        assert all(any(not apart(features(plan), each) for each in mine) for plan in plans)


@pytest.mark.parametrize("kind", ["classical", "tasks"])
@settings(max_examples=examples(40))
@given(seed=seeds)
def test_what_is_drawn_is_what_would_be_listed(kind, seed):
    problem = problem_of(kind, seed)
    listed = candidates(problem, within=WITHIN, time_limit=0.3, orders=True)
    plans = [*listed]
    if listed.stopped_by is not StoppedBy.EXHAUSTED or len(plans) < 2:
        return
    drawing = candidates(problem, within=WITHIN, time_limit=None, orders=True)
    first = next(drawing)
    drawn = [plan for plan in islice(drawing.draw(seed, set), 50) if plan is not None]
    assert drawn
    assert len({plan.steps for plan in drawn}) == len(drawn)
    assert {plan.steps for plan in drawn} <= {plan.steps for plan in plans} - {first.steps}
