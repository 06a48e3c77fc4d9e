"""Plans on suppositions, against all ways in which unknown facts may turn out, one by one."""

from __future__ import annotations

import pytest

from planner import Status, solve, validate
from planner.testing import TooManyStates, brute_force, worlds
from tests.unknown_random import random_unknown


@pytest.mark.parametrize("part", range(4))
def test_plans_work_wherever_what_they_suppose_holds(part) -> None:
    supposing = 0
    for seed in range(15 * part, 15 * part + 15):
        problem = random_unknown(seed)
        if problem is not None:
            supposing += _check(problem, solve(problem, time_limit=None))
    assert supposing


def _check(problem, result) -> bool:
    """Check all that `result` claims, and return whether its plan supposes anything."""
    try:
        cases = [(world, brute_force(world, 2000)) for _, world in worlds(problem)]
    except TooManyStates:
        return False
    costs = [cost for _, cost in cases if cost is not None]
    if result.plan is None:
        careful = any(action.tags for action in problem.domain.actions.values())
        assert careful or not costs
        assert result.status in (Status.UNKNOWN, Status.UNSOLVABLE)
        return False
    assert result.lower_bound <= min(costs)
    supposed = result.plan.suppositions
    fitting = [world for world, _ in cases if all((each.fact in world.initial) is each.holds for each in supposed)]
    assert fitting
    assert all(validate(world, result.plan.steps).valid for world in fitting)
    assert all(each.steps or each.goal for each in supposed)
    assert result.status is Status.SOLVED or not supposed
    assert validate(problem, result.plan.steps).valid
    return bool(supposed)
