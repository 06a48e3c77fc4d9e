"""Runs of one journal share capacities: no more is held at once than there is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from executor import ExecutionPolicy, Executor, RunOutcome, RunStatus, World
from executor.plans.action_plan import ActionPlan, Goals
from executor.testing import SimulatedWorld, VirtualClock, run_virtual
from executor.testing.virtual_time import now
from planner import Domain
from planner.plan import Plan, Step


class Workshop:
    """Machines that a few workers can serve; `most` is the largest number of workers at work at once."""

    def __init__(self, capacity: dict[str, int]) -> None:
        domain = Domain("workshop", types=["job"])
        domain.action("cut", {"job": "job"}, provides=["cut(job)"], duration=10, holds="worker")
        holds = ["worker", "torch"]
        domain.action("weld", {"job": "job"}, requires=["cut(job)"], provides=["welded(job)"], duration=5, holds=holds)
        jobs = dict.fromkeys(["j1", "j2", "j3", "j4"], "job")
        self.problem = domain.problem(objects=jobs, goal=[], capacity=capacity)
        self.busy = self.most = 0
        self.world = World(self.problem.domain)
        for name, seconds in (("cut", 10), ("weld", 5)):
            self.world.handler(name, policy=ExecutionPolicy(timeout=100))(self._make(seconds))

    def _make(self, seconds: float) -> Callable[[str], Awaitable[None]]:
        async def work(job: str) -> None:
            del job
            self.busy += 1
            self.most = max(self.most, self.busy)
            await asyncio.sleep(seconds)
            self.busy -= 1

        return work

    def plan(self, *jobs: str) -> ActionPlan:
        steps = [Step(name, (job,)) for job in jobs for name in ("cut", "weld")]
        made = ActionPlan.of(Plan(tuple(steps), self.problem), model="timed")
        return made.model_copy(update={"goal": Goals(hard=tuple([f"welded({job})" for job in jobs]))})

    async def run_all(self, executors: list[Executor], plans: list[ActionPlan]) -> list[RunOutcome]:
        runs = [each.run(plan) for each, plan in zip(executors, plans, strict=True)]
        return list(await asyncio.gather(*runs))


@pytest.mark.parametrize(("workers", "seconds"), [(1, 60), (2, 30), (4, 15)])
def test_one_run_holds_no_more_than_there_is(workers: int, seconds: float) -> None:
    shop = Workshop({"worker": workers, "torch": 4})
    ended = []

    async def drive() -> RunOutcome:
        outcome = await Executor(shop.world, clock=VirtualClock()).run(shop.plan("j1", "j2", "j3", "j4"))
        ended.append(now())
        return outcome

    outcome = run_virtual(drive())
    assert outcome.status is RunStatus.UNVERIFIED, "nobody looks in this world"
    assert shop.most <= workers
    assert ended[0] == pytest.approx(seconds, abs=0.1)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("torches", [1, 2])
def test_runs_of_one_journal_share_capacities(kept: bool, torches: int, tmp_path: Path) -> None:
    shop = Workshop({"worker": 2, "torch": torches})
    journal = tmp_path / "runs.db" if kept else None
    one = Executor(shop.world, journal=journal, clock=VirtualClock())
    executors = [one, Executor(shop.world, journal=journal, clock=VirtualClock()) if kept else one] * 2
    outcomes = run_virtual(shop.run_all(executors, [shop.plan(f"j{number}") for number in range(1, 5)]))
    assert shop.most == 2
    assert {each.status for each in outcomes} == {RunStatus.UNVERIFIED}


def test_a_simulated_world_refuses_what_is_too_much() -> None:
    shop = Workshop({"worker": 1, "torch": 1})
    world = SimulatedWorld(shop.problem)
    assert not world.truth.begin(Step("cut", ("j1",)), "a/1")
    assert "worker left" in world.truth.begin(Step("cut", ("j2",)), "b/1")
    assert not world.truth.finish(Step("cut", ("j1",)), "a/1", 10)
    assert not world.truth.begin(Step("cut", ("j2",)), "b/1")
