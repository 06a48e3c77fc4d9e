"""Plans that are no templates, and plans that a cache prices again."""

from __future__ import annotations

import pytest

from htn.language.declare import Methods
from planner import Domain, InputError, Status, UnsupportedError, solve
from planner.reuse.plan_cache import PlanCache
from planner.reuse.templates import lift


def declare() -> Domain:
    domain = Domain("door")
    domain.function("fuel", low=0)
    domain.action("open", requires=["morning"], provides=["is_open"], modifies="fuel -= 1")
    domain.action("fill", modifies="fuel += 1")
    return domain


def test_plans_in_time_are_no_templates() -> None:
    problem = declare().problem(values={"fuel": 1}, windows={"morning": "2..9"}, goal={"soft": {"is_open": 5}})
    plan = solve(problem, mode="first").expect_plan()
    with pytest.raises(UnsupportedError, match="in time"):
        lift(plan)


def test_plans_of_tasks_are_no_templates() -> None:
    domain = Domain("gate")
    domain.action("open", requires=["morning"], provides=["is_open"])
    how = Methods(domain)
    how.task("unlock")
    how.method("by-hand", {}, task="unlock", subtasks=["open"])
    tasks = how.problem(initial=["morning"], tasks=["unlock"])
    with pytest.raises(InputError, match="lift takes classical problems"):
        lift(solve(tasks).expect_plan())


def test_a_kept_plan_is_priced_where_its_steps_are_taken() -> None:
    problem = declare().problem(values={"fuel": 0}, initial=["morning"], goal=["is_open"], metric="minimize fuel")
    cache = PlanCache()
    first, again = cache.solve(problem), cache.solve(problem)
    assert first.status is again.status is Status.OPTIMAL
    assert [step.cost for step in again.expect_plan().steps] == [1, -1]
