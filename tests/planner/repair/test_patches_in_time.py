"""Patches in time: which steps come first goes by their starts."""

from __future__ import annotations

import pytest

from planner import Domain, Status, Step, patch, validate


@pytest.mark.parametrize("goal", [["tea"], ["tea", "hot"]])
def test_a_step_that_is_not_to_come_first_begins_after_another_one(goal) -> None:
    domain = Domain("kitchen")
    domain.action("left", provides=["tea"], duration=2)
    domain.action("right", provides=["tea"], duration=3)
    domain.action("warm", provides=["hot"], duration=1)
    problem = domain.problem(goal=goal, metric="minimize total-time")
    found = patch(problem, [Step("left")], not_first=[Step("left")], time_limit=2)
    assert found.status in (Status.SOLVED, Status.OPTIMAL)
    assert [step.action for step in found.steps] == ["warm", "left"]
    assert found.plan.times[0].start < found.plan.times[1].start < 1
    assert validate(problem, found.plan).valid
    assert float(found.plan.makespan) == 2.001


def test_a_step_that_is_not_to_come_first_does_not_begin_alone() -> None:
    domain = Domain("kitchen")
    domain.action("left", provides=["tea"], duration=2)
    domain.action("right", provides=["tea"], duration=3)
    problem = domain.problem(goal=["tea"], metric="minimize total-time")
    found = patch(problem, [Step("left")], not_first=[Step("left")], time_limit=2)
    assert [step.action for step in found.steps] == ["right"]
