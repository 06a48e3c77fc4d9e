"""Many runs at once in one process, with one journal."""

from __future__ import annotations

import asyncio
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.overhead.setting import INDEPENDENT, Setting
from executor.engine import Executor

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


def crowd(runs: int) -> Crowd:
    """Return what so many runs take whose steps do nothing but wait a moment."""
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
        assert asyncio.run(all_of_them(executor)), "nothing can go wrong in this world"  # noqa: S101 - as it says
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
        executor.journal.close()
        return Crowd(runs, clock, cpu, (before, meanwhile[0], open_files()))


def open_files() -> int:
    """Return how many files this process has open; 0 where the system does not say."""
    return len(list(DESCRIPTORS.iterdir())) if DESCRIPTORS.is_dir() else 0
