"""Actions that come `after` others, in time: those have ended before."""

from __future__ import annotations

from typing import Any

import pytest

from planner import Domain, Step, solve, validate
from planner.lightweight import replace
from planner.model import Atom, Problem
from planner.plan import Plan, StepTime


def declare(**announce: Any) -> Problem:
    domain = Domain("shop", types=["parcel"])
    domain.action("announce", {"x": "parcel"}, **announce)
    domain.action("deliver", {"x": "parcel"}, provides=["delivered(x)"], after=["announce(x)"], duration=2)
    return domain.problem(objects={"p": "parcel"}, goal=["delivered(p)"], objective="makespan + cost")


@pytest.mark.parametrize(("announce", "makespan"), [({}, "2"), ({"duration": 4}, "6")])
def test_the_other_step_has_ended_before(announce: Any, makespan: str) -> None:
    problem = declare(**announce)
    plan = solve(problem, time_limit=2).expect_plan()
    assert validate(problem, plan).valid
    assert [step.action for step in plan.steps] == ["announce", "deliver"]
    assert plan.makespan - plan.times[1].duration >= plan.times[0].end
    assert f"{plan.makespan:.0f}" == makespan


def test_a_plan_without_the_other_step_is_invalid() -> None:
    problem = declare(duration=4)
    alone = Plan((Step("deliver", ("p",)),), problem, times=(StepTime(0, 2),))
    assert "it comes after announce(p), which has not run before it" in validate(problem, alone).reason
    early = Plan((Step("announce", ("p",)), *alone.steps), problem, times=(StepTime(0, 4), StepTime(3, 2)))
    assert not validate(problem, early).valid


def test_the_other_step_may_have_run_before_the_plan_begins() -> None:
    problem = replace(declare(), ran=(Atom("announce", ("p",)),), seal=())
    assert [step.action for step in solve(problem).expect_plan().steps] == ["deliver"]
