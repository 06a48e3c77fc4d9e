"""Goals and plans are kept and listed, and the list says what has become of them, also while runs go."""

from __future__ import annotations

import asyncio

import pytest

from executor import ActionPlan, Executor, RunStatus, StepStatus, Wait, World
from executor.errors import RunError
from executor.plans.action_plan import Goals
from planner import Domain


def world(handler=lambda: None, sees=True):
    domain = Domain("one")
    domain.action("do", {}, provides=["done"])
    found = World(domain)
    found.handler("do")(handler)
    found.observer("done", conclusive=True)(lambda: sees)
    return found


def plan(id_="p1", **fields):
    return ActionPlan(id=id_, goal=["done"], steps=[{"id": "s1", "action": "do"}], **fields)


def statuses(executor):
    return {name: each.status for name, each in executor.plans().items()}


def test_what_was_saved_is_listed_as_it_was_saved_last(place):
    executor = Executor(world(), place)
    executor.save_plan(plan("p1", name="first"))
    executor.save_plan(plan("p2"))
    executor.save_plan(plan("p1", name="better"))
    executor.save_goal("tidy", Goals(hard=["done"], soft={"done": 2}))
    again = Executor(world(), place)
    assert again.plans() == {"p1": plan("p1", name="better"), "p2": plan("p2")}
    assert again.goals() == {"tidy": Goals(hard=("done",), soft={"done": 2})}
    assert again.runs() == {}


@pytest.mark.parametrize(
    ("sees", "handler", "status"),
    [(True, lambda: None, "completed"), (False, lambda: False, "abandoned"), (True, lambda: Wait("for it"), "active")],
)
@pytest.mark.parametrize("saved", [True, False])
def test_a_plan_is_what_its_run_has_made_of_it(place, sees, handler, status, saved):
    executor = Executor(world(handler, sees), place)
    if saved:
        executor.save_plan(plan())
        assert statuses(executor) == {"p1": "proposed"}
    outcome = asyncio.run(executor.run(plan(), run="r1"))
    assert statuses(executor) == {"p1": status}
    info = Executor(world(), place).runs()["r1"]
    assert (info.plan, info.status) == ("p1", outcome.status)
    assert info.created <= info.updated


def test_the_latest_word_counts_but_a_run_that_is_not_over_counts_most(place):
    executor = Executor(world(), place)
    asyncio.run(executor.run(plan(), run="r1"))
    executor.save_plan(plan(status="abandoned"))
    assert statuses(executor) == {"p1": "abandoned"}
    asyncio.run(executor.run(plan(), run="r2"))
    assert statuses(executor) == {"p1": "completed"}
    waits = Executor(world(lambda: Wait("for it")), place)
    asyncio.run(waits.run(plan(), run="r3"))
    asyncio.run(executor.run(plan(), run="r4"))
    executor.save_plan(plan(status="proposed"))
    assert statuses(executor) == {"p1": "active"}
    asyncio.run(executor.resume("r3", results={"s1": True}))
    assert statuses(executor) == {"p1": "completed"}


def test_statuses_are_read_while_a_run_goes(place):
    async def followed():
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def handler():
            begun.set()
            await may_end.wait()

        executor, other = Executor(world(handler), place), Executor(world(), place)
        run = executor.start(plan(), run="r1")
        assert executor.runs()["r1"].status is RunStatus.PROPOSED
        await begun.wait()
        assert executor.state_of("r1") is run.state
        for state in (run.state, other.state_of("r1")):
            assert (state.status, state.steps["s1"].status) == (RunStatus.ACTIVE, StepStatus.RUNNING)
        assert other.runs()["r1"].status is RunStatus.ACTIVE
        assert statuses(other) == {"p1": "active"}
        may_end.set()
        assert (await run).status is RunStatus.SUCCEEDED
        assert other.state_of("r1").steps["s1"].status is StepStatus.SUCCEEDED

    asyncio.run(followed())


@pytest.mark.parametrize(
    "asked",
    [
        lambda executor: executor.runs(),
        lambda executor: executor.plans(),
        lambda executor: executor.goals(),
        lambda executor: executor.save_plan(plan()),
        lambda executor: executor.save_goal("g", Goals()),
        lambda executor: executor.state_of("r1"),
        lambda executor: asyncio.run(executor.resume("r1")),
    ],
)
def test_what_is_kept_in_a_journal_needs_one(asked):
    with pytest.raises(RunError, match=r"Executor\(world, 'runs.db'\)"):
        asked(Executor(world()))
