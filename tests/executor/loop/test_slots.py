"""How many steps are at work at once, in all runs of an executor, and whose come first; all in virtual time."""

import asyncio

import pytest

from executor import ActionPlan, ExecutionPolicy, Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Domain


class Works:
    """Actions `do(x)` that take a second each; `begun` lists what was begun, `most` how many were at work at once."""

    def __init__(self):
        self.begun, self.at_work, self.most = [], 0, 0
        self.domain = Domain("works", types=["job"])
        self.domain.action("do", {"job": "job"}, provides=["done(job)"], tags=["trusted", "idempotent"])
        self.world = World(self.domain)
        self.world.handler("do")(self.do)

    async def do(self, job):
        self.begun.append(job)
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        await asyncio.sleep(1)
        self.at_work -= 1

    def plan(self, prefix, number, *, model="dag", priority=0):
        jobs = [f"{prefix}{each}" for each in range(number)]
        return ActionPlan.model_validate(
            {
                "model": model,
                "objects": dict.fromkeys(jobs, "job"),
                "goal": [f"done({job})" for job in jobs],
                "steps": [{"id": job, "action": "do", "arguments": {"job": job}} for job in jobs],
                "metadata": {"priority": priority},
            }
        )


@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive"])
@pytest.mark.parametrize("limit", [1, 2, 5, None])
def test_the_limit_holds_for_all_runs_together(model, limit):
    works = Works()
    executor = Executor(works.world, concurrency=limit)

    async def main():
        return await asyncio.gather(*(executor.run(works.plan(prefix, 4, model=model)) for prefix in "abc"))

    outcomes = run_virtual(main())
    assert all(outcome.status is RunStatus.SUCCEEDED for outcome in outcomes)
    free = 3 if model in ("sequential", "reactive") else 12
    assert works.most == min(limit or free, free)


@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive"])
def test_steps_of_the_most_urgent_plan_come_first(model):
    works = Works()
    executor = Executor(works.world, concurrency=1)

    async def main():
        runs = [executor.start(works.plan(name, 3, model=model, priority=n)) for name, n in (("low", 0), ("high", 9))]
        await asyncio.gather(*runs)

    run_virtual(main())
    assert works.begun == ["low0", "high0", "high1", "high2", "low1", "low2"]


def test_a_run_that_is_called_off_while_it_waits_for_its_turn_begins_nothing():
    works = Works()
    executor = Executor(works.world, concurrency=1)

    async def main():
        first, second = executor.start(works.plan("a", 2)), executor.start(works.plan("b", 2))
        await asyncio.sleep(0.5)
        second.cancel()
        ended = await second
        assert works.at_work == 1
        return await first, ended

    first, second = run_virtual(main())
    assert (first.status, second.status) == (RunStatus.SUCCEEDED, RunStatus.CANCELLED)
    assert works.begun == ["a0", "a1"]


def test_slots_are_given_back_by_runs_that_are_broken_off_and_by_other_event_loops():
    works = Works()
    executor = Executor(works.world, concurrency=1)

    async def broken_off():
        tasks = [asyncio.ensure_future(executor.run(works.plan(name, 2))) for name in "ab"]
        await asyncio.sleep(0.5)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run_virtual(broken_off())
    works.at_work = 0
    assert run_virtual(executor.run(works.plan("c", 2))).status is RunStatus.SUCCEEDED


def test_a_run_inside_a_step_takes_no_slot_of_its_own():
    works = Works()
    executor = Executor(works.world, concurrency=1)

    async def whole(job):
        if job == "a0":
            assert (await executor.run(works.plan("inner", 2))).succeeded
        else:
            await works.do(job)

    works.world.handler("do", policy=ExecutionPolicy(timeout=60.0))(whole)
    assert run_virtual(executor.run(works.plan("a", 2))).status is RunStatus.SUCCEEDED
    assert works.begun == ["inner0", "inner1", "a1"]
