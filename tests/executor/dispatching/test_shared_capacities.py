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


class Yard:
    """A crane on which everything hangs: `settle` is done by runs of its own, each of which lifts a load."""

    def __init__(self, cranes: int, place: Path | None, loads: int = 1) -> None:
        domain = Domain("yard", types=["load"])
        domain.action("settle", {}, provides=["settled"], duration=10, holds="crane")
        domain.action("lift", {"load": "load"}, provides=["lifted(load)"], duration=5, holds="crane")
        self.domain, self.cranes, self.world = domain, cranes, World(domain)
        self.executor = Executor(self.world, journal=place, clock=VirtualClock())
        self.lifted: list[str] = []
        self.busy = self.most = 0
        self.world.handler("lift", policy=ExecutionPolicy(timeout=1000))(self.lift)

        @self.world.handler("settle", policy=ExecutionPolicy(timeout=1000))
        async def settle() -> None:
            plans = [self.plan("lift", f"l{number}") for number in range(1, loads + 1)]
            await asyncio.gather(*[self.executor.run(each, join=False) for each in plans])

    async def lift(self, load: str) -> None:
        self.busy += 1
        self.most = max(self.most, self.busy)
        await asyncio.sleep(5)
        self.busy -= 1
        self.lifted.append(load)

    def plan(self, action: str, *arguments: str) -> ActionPlan:
        objects = dict.fromkeys(["l1", "l2", "l3"], "load")
        problem = self.domain.problem(objects=objects, goal=[], capacity={"crane": self.cranes})
        made = ActionPlan.of(Plan((Step(action, arguments),), problem), model="timed")
        goal = "settled" if action == "settle" else f"lifted({arguments[0]})"
        return made.model_copy(update={"goal": Goals(hard=(goal,))})


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("loads", [1, 2])
def test_a_run_that_a_handler_begins_has_what_its_step_holds(kept: bool, loads: int, tmp_path: Path) -> None:
    yard = Yard(1, tmp_path / "runs.db" if kept else None, loads)
    outcome = run_virtual(asyncio.wait_for(yard.executor.run(yard.plan("settle")), 3600))
    assert outcome.status is RunStatus.UNVERIFIED, "nobody looks in this world"
    assert (sorted(yard.lifted), yard.most) == ([f"l{number}" for number in range(1, loads + 1)], 1)


@pytest.mark.parametrize("cranes", [1, 2])
@pytest.mark.parametrize("first", ["lift", "settle"])
def test_runs_that_a_handler_begins_hold_no_more_than_there_is(cranes: int, first: str) -> None:
    yard = Yard(cranes, None, loads=2)
    plans = sorted([yard.plan("lift", "l3"), yard.plan("settle")], key=lambda each: each.steps[0].action != first)

    async def main() -> list[RunOutcome]:
        runs = [yard.executor.run(each) for each in plans]
        return list(await asyncio.wait_for(asyncio.gather(*runs), 3600))

    assert {each.status for each in run_virtual(main())} == {RunStatus.UNVERIFIED}
    assert sorted(yard.lifted) == ["l1", "l2", "l3"]
    assert yard.most == cranes
