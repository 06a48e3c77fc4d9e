"""A step that a request wants done again, and that is not done, is named with the reason."""

from __future__ import annotations

import asyncio

import pytest

from executor import Agent, Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Domain, InputError

TOLD = "pay(o7) was to be done again, and was not done: it is so already (paid(o7))"


@pytest.fixture
def till():
    domain, bank = Domain("till", types=["order"]), []
    domain.action("pay", {"o": "order"}, provides=["paid(o)"], tags=["irreversible"])
    domain.action("ship", {"o": "order"}, requires=["paid(o)"], provides=["shipped(o)"])
    world = World(domain)
    world.handler("pay")(lambda o: bank.append(str(o)))
    world.handler("ship")(lambda o: None)  # noqa: ARG005
    world.observer("paid(_)", conclusive=True, settle_within=0)(lambda: bank)
    return domain, world, bank


@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive", "policy"])
@pytest.mark.parametrize("look", ["plan", "never"])
@pytest.mark.parametrize("goal", ["paid(o7)", "shipped(o7)"])
def test_what_is_so_already_is_said_to_be(model, look, goal, till, tmp_path):
    domain, world, bank = till
    problem = domain.problem(objects={"o7": "order"}, goal=[goal])
    run_virtual(Executor(world, tmp_path / "runs.db").run(problem))
    executor = Executor(world, tmp_path / "runs.db", model=model, look=look)
    outcome = run_virtual(executor.run(problem, again=("pay(o7)",), join=False))
    assert outcome.status is (RunStatus.SUCCEEDED if goal == "paid(o7)" else RunStatus.UNVERIFIED)
    assert TOLD in outcome.reason
    assert bank == ["o7"]


def test_an_agent_says_so_too(till, tmp_path):
    domain, world, bank = till
    agent = Agent(world, journal=tmp_path / "runs.db")
    problem = domain.problem(objects={"o7": "order"}, goal=["paid(o7)"])
    asyncio.run(agent.achieve(problem))
    assert TOLD in asyncio.run(agent.achieve(problem, again=("pay(o7)",))).outcome.reason
    assert bank == ["o7"]


def test_a_step_that_the_plan_does_not_need_is_said_to_be_none(till, tmp_path):
    domain, world, bank = till
    problem = domain.problem(objects={"o7": "order", "o8": "order"}, goal=["paid(o7)"])
    outcome = run_virtual(Executor(world, tmp_path / "runs.db").run(problem, again=("pay(o8)", "pay( o7 )")))
    assert outcome.reason == "pay(o8) was to be done again, and was not done: the plan did not need it"
    assert bank == ["o7"]


def test_an_action_without_its_objects_is_told_what_to_write(till):
    domain, world, _ = till
    problem = domain.problem(objects={"o7": "order"}, goal=["paid(o7)"])
    with pytest.raises(InputError, match=r"'pay' is an action; write again=\('pay\(o\)',\) with the names of objects"):
        run_virtual(Executor(world).run(problem, again=("pay",)))
