"""A step whose cost has no value is not carried out: a plan with it is refused, and a search goes around it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from executor import ActionPlan, Executor, RunStatus, World
from planner import Domain, Problem
from planner.errors import PlanError
from planner.plan import Plan, Step


def roads() -> tuple[World, Problem, list[tuple[str, str]]]:
    """Return a world in which there is no distance from x to z, with what its handler was called with."""
    domain, done = Domain("roads", types=["place"]), list[tuple[str, str]]()
    domain.function("dist", "place", "place")
    parameters = {"a": "place", "b": "place"}
    domain.action("go", parameters, requires="at(a)", provides="at(b)", modifies="at(_)", cost="dist(a, b)")
    values = {"dist(x, y)": 4, "dist(y, z)": 3}
    problem = domain.problem(objects=dict.fromkeys("xyz", "place"), initial="at(x)", goal=["at(z)"], values=values)
    world = World(domain)

    @world.handler("go")
    def go(a: Any, b: Any) -> bool:
        done.append((str(a), str(b)))
        return True

    world.observer("at(p)", conclusive=True)(lambda p: str(p) == (done[-1][1] if done else "x"))
    return world, problem, done


def test_a_search_goes_around_the_step() -> None:
    world, problem, done = roads()
    outcome = asyncio.run(Executor(world).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert done == [("x", "y"), ("y", "z")]


@pytest.mark.parametrize("make", [lambda plan: plan, ActionPlan.of], ids=["plan", "action plan"])
def test_a_plan_with_the_step_is_refused_before_anything_is_done(make: Any) -> None:
    world, problem, done = roads()
    plan = make(Plan((Step("go", ("x", "z")),), problem))
    with pytest.raises(PlanError, match=r"dist\(x, z\)"):
        asyncio.run(Executor(world).run(plan))
    assert done == []
