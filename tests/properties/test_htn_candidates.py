"""Candidates of hierarchical problems against brute force: the same plans, by cost, each once, with decompositions."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice

import pytest
from htn_candidate_twin import HtnTraces, is_wasteful, plans
from hypothesis import given, settings
from hypothesis import strategies as st

from htn.testing import ORDERED, PARTIAL, WILD, HtnFeatures, random_htn
from htn.verify import validate
from planner import StoppedBy, candidates

seeds = st.integers(0, 10**9)
NODES = 400
PLANS = 30
KINDS = {"ordered": ORDERED, "partial": PARTIAL, "wild": HtnFeatures(classical=WILD)}


@pytest.mark.parametrize("wasteful", [False, True])
@pytest.mark.parametrize("orders", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(seed=seeds)
def test_the_plans_are_those_of_brute_force(kind, orders, wasteful, seed):
    problem = random_htn(seed, KINDS[kind])
    known, last = plans(problem, NODES)
    listed = candidates(problem, orders=orders, wasteful=wasteful, time_limit=0.2)
    found = [*islice(listed, PLANS)]
    costs = [plan.cost for plan in found]
    assert costs == sorted(costs)
    assert all(validate(problem, plan).valid for plan in found)
    cheap = [plan.steps for plan in found if last is None or plan.cost < last]
    assert known.keys() >= {*cheap}
    if not wasteful:
        assert not any(is_wasteful(known, steps) for steps in cheap)
    first = (lambda steps: steps) if orders else HtnTraces(problem).first
    good, sure = defaultdict(list), defaultdict(list)
    for steps, cost in known.items():
        due = listed.lower_bound is None or cost < listed.lower_bound
        good[first(steps)].append(wasteful or not is_wasteful(known, steps))
        sure[first(steps)].append(due and good[first(steps)][-1])
    mine = [first(steps) for steps in cheap]
    assert len({*mine}) == len(mine)
    assert {*mine} <= {each for each, found in good.items() if any(found)}
    assert {*mine} >= {each for each, found in sure.items() if all(found)}
    if last is None and listed.stopped_by is StoppedBy.EXHAUSTED:
        assert listed.complete
