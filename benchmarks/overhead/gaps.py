"""How long the event loop is held up while many runs are planned at once."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from executor.engine import Executor
from executor.testing import SimulatedWorld
from planner import load

DOMAIN: Final = "elevator"
"""The shipped domain whose problem is planned."""
SECONDS: Final = 0.005
"""How long the task sleeps that looks how late it is woken up."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """So many `runs` planned at once: seconds in all, and the longest gap, by the clock and of the loop's CPU time."""

    runs: int
    seconds: float
    clock: float
    cpu: float


def gaps(runs: int, *, journal: bool = True) -> Gaps:
    """Return for how long nothing else could run in the event loop while so many problems were planned and done."""
    problem = load(DOMAIN)
    with tempfile.TemporaryDirectory(prefix="forethought-gaps-") as folder:
        executor = Executor(SimulatedWorld(problem).world, journal=Path(folder) / "runs.db" if journal else None)
        found: list[tuple[float, float]] = []

        async def all_of_them() -> float:
            async with _watched(found):
                began = time.perf_counter()
                await asyncio.gather(*[executor.run(problem) for _ in range(runs)])
                return time.perf_counter() - began

        seconds = asyncio.run(all_of_them())
        if executor.journal is not None:
            executor.journal.close()
    return Gaps(runs, seconds, max(clock for clock, _ in found), max(cpu for _, cpu in found))


@asynccontextmanager
async def _watched(found: list[tuple[float, float]]) -> AsyncIterator[None]:
    """Note how late a task is woken up again and again meanwhile, and what CPU time the loop's thread took."""

    async def watch() -> None:
        while True:
            clock, cpu = time.perf_counter(), time.thread_time()
            await asyncio.sleep(SECONDS)
            found.append((time.perf_counter() - clock - SECONDS, time.thread_time() - cpu))

    watching = asyncio.create_task(watch())
    try:
        yield
        await asyncio.sleep(SECONDS)
    finally:
        watching.cancel()
