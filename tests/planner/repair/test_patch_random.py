"""Patches are as good as trying every re-entry from every reachable state says, and they work."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import random_plans
import repair_twins
from brute_force import TooManyStates

from benchmarks.random_problems import STRIPS, Features, instances
from planner.model import Atom
from planner.plan import Status
from planner.repair.patching import patch
from planner.semantics.simulation import Simulation
from planner.validation.validate import validate

FEATURES = [Features(objects=3), STRIPS, Features(objects=3, decimals=True), Features(actions=4, axioms=False)]


def broken(rng, features):
    """Return the problem in the middle of a plan, in a world that is not as expected, and what is left of the plan."""
    plan = random_plans.random_plan(rng, features)
    if len(plan.steps) < 2:
        return None
    place = rng.randrange(len(plan.steps))
    state = Simulation(plan.problem)
    for step in plan.steps[:place]:
        state.apply(step)
    base = [each for name, each in plan.problem.domain.predicates.items() if name not in plan.problem.domain.derived]
    atoms = instances(base, plan.problem.all_objects)
    changed = set(state.facts) ^ set(rng.sample(atoms, min(len(atoms), rng.randint(1, 3))))
    ran = tuple([Atom(step.action, step.arguments) for step in plan.steps[:place]])
    problem = replace(plan.problem, initial=tuple(sorted(changed, key=str)), ran=ran)
    remaining = plan.steps[place:]
    return None if validate(problem, remaining).valid else (problem, remaining)


def check(problem, remaining, weights, fixed=(), **bans):
    """Compare patches with their twins, one for each weight; return how many there are."""
    now = repair_twins.stands_after(problem, fixed)
    ways = repair_twins.reentries(now, remaining, **bans)
    patched = 0
    for weight in weights:
        found = patch(problem, remaining, weight=weight, fixed=fixed, time_limit=None, **bans)
        patched += is_best(found, repair_twins.best(ways, weight), weight, now, remaining)
    return patched


def is_best(found, expected, weight, now, remaining):
    """Compare a patch with the best of its kind; return whether there is one."""
    if expected is None:
        assert found.status is Status.UNSOLVABLE
        assert found.steps is None
        return False
    assert found.status is Status.OPTIMAL
    assert (found.objective, found.dropped) == expected
    assert found.lower_bound == found.objective
    assert found.new + found.kept == len(found.steps)
    assert found.kept + found.dropped == len(remaining)
    kept = remaining[len(remaining) - found.kept :]
    assert [str(step) for step in found.steps[found.new :]] == [str(step) for step in kept]
    verdict = validate(now, found.steps, claimed_cost=found.cost)
    assert verdict.valid, verdict.reason
    assert found.objective == found.cost + weight * found.dropped
    return True


@pytest.mark.parametrize("features", range(len(FEATURES)))
@pytest.mark.parametrize("block", range(7))
def test_no_reentry_is_better(block, features):
    checked = patched = 0
    for seed in range(1000 * block, 1000 * block + 40):
        rng = random.Random(seed)
        case = broken(rng, FEATURES[features])
        if case is None:
            continue
        problem, remaining = case
        try:
            patched += check(problem, remaining, (0, 1, 5))
            checked += 1
        except TooManyStates:
            continue
    assert checked > 5
    assert patched > 5


@pytest.mark.parametrize("block", range(4))
def test_what_is_banned_and_what_is_running_counts(block):
    checked = patched = 0
    for seed in range(1000 * block, 1000 * block + 80):
        rng = random.Random(seed)
        case = broken(rng, FEATURES[block % len(FEATURES)])
        if case is None:
            continue
        problem, remaining = case
        steps = [*Simulation(problem).applicable(), *remaining]
        bans = {name: [step for step in steps if rng.random() < 0.2] for name in ("forbidden", "not_first")}
        fixed = [step for step in rng.sample(steps, min(2, len(steps))) if rng.random() < 0.3]
        try:
            patched += check(problem, remaining, (rng.choice([0, 1, 5]),), fixed, **bans)
            checked += 1
        except TooManyStates:
            continue
    assert checked > 12
    assert patched > 4
