"""One run, timed: until it has begun, until the order of its steps is known, and until it has ended."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.overhead.setting import Setting
from executor.engine import Executor
from executor.record.events import Event, RunEnded, RunStarted, StepStarted

FEW: Final = 10
"""A round of fewer steps is repeated until there are as many."""


@dataclass(frozen=True, slots=True)
class Timed:
    """Microseconds a step.

    `start`: a plan is made a run. `order`: it is worked out what comes before what, until the first handler is called
    (nothing where steps go one after the other). `run`: from there to the end, by the clock, and `cpu` in CPU time.
    """

    start: float
    order: float
    run: float
    cpu: float


class Marks:
    """A listener that notes the time of the first events and of the last one."""

    def __init__(self) -> None:
        self.clock: dict[type[object], float] = {}
        self.cpu: dict[type[object], float] = {}

    def __call__(self, event: Event) -> None:
        """Note the time of `event`, where it is the first of its kind, or the last."""
        kind = type(event)
        if kind not in self.clock or kind is RunEnded:
            self.clock[kind], self.cpu[kind] = time.perf_counter(), time.process_time()


def timed(setting: Setting, *, journal: bool, rounds: int) -> Timed:
    """Return the medians of so many rounds."""
    repeats = max(1, FEW // setting.steps)
    with tempfile.TemporaryDirectory(prefix="forethought-overhead-") as folder:
        files = [Path(folder) / f"{number}.db" if journal else None for number in range(rounds * repeats)]
        return medians([once(setting, file) for file in files])


def medians(found: Sequence[Timed]) -> Timed:
    """Return the median of each field."""
    return Timed(*[median(_values(found, each.name)) for each in fields(Timed)])


def _values(found: Iterable[Timed], name: str) -> list[float]:
    return [getattr(each, name) for each in found]


def once(setting: Setting, journal: Path | None) -> Timed:
    """Return what one run takes."""
    world, plan = setting.made()
    marks = Marks()
    executor = Executor(world, model=setting.model, journal=journal, listeners=(marks,))  # type: ignore[arg-type]  # one of the models
    gc.collect()
    began = time.perf_counter()
    outcome = asyncio.run(executor.run(plan))
    if executor.journal is not None:
        executor.journal.close()
    assert outcome.succeeded, outcome  # noqa: S101 - nothing can go wrong in these worlds
    clock, cpu, scale = marks.clock, marks.cpu, 1e6 / setting.steps
    return Timed(
        scale * (clock[RunStarted] - began),
        scale * (clock[StepStarted] - clock[RunStarted]),
        scale * (clock[RunEnded] - clock[StepStarted]),
        scale * (cpu[RunEnded] - cpu[StepStarted]),
    )
