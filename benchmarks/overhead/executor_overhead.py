"""`forethought bench overhead`: time and memory of the executor for a step, beside those of handlers and observers.

It counts looks, too, carries out many runs at once with one journal, and measures how long planning holds up the
event loop.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Final

import typer

from benchmarks.overhead.look_costs import LOOK_HEAD, list_look_costs
from benchmarks.overhead.overhead_setting import (
    INDEPENDENT,
    PLANS,
    Memory,
    Setting,
    measure_memory,
    time_once,
    time_runs,
)
from benchmarks.report import format_table
from executor.executor import Executor
from executor.testing import SimulatedWorld
from planner import load
from planner.cli.output import give, tell

HEAD: Final = ("plan", "model", "looks", "steps", "start", "order", "step", "its CPU", "with journal", "its CPU")
MODELS: Final = ("sequential", "dag")


def overhead(
    *,
    steps: Annotated[
        str, typer.Option("--steps", help="Lengths of plans, separated by commas.")
    ] = "1,10,100,1000,10000",
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Number of rounds; the median counts.")] = 5,
    memory: Annotated[
        int, typer.Option("--memory", min=0, help="Steps of the plan whose memory is measured; 0 skips that.")
    ] = 100_000,
    runs: Annotated[int, typer.Option("--runs", min=0, help="Number of runs at the same time; 0 skips that.")] = 1000,
    planned: Annotated[
        int, typer.Option("--planned", min=0, help="Number of runs planned at the same time; 0 skips that.")
    ] = 100,
) -> None:
    """Measure what the executor costs: microseconds a step with and without a journal, memory, many runs at once."""
    give(format_table(HEAD, _measure_rows(_list_settings(_parse_lengths(steps)), rounds)))
    give(format_table(LOOK_HEAD, list_look_costs()))
    if memory:
        give(describe_memory(measure_memory(memory)))
    if runs:
        give(describe_crowd(run_crowd(runs)))
    if planned:
        give(describe_gaps(measure_gaps(planned)))


def _parse_lengths(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.strip().isdecimal() and int(word) for word in words):
        raise typer.BadParameter("write numbers of steps with commas between, such as 1,10,100", param_hint="--steps")
    return [int(word) for word in words]


def _list_settings(lengths: Sequence[int]) -> Iterator[Setting]:

    for plan, model, observed, steps in product(PLANS, MODELS, (False, True), lengths):
        yield Setting(plan, model, steps, observed)


def _measure_rows(settings: Iterator[Setting], rounds: int) -> Iterator[list[object]]:

    for number, each in enumerate(settings):
        if not number:
            time_once(each, None)  # what is imported late is imported now
        plain, kept = time_runs(each, journal=False, rounds=rounds), time_runs(each, journal=True, rounds=rounds)
        times = (plain.start, plain.order, plain.run, plain.cpu, kept.run, kept.cpu)
        looks = "one a step" if each.observed else "none"
        tell(
            f"{each.plan} {each.model} {each.steps} steps, looks: {looks}: {plain.run:.0f} and {kept.run:.0f} µs a step"
        )
        yield [each.plan, each.model, looks, each.steps, *[f"{one:.0f}" for one in times]]


def describe_memory(found: Memory) -> str:
    """Describe the memory of a run."""
    each, peak = found.run / found.steps, found.peak / 2**20
    return f"A run of {found.steps} steps takes {each:.0f} bytes a step; the process {peak:.0f} MiB at its peak."


def describe_crowd(found: Crowd) -> str:
    """Describe time and open files of many runs at once."""
    steps = found.runs * 10
    before, meanwhile, after = found.files
    return (
        f"{found.runs} runs of 10 steps at once, with a journal: {found.clock:.2f} s by the clock, {found.cpu:.2f} s "
        f"of CPU time, {1e6 * found.cpu / steps:.0f} µs a step; files open: {before} before, {meanwhile} meanwhile, "
        f"{after} after."
    )


def describe_gaps(found: Gaps) -> str:
    """Describe how long planning held up the event loop."""
    return (
        f"{found.runs} runs planned and carried out at once, with a journal: {found.seconds:.2f} s; the longest gap of "
        f"the event loop: {1000 * found.clock:.0f} ms by the clock, {1000 * found.cpu:.0f} ms of its own CPU time."
    )


STEPS: Final = 10
DESCRIPTORS: Final = Path("/dev/fd")
SECONDS: Final = 0.05
"""How long each step waits, so that all runs are at work at once."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """So many `runs` of ten steps: seconds by the clock and of CPU time, and files open before, meanwhile and after."""

    runs: int
    clock: float
    cpu: float
    files: tuple[int, int, int]


def run_crowd(runs: int) -> Crowd:
    """Measure so many runs at once whose steps do nothing but wait a moment."""
    world, plan = Setting(INDEPENDENT, "sequential", STEPS).made()
    meanwhile = [0]

    @world.handler("go")
    async def wait(a: str) -> None:
        await asyncio.sleep(SECONDS)
        if a == "p1":
            meanwhile[0] = meanwhile[0] or open_files()

    async def all_of_them(executor: Executor) -> bool:
        found = await asyncio.gather(*[executor.run(plan) for _ in range(runs)])
        return all(each.succeeded for each in found)

    with tempfile.TemporaryDirectory(prefix="forethought-overhead-") as folder:
        before = open_files()
        executor = Executor(world, model="sequential", journal=Path(folder) / "runs.db")
        clock, cpu = time.perf_counter(), time.process_time()
        assert asyncio.run(all_of_them(executor)), "nothing can go wrong in this world"
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
        executor.journal.close()
        return Crowd(runs, clock, cpu, (before, meanwhile[0], open_files()))


def open_files() -> int:
    """Return how many files this process has open; 0 where the system does not say."""
    return len(list(DESCRIPTORS.iterdir())) if DESCRIPTORS.is_dir() else 0


DOMAIN: Final = "elevator"
"""The shipped domain whose problem is planned."""
GAP_SECONDS: Final = 0.005
"""How long the task sleeps that looks how late it is woken up."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """So many `runs` planned at once: seconds in all, and the longest gap, by the clock and of the loop's CPU time."""

    runs: int
    seconds: float
    clock: float
    cpu: float


