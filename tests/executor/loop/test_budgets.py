"""Runs within budgets: what was spent, failures included, is no longer there for other steps."""

from __future__ import annotations

import pytest

from executor import ActionResult, Executor, Metrics, RunStatus, World
from executor.testing import run_virtual
from planner import Domain
from planner.errors import NoPlan
from planner.model import COST

MODELS = ("sequential", "parallel", "dag", "reactive")


def lookups(budgets, fails, seconds=None, **rest):
    """Return a problem in which a thing is looked up by one of three services, a world for it, and what was called."""
    domain, called = Domain("lookups"), []
    for name, cost, money in (("cheap", 1, 2), ("middle", 2, 3), ("free", 6, 0)):
        domain.action(name, {}, provides=["known"], cost=cost, uses={"money": money}, duration=10)
    world = World(domain)
    for name in ("cheap", "middle", "free"):

        @world.handler(name)
        def call(name=name):
            called.append(name)
            if name in fails and seconds is None:
                raise RuntimeError("not today")
            return ActionResult(success=name not in fails, metrics=Metrics(duration=seconds or 0.0))

    world.observer("known", conclusive=True)(lambda: any(name not in fails for name in called))
    return domain.problem(goal=["known"], budgets=budgets, **rest), world, called


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("budgets", "called"),
    [
        ({}, ["cheap", "cheap", "middle"]),
        ({"money": 7}, ["cheap", "cheap", "middle"]),
        ({"money": 6}, ["cheap", "cheap", "free"]),
        ({"money": 3}, ["cheap", "free"]),
        ({"money": 1}, ["free"]),
        ({"money": 6, COST: 8}, ["cheap", "cheap", "free"]),
    ],
)
def test_what_a_failed_step_took_is_gone(model, budgets, called):
    problem, world, done = lookups(budgets, {"cheap"})
    outcome = run_virtual(Executor(world, model=model).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert done == called


def test_where_the_rest_does_not_suffice_the_run_fails():
    problem, world, done = lookups({"money": 2, COST: 6}, {"cheap"})
    outcome = run_virtual(Executor(world).run(problem))
    assert outcome.status is RunStatus.FAILED
    assert done == ["cheap"]
    assert "the budgets do not suffice for another attempt" in outcome.steps[0].reason


def test_a_problem_that_no_budget_suffices_for_is_not_begun():
    problem, world, done = lookups({"money": 1, COST: 5}, set())
    with pytest.raises(NoPlan, match="cannot hold together: goal known; money at most 1"):
        run_virtual(Executor(world).run(problem))
    assert done == []


def test_a_run_has_to_meet_the_deadline():
    problem, world, done = lookups({}, {"cheap"}, deadline=10)
    assert run_virtual(Executor(world).run(problem)).status is RunStatus.SUCCEEDED
    problem, world, done = lookups({}, {"cheap"}, deadline=9)
    with pytest.raises(NoPlan, match="every plan takes 10 seconds or more"):
        run_virtual(Executor(world).run(problem))
    assert done == []


def test_seconds_at_work_are_taken_off_the_deadline():
    for deadline, status in ((16, RunStatus.SUCCEEDED), (15, RunStatus.FAILED)):
        problem, world, _ = lookups({}, {"cheap"}, seconds=6, deadline=deadline)
        assert run_virtual(Executor(world).run(problem)).status is status
