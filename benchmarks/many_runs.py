"""Many runs at once: recorded in a journal, carried out by a few workers; what becomes of each of them.

    python -m benchmarks.many_runs [--journal postgresql://…] [--runs 1000] [--workers 2] [--concurrency 50] [--kills 3]

Records runs of a few steps, and starts workers in processes of their own, some of which are killed while they are at
work and replaced. Each step writes a line to a file of its run, and an observer looks there, so that runs that were
lost and steps that were done twice show. Without --journal, the journal is a file.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from benchmarks.report import format_table
from executor import Executor, World
from executor.cli.places import journal_place
from executor.events.stored_runs import load_runs
from executor.journal import AnyJournal, Place, open_journal
from executor.plans.action_plan import ActionPlan
from executor.workers.worker import Worker
from planner import Domain
from planner.cli.output import give, tell
from planner.plan import Plan, Step

STEPS: Final = 5
"""Steps of each run, one after the other."""
STEP_SECONDS: Final = 0.01
"""Time that each step waits for, in seconds, as for the answer of a service."""
POLL: Final = 0.2
"""Interval of looks at the journal, in seconds."""
SHARES: Final = 0.5, 0.9, 0.99
"""Percentiles of latencies."""
WORK: Final = "import sys; from benchmarks.many_runs import work; work(*sys.argv[1:])"


def make_world(folder: Path) -> tuple[Domain, World]:
    """Return a domain, and a world in which each step appends a line to the file of its order in `folder`."""
    domain = Domain("orders", types=["order"])
    for number in range(STEPS):
        needs = [f"done{number - 1}(order)"] if number else []
        domain.action(f"do{number}", {"order": "order"}, requires=needs, provides=[f"done{number}(order)"])
    world = World(domain)
    for number in range(STEPS):
        _bind(world, folder, f"do{number}", f"done{number}(order)")
    return domain, world


def _bind(world: World, folder: Path, action: str, fact: str) -> None:
    @world.handler(action)
    async def act(order: str) -> None:
        await asyncio.sleep(STEP_SECONDS)
        with (folder / order).open("a") as file:
            file.write(f"{action}\n")

    @world.observer(fact, conclusive=True)
    def look(order: str) -> bool:
        path = folder / order
        return path.exists() and action in path.read_text().split()


def make_plan(domain: Domain, order: str) -> ActionPlan:
    """Return the plan of one run."""
    problem = domain.problem(objects={order: "order"}, goal=[f"done{STEPS - 1}({order})"])
    return ActionPlan.of(Plan(tuple(Step(f"do{number}", (order,)) for number in range(STEPS)), problem))


async def record(folder: Path, place: Place, runs: int) -> float:
    """Record `runs` runs in the journal, and return how long that took, in seconds."""
    domain, world = make_world(folder)
    executor, began = Executor(world, place), time.perf_counter()
    for number in range(runs):
        await executor.enqueue(make_plan(domain, f"o{number}"), run=f"o{number}")
    executor.journal.close()
    return time.perf_counter() - began


def work(folder: str, place: str, concurrency: str) -> None:
    """Work on the runs until nothing is due; print the largest memory of this process in MB, and its CPU seconds."""
    _, world = make_world(Path(folder))
    executor = Executor(world, journal_place(place))
    asyncio.run(Worker(executor, concurrency=int(concurrency), poll=POLL).work(once=True))
    executor.journal.close()
    used = resource.getrusage(resource.RUSAGE_SELF)
    sys.stdout.write(json.dumps([used.ru_maxrss / 1024, used.ru_utime + used.ru_stime]))


class Workers:
    """Worker processes; those that are killed are replaced."""

    def __init__(self, folder: Path, place: str, number: int, concurrency: int) -> None:
        self._command = [sys.executable, "-c", WORK, str(folder), place, str(concurrency)]
        self.processes = [self._start() for _ in range(number)]

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)

    def kill_one(self) -> None:
        """Kill the worker that began first, and start another one."""
        killed = self.processes.pop(0)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        self.processes.append(self._start())

    def wait(self) -> list[tuple[float, float]]:
        """Wait until all have ended; return the memory and the CPU seconds of each."""
        told = [each.communicate()[0] for each in self.processes]
        return [tuple(json.loads(each)) for each in told]


class Found(NamedTuple):
    """What became of the runs: numbers, and in seconds after the start of the workers when each was over."""

    lost: int
    twice: int
    missing: int
    ended: list[float]
    alone: list[float]
    """Seconds from when each run was last taken up until it was over."""


def examine(folder: Path, journal: AnyJournal, began: float) -> Found:
    """Look what became of each run."""
    lost, ended, alone, acts = 0, [], [], Counter[tuple[str, str]]()
    records = journal.runs()
    for each in records:
        lost += each.status != "SUCCEEDED"
        times = {entry.kind: entry.time for entry in journal.read(each.run)}
        ended.append(times.get("RunEnded", float("inf")) - began)
        alone.append(times.get("RunEnded", float("inf")) - times.get("RunResumed", began))
        path = folder / each.run
        acts.update((each.run, line) for line in (path.read_text().split() if path.exists() else ()))
    twice = sum(number > 1 for number in acts.values())
    return Found(lost, twice, len(records) * STEPS - len(acts), sorted(ended), sorted(alone))


def measure(place: Place, runs: int, workers: int, concurrency: int, kills: int) -> Iterator[list[str]]:
    """Yield what was measured: names and values."""
    with tempfile.TemporaryDirectory(prefix="forethought-orders-") as name, contextlib.ExitStack() as opened:
        folder = Path(name)
        recorded = asyncio.run(record(folder, place, runs))
        yield ["recorded, runs a second", f"{runs / recorded:.0f}"]
        journal = opened.enter_context(open_journal(place))
        began, crew = time.time(), Workers(folder, str(place), workers, concurrency)
        for number in range(1, kills + 1):
            while sum(1 for _ in folder.iterdir()) < runs * number / (kills + 1):
                time.sleep(POLL)
            crew.kill_one()
        used = crew.wait()
        found = examine(folder, journal, began)
        began = time.perf_counter()
        load_runs(journal)
        listed = time.perf_counter() - began
    yield ["carried out, runs a second", f"{runs / found.ended[-1]:.0f}"]
    yield ["steps a second", f"{runs * STEPS / found.ended[-1]:.0f}"]
    for title, seconds in (("over after", found.ended), ("once taken up, over after", found.alone)):
        values = ", ".join(f"{seconds[int(share * (len(seconds) - 1))]:.2f}" for share in SHARES)
        yield [f"{title}, s (50, 90, 99 %)", values]
    yield ["all runs listed, ms", f"{listed * 1e3:.0f}"]
    yield ["memory of a worker, MB", f"{max(memory for memory, _ in used):.0f}"]
    yield ["CPU of the workers at the end, s", f"{sum(cpu for _, cpu in used):.1f}"]
    yield ["runs lost", str(found.lost)]
    yield ["steps done twice, missing", f"{found.twice}, {found.missing}"]


def main(
    journal: Annotated[Any, typer.Option(parser=journal_place, help="The address of a database.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Number of runs.")] = 1000,
    workers: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 2,
    concurrency: Annotated[int, typer.Option(min=1, help="Runs that each drives at once.")] = 50,
    kills: Annotated[int, typer.Option(min=0, help="Number of workers that are killed meanwhile.")] = 0,
) -> None:
    """Print what became of many runs as a Markdown table."""
    with tempfile.TemporaryDirectory(prefix="forethought-journal-") as folder:
        place = Path(folder) / "runs.db" if journal is None else journal
        tell(f"{runs} runs of {STEPS} steps, {workers} workers, {kills} of them killed")
        give(
            format_table(
                ("", "file" if journal is None else "PostgreSQL"), measure(place, runs, workers, concurrency, kills)
            )
        )


if __name__ == "__main__":
    typer.run(main)
