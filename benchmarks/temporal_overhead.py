"""Measure what a step costs on Temporal beside a plain activity: `python -m benchmarks.temporal_overhead`.

A workflow without a plan calls activities that do nothing, one after another. A plan of as many steps does nothing in
its handlers either, without observers, and with one that looks at each effect. Server and worker are on this machine,
which the table names; times are medians of rounds, in milliseconds a step.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import uuid4

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from benchmarks.report import Table
from executor import Executor, World
from executor.temporal import TemporalExecutor
from executor.testing.temporal_server import connect_when_ready, run_server
from planner.language.declare import Domain, Entity
from planner.plan import Plan
from planner.solve import solve

STEPS = 100
ROUNDS = 5
PLAIN = "plain-activities"


class Room(Entity):
    """A place on the way."""


@activity.defn
async def do_nothing(number: int) -> int:
    """Return `number`."""
    return number


@workflow.defn
class PlainActivities:
    """Calls activities one after another."""

    @workflow.run
    async def run(self, number: int) -> None:
        """Call so many activities."""
        for each in range(number):
            await workflow.execute_activity(do_nothing, each, start_to_close_timeout=timedelta(minutes=1))


def make_world(number: int, *, is_seen: bool) -> tuple[World, Plan]:
    """Return a world in which somebody walks, and the plan of a walk of so many steps."""
    domain = Domain("walk")
    places = {"origin": Room, "target": Room}
    there = ["here(origin)", "door(origin, target)"]
    domain.action("go", places, requires=there, provides=["here(target)"], modifies=["here(_)"])
    world, where = World(domain), ["x0"]

    async def go(target: str, **_: str) -> None:
        where[0] = target

    async def look() -> str:
        return where[0]

    world.handler("go")(go)
    if is_seen:
        world.observer("here(_)", conclusive=True)(look)
    doors = [f"door(x{each}, x{each + 1})" for each in range(number)]
    rooms = {f"x{each}": Room for each in range(number + 1)}
    problem = domain.problem(objects=rooms, initial=["here(x0)", *doors], goal=[f"here(x{number})"])
    return world, solve(problem, mode="first").expect_plan()


async def measure(work: Callable[[], Awaitable[object]], steps: int, rounds: int) -> float:
    """Return the median time of `work` in milliseconds a step, after a round that does not count."""
    await work()
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        await work()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds) / steps * 1000


async def measure_plain(client: Client, steps: int, rounds: int) -> float:
    """Measure activities without a plan."""
    runner = UnsandboxedWorkflowRunner()
    worker = Worker(
        client, task_queue=PLAIN, workflows=[PlainActivities], activities=[do_nothing], workflow_runner=runner
    )
    async with worker:
        return await measure(
            lambda: client.execute_workflow(PlainActivities.run, steps, id=uuid4().hex, task_queue=PLAIN),
            steps,
            rounds,
        )


async def measure_plans(client: Client, steps: int, rounds: int, *, is_seen: bool) -> tuple[float, float]:
    """Measure the steps of a plan on Temporal, and in this process without a journal."""
    world, plan = make_world(steps, is_seen=is_seen)
    executor = TemporalExecutor(world, client, f"walk-{is_seen}")
    async with executor.worker():
        there = await measure(lambda: executor.run(plan), steps, rounds)
    here = Executor(world)
    return there, await measure(lambda: here.run(plan), steps, rounds)


async def measure_all(address: str, steps: int, rounds: int) -> Table:
    """Return the table of all measurements."""
    client = await connect_when_ready(address)
    plain = await measure_plain(client, steps, rounds)
    blind, blind_here = await measure_plans(client, steps, rounds, is_seen=False)
    seen, seen_here = await measure_plans(client, steps, rounds, is_seen=True)
    rows = [
        ["plain activities", f"{plain:.1f}", "1.00", ""],
        ["plan, no observer", f"{blind:.1f}", f"{blind / plain:.2f}", f"{blind_here:.2f}"],
        ["plan, each effect observed", f"{seen:.1f}", f"{seen / plain:.2f}", f"{seen_here:.2f}"],
    ]
    return Table(["", "ms a step", "beside plain activities", "in one process, ms"], rows)


def main() -> None:
    """Start a server, measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS, help="number of steps of the plan")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="number of rounds")
    asked = parser.parse_args()
    with run_server() as address:
        print(asyncio.run(measure_all(address, asked.steps, asked.rounds)).markdown())  # noqa: T201


if __name__ == "__main__":
    main()
