"""Plans on suppositions, against all ways in which unknown facts may turn out, one by one."""

from __future__ import annotations

import random

import pytest
from brute_force import TooManyStates, brute_force
from effort import share
from unknown_random import careful, random_unknown

from planner import Status, patch, solve, validate
from planner.testing import enumerate_worlds


@pytest.mark.drawn
@pytest.mark.parametrize("part", share(range(4), 4))
def test_plans_work_wherever_what_they_suppose_holds(part) -> None:
    supposing = 0
    for seed in range(15 * part, 15 * part + 15):
        problem = random_unknown(seed)
        if problem is not None:
            supposing += _check(problem, solve(problem, time_limit=None))
    assert supposing


def _replays(problem, steps, supposed) -> bool:
    """Return whether `steps` work in every world in which all that is `supposed` holds."""
    facts = [(each.fact, each.holds) for each in supposed]
    fitting = [
        world
        for _, world in enumerate_worlds(problem)
        if all((fact in world.initial) is holds for fact, holds in facts)
    ]
    return all(validate(world, steps).valid for world in fitting)


def _check(problem, result) -> bool:
    """Check all that `result` claims, and return whether its plan supposes anything."""
    try:
        cases = [(world, brute_force(world, 2000)) for _, world in enumerate_worlds(problem)]
    except TooManyStates:
        return False
    costs = [cost for _, cost in cases if cost is not None]
    if result.plan is None:
        careful = any(action.tags for action in problem.domain.actions.values())
        assert careful or not costs
        assert result.status is (Status.UNKNOWN if costs else Status.UNSOLVABLE) or careful
        assert result.status is not Status.UNSOLVABLE or not costs
        return False
    assert result.lower_bound <= min(costs)
    supposed = result.plan.suppositions
    fitting = [world for world, _ in cases if all((each.fact in world.initial) is each.holds for each in supposed)]
    assert fitting
    assert _replays(problem, result.plan.steps, supposed)
    assert all(each.steps or each.goal for each in supposed)
    assert result.status is Status.SOLVED or not supposed
    assert validate(problem, result.plan.steps).valid
    return bool(supposed)


@pytest.mark.parametrize("seed", [0, 33, 124, 136, 223, 733, 780, 951, 1732, 1874, 1893, 2202, 2630])
def test_search_and_checker_agree_on_what_irreversible_steps_rest_on(seed) -> None:
    for problem in (random_unknown(seed), careful(random_unknown(seed), 7 * seed + 1)):
        _check(problem, solve(problem, time_limit=None))


def test_patches_work_wherever_what_they_suppose_holds() -> None:
    kept = 0
    for seed in share(range(40), 4):
        problem = random_unknown(seed)
        plan = None if problem is None else solve(problem).plan
        if plan is None:
            continue
        rng = random.Random(seed)
        old = [step for step in plan.steps if rng.random() < 0.7]
        found = patch(problem, old)
        assert found.steps is not None
        kept += found.kept
        assert _replays(problem, found.steps, found.suppositions)
        assert found.steps[found.new :] == tuple(old[len(old) - found.kept :])
    assert kept
