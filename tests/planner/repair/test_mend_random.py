"""Mended plans keep as much as trying every choice says, and they work."""

from __future__ import annotations

import random

import pytest
import random_plans
import repair_twins
from brute_force import TooManyStates

from benchmarks.random_problems import STRIPS, Features
from planner.plan import Status, Step
from planner.repair.mending import mend
from planner.validation.validate import validate

FEATURES = [Features(objects=3), STRIPS, Features(objects=3, decimals=True), Features(actions=4, axioms=False)]


def foreign(rng, features):
    """Return a problem, and a plan that was spoiled a few times."""
    plan = random_plans.random_plan(rng, features, longest=6)
    for _ in range(rng.randint(1, 3)):
        plan = random_plans.spoiled(plan, rng)
    steps = list(plan.steps)
    if rng.random() < 0.2:
        steps.insert(rng.randint(0, len(steps)), Step("dance", ()))
    return plan.problem, tuple(steps)


def check(problem, steps):
    """Compare a mended plan with its twin; return what was left out."""
    expected = repair_twins.best_mending(problem, steps)
    found = mend(problem, steps, time_limit=None)
    if expected is None:
        assert found.status is Status.UNSOLVABLE
        assert found.steps is None
        return None
    assert found.status is Status.OPTIMAL
    assert (len(found.left_out), found.extra) == expected
    assert len(found.origins) == len(found.steps)
    assert list(found.kept) == sorted(set(found.kept))
    assert [str(found.steps[n]) for n, origin in enumerate(found.origins) if origin is not None] == [
        str(steps[origin]) for origin in found.kept
    ]
    assert found.extra == sum(found.steps[place].cost for place in found.inserted)
    verdict = validate(problem, found.steps, claimed_cost=found.cost)
    assert verdict.valid, verdict.reason
    return found.left_out


@pytest.mark.parametrize("features", range(len(FEATURES)))
@pytest.mark.parametrize("block", range(2))
def test_no_plan_keeps_more(block, features):
    left = []
    for seed in range(1000 * block, 1000 * block + 45):
        problem, steps = foreign(random.Random(seed), FEATURES[features])
        try:
            left.append(check(problem, steps))
        except TooManyStates:
            continue
    assert sum(each is not None for each in left) > 12
    assert sum(bool(each) for each in left) > 2
