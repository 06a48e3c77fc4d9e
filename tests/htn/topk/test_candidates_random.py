"""Candidates of hierarchical problems against brute force: the same plans, by cost, each once, with decompositions."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import islice

import pytest
from effort import examples
from htn_candidate_twin import HtnTraces, is_wasteful, plans
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tasks import with_random_constraints, with_random_wishes

from benchmarks.random_hierarchies import ORDERED, PARTIAL, USUAL, WILD, HtnFeatures, random_htn
from htn.verification.plan_verification import validate
from planner import StoppedBy, candidates
from planner.lightweight import replace

pytestmark = pytest.mark.usefixtures("counted_clock")

seeds = st.integers(0, 10**9)
NODES = 400
PLANS = 30
KINDS = {"ordered": ORDERED, "partial": PARTIAL, "wild": HtnFeatures(classical=WILD)}


@pytest.mark.parametrize("wasteful", [False, True])
@pytest.mark.parametrize("orders", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(12))
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


def budgeted(seed):
    rng = random.Random(seed)
    problem = random_htn(rng)
    uses = {name: {"money": (rng.randint(0, 3),)} for name in problem.domain.classical.actions}
    actions = {name: replace(each, uses=uses[name]) for name, each in problem.domain.classical.actions.items()}
    return _with(problem, actions, budgets={"money": rng.randint(0, 8)})


def wishful(seed):
    rng = random.Random(seed)
    problem = random_htn(rng)
    classical = with_random_constraints(with_random_wishes(problem.classical, rng, USUAL), rng, USUAL, soft=0.5)
    return replace(problem, classical=classical, domain=replace(problem.domain, classical=classical.domain))


def _with(problem, actions, **fields):
    classical = replace(problem.classical.domain, actions=actions)
    return replace(
        problem,
        domain=replace(problem.domain, classical=classical),
        classical=replace(problem.classical, domain=classical, **fields),
    )


@pytest.mark.parametrize("wasteful", [False, True])
@pytest.mark.parametrize("drawn", [budgeted, wishful])
@settings(max_examples=examples(30))
@given(seed=seeds)
def test_budgets_and_wishes_hold_for_the_plans_of_tasks(drawn, wasteful, seed):
    problem = drawn(seed)
    known, last = plans(problem, NODES)
    listed = candidates(problem, orders=True, wasteful=wasteful, time_limit=0.2)
    found = [*islice(listed, PLANS)]
    assert [plan.charge for plan in found] == sorted(plan.charge for plan in found)
    assert all(validate(problem, plan).valid and plan.problem is problem for plan in found)
    cheap = {plan.steps: plan.charge for plan in found if last is None or plan.charge < last}
    assert len({plan.steps for plan in found}) == len(found)
    assert cheap.items() <= known.items()
    for steps, charge in known.items():
        if listed.lower_bound is None or charge < listed.lower_bound:
            assert steps in cheap or (not wasteful and is_wasteful(known, steps))