def measure_gaps(runs: int, *, journal: bool = True) -> Gaps:
    """Return for how long nothing else could run in the event loop while so many problems were planned and done."""
    problem = load(DOMAIN)
    with tempfile.TemporaryDirectory(prefix="forethought-gaps-") as folder:
        executor = Executor(SimulatedWorld(problem).world, journal=Path(folder) / "runs.db" if journal else None)
        found: list[tuple[float, float]] = []

        async def all_of_them() -> float:
            async with _watch_loop(found):
                began = time.perf_counter()
                await asyncio.gather(*[executor.run(problem) for _ in range(runs)])
                return time.perf_counter() - began

        seconds = asyncio.run(all_of_them())
        if executor.journal is not None:
            executor.journal.close()
    return Gaps(runs, seconds, max(clock for clock, _ in found), max(cpu for _, cpu in found))


@asynccontextmanager
async def _watch_loop(found: list[tuple[float, float]]) -> AsyncIterator[None]:
    """Note how late a task is woken up again and again meanwhile, and what CPU time the loop's thread took."""

    async def watch() -> None:
        while True:
            clock, cpu = time.perf_counter(), time.thread_time()
            await asyncio.sleep(GAP_SECONDS)
            found.append((time.perf_counter() - clock - GAP_SECONDS, time.thread_time() - cpu))

    watching = asyncio.create_task(watch())
    try:
        yield
        await asyncio.sleep(GAP_SECONDS)
    finally:
        watching.cancel()
