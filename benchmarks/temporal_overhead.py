"""Measure what a step costs on Temporal beside a plain activity: `python -m benchmarks.temporal_overhead`.

A workflow without a plan calls activities that do nothing, one after another. A plan of as many steps does nothing in
its handlers either, without observers, and with one that looks at each effect. Server and worker are on this machine,
which the table names; times are medians of rounds, in milliseconds a step.

With `--runs 1000`, so many workflows and so many plans begin at once, on one server with one worker; the table says how
many end a second, how long each takes from its beginning to its end, how many are lost, and what memory it takes.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import NamedTuple
from uuid import uuid4

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from benchmarks.report import Table
from executor import Executor, World
from executor.temporal import TemporalExecutor
from executor.testing.temporal_server import connect_when_ready, run_server
from planner.language.declare import Domain, Entity
from planner.plan import Plan, Step
from planner.solve import solve

STEPS = 100
ROUNDS = 5
SHORT = 5
"""Number of steps of each of many runs at once."""
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


def make_crowd(runs: int, steps: int) -> tuple[World, list[Plan], dict[str, str]]:
    """Return a world in which so many walkers take so many steps, the plan of each, and where each is."""
    domain = Domain("crowd", types=["walker"])
    places = {"walker": "walker", "origin": Room, "target": Room}
    there = ["here(walker, origin)", "door(origin, target)"]
    domain.action("go", places, requires=there, provides=["here(walker, target)"], modifies=["here(walker, _)"])
    names = [f"w{number}" for number in range(runs)]
    world, where = World(domain), dict.fromkeys(names, "x0")

    async def go(walker: str, target: str, **_: str) -> None:
        where[walker] = target

    async def look(walker: str) -> str:
        return where[walker]

    world.handler("go")(go)
    world.observer("here(walker, _)", conclusive=True)(look)
    rooms = {f"x{each}": Room for each in range(steps + 1)}
    doors = [f"door(x{each}, x{each + 1})" for each in range(steps)]

    def plan(name: str) -> Plan:
        goal, initial = [f"here({name}, x{steps})"], [f"here({name}, x0)", *doors]
        problem = domain.problem(objects={name: "walker", **rooms}, initial=initial, goal=goal)
        walk = [Step("go", (name, f"x{each}", f"x{each + 1}"), 1) for each in range(steps)]
        return Plan(tuple(walk), problem)

    return world, [plan(name) for name in names], where


class Crowd(NamedTuple):
    """Many runs at once: seconds for all, seconds of each that ended well, and the greatest memory of the worker."""

    seconds: float
    latencies: list[float]
    megabytes: float


async def run_at_once(runs: Iterable[Callable[[], Awaitable[bool]]]) -> Crowd:
    """Begin all `runs` at once, and wait for them; each returns whether it ended well."""
    latencies, started = list[float](), time.perf_counter()

    async def follow(run: Callable[[], Awaitable[bool]]) -> None:
        begun = time.perf_counter()
        if await run():
            latencies.append(time.perf_counter() - begun)

    await asyncio.gather(*[follow(run) for run in runs])
    seconds = time.perf_counter() - started
    return Crowd(seconds, sorted(latencies), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


async def crowd_plain(client: Client, runs: int, steps: int) -> Crowd:
    """Carry out so many workflows without plans at once."""

    async def run() -> bool:
        await client.execute_workflow(PlainActivities.run, steps, id=uuid4().hex, task_queue=PLAIN)
        return True

    async with make_plain_worker(client):
        return await run_at_once([run] * runs)


async def crowd_plans(client: Client, runs: int, steps: int) -> Crowd:
    """Carry out so many plans at once; each must have come to its goal."""
    world, plans, where = make_crowd(runs, steps)
    executor = TemporalExecutor(world, client, "crowd")

    async def run(name: str, plan: Plan) -> bool:
        outcome = await executor.run(plan)
        return outcome.succeeded and where[name] == f"x{steps}"

    async with executor.worker():
        return await run_at_once([partial(run, name, plan) for name, plan in zip(where, plans, strict=True)])


async def measure_crowds(address: str, runs: int, steps: int) -> Table:
    """Return the table of many runs at once."""
    client = await connect_when_ready(address)
    crowds = {
        "workflows of plain activities": await crowd_plain(client, runs, steps),
        "plans, each effect observed": await crowd_plans(client, runs, steps),
    }
    rows = []
    for name, crowd in crowds.items():
        ended = len(crowd.latencies)
        shares = [crowd.latencies[min(ended * each // 100, ended - 1)] for each in (50, 90, 99)] if ended else []
        per_second = f"{ended / crowd.seconds:.1f}", f"{ended * steps / crowd.seconds:.0f}"
        times = [f"{each:.1f}" for each in (crowd.seconds, *shares)]
        rows.append([name, runs, runs - ended, *per_second, *times, f"{crowd.megabytes:.0f}"])
    head = ["", "runs at once", "lost", "runs a second", "steps a second"]
    return Table([*head, "seconds for all", "median, s", "90 %, s", "99 %, s", "memory so far, MB"], rows)


def make_plain_worker(client: Client) -> Worker:
    """Make a worker for workflows without plans."""
    runner = UnsandboxedWorkflowRunner()
    return Worker(
        client, task_queue=PLAIN, workflows=[PlainActivities], activities=[do_nothing], workflow_runner=runner
    )


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
    async with make_plain_worker(client):
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
    parser.add_argument("--runs", type=int, default=0, help="number of runs at once, of a few steps each")
    asked = parser.parse_args()
    with run_server() as address:
        if asked.runs:
            made = asyncio.run(measure_crowds(address, asked.runs, SHORT if asked.steps == STEPS else asked.steps))
        else:
            made = asyncio.run(measure_all(address, asked.steps, asked.rounds))
    print(made.markdown())  # noqa: T201
    if asked.runs:
        server = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"\nThe server took at most {server:.0f} MB.")  # noqa: T201


if __name__ == "__main__":
    main()
