"""Plans of any length whose handlers do nothing, and the time and memory that one run of them takes.

`python -m benchmarks.overhead.overhead_setting STEPS` measures memory in a process of its own.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

from executor.events.events import Event, RunEnded, RunStarted, StepStarted
from executor.executor import Executor
from executor.tools.world import World
from planner import Domain
from planner.plan import Plan, Step

CHAIN, INDEPENDENT = "chain", "independent"
PLANS: Final = (CHAIN, INDEPENDENT)
"""Plans in which each step needs the one before it, and plans in which no step needs another."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is timed: so many `steps` of a kind of plan in an execution model, each looked at after it if `observed`."""

    plan: str
    model: str
    steps: int
    observed: bool = False

    def made(self) -> tuple[World, Plan]:
        """Return the plan, and a world in which it works."""
        return (_make_chain if self.plan == CHAIN else _make_visits)(self.steps, observed=self.observed)


def _make_chain(steps: int, *, observed: bool) -> tuple[World, Plan]:
    """Return a walk along a line of spots."""
    domain = Domain("chain", types=["spot"])
    domain.action(
        "go",
        {"a": "spot", "b": "spot"},
        requires=["at(a)", "next(a, b)"],
        provides=["at(b)"],
        modifies=["at(_)"],
        tags=() if observed else ("trusted",),
    )
    spots = [f"p{number}" for number in range(steps + 1)]
    pairs = list(pairwise(spots))
    problem = domain.problem(
        objects=dict.fromkeys(spots, "spot"),
        initial=[f"at({spots[0]})", *[f"next({one}, {other})" for one, other in pairs]],
        goal=[f"at({spots[-1]})"],
    )
    world, place = World(domain), [spots[0]]

    async def go(a: str, b: str) -> None:  # noqa: ARG001 - it takes what the action has
        place[0] = b

    async def where() -> str:
        return place[0]

    return _attach(world, go, "at(_)" if observed else None, where), Plan(
        tuple([Step("go", each, 1) for each in pairs]), problem
    )


def _make_visits(steps: int, *, observed: bool) -> tuple[World, Plan]:
    """Return visits to spots, in any order."""
    domain = Domain("visits", types=["spot"])
    domain.action("go", {"a": "spot"}, provides=["seen(a)"], tags=() if observed else ("trusted",))
    spots = [f"p{number}" for number in range(steps)]
    problem = domain.problem(objects=dict.fromkeys(spots, "spot"), initial=[], goal=[f"seen({each})" for each in spots])
    world, visited = World(domain), set[str]()

    async def go(a: str) -> None:
        visited.add(a)

    async def has_seen(a: str) -> bool:
        return a in visited

    plan = Plan(tuple([Step("go", (each,), 1) for each in spots]), problem)
    return _attach(world, go, "seen(a)" if observed else None, has_seen), plan


def _attach(world: World, handler: Callable[..., Any], pattern: str | None, observer: Callable[..., Any]) -> World:
    world.handler("go")(handler)
    if pattern is not None:
        world.observer(pattern)(observer)
    return world


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


def time_runs(setting: Setting, *, journal: bool, rounds: int) -> Timed:
    """Return the medians of so many rounds."""
    repeats = max(1, FEW // setting.steps)
    with tempfile.TemporaryDirectory(prefix="forethought-overhead-") as folder:
        files = [Path(folder) / f"{number}.db" if journal else None for number in range(rounds * repeats)]
        return medians([time_once(setting, file) for file in files])


def medians(found: Sequence[Timed]) -> Timed:
    """Return the median of each field."""
    return Timed(*[median(_list_values(found, each.name)) for each in fields(Timed)])


def _list_values(found: Iterable[Timed], name: str) -> list[float]:
    return [getattr(each, name) for each in found]


def time_once(setting: Setting, journal: Path | None) -> Timed:
    """Time one run."""
    world, plan = setting.made()
    marks = Marks()
    executor = Executor(world, model=setting.model, journal=journal, listeners=(marks,))  # type: ignore[arg-type]  # one of the models
    gc.collect()
    began = time.perf_counter()
    outcome = asyncio.run(executor.run(plan))
    if executor.journal is not None:
        executor.journal.close()
    assert outcome.succeeded, outcome
    clock, cpu, scale = marks.clock, marks.cpu, 1e6 / setting.steps
    return Timed(
        scale * (clock[RunStarted] - began),
        scale * (clock[StepStarted] - clock[RunStarted]),
        scale * (clock[RunEnded] - clock[StepStarted]),
        scale * (cpu[RunEnded] - cpu[StepStarted]),
    )


UNIT: Final = 1 if sys.platform == "darwin" else 1024
"""Bytes in which the system counts resident memory."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Peak resident memory in bytes: at the end, and how much of it came with the run, after its plan was there."""

    steps: int
    peak: int
    run: int


def measure_memory(steps: int) -> Memory:
    """Measure the memory of a process that does nothing but carry out one plan of so many steps."""
    command = [sys.executable, "-m", "benchmarks.overhead.overhead_setting", str(steps)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Memory(**json.loads(done.stdout))


def measure_memory_here(steps: int) -> Memory:
    """Carry out the plan in this process."""
    world, plan = Setting(CHAIN, "sequential", steps).made()
    before = _peak_memory()
    outcome = asyncio.run(Executor(world, model="sequential").run(plan))
    assert outcome.succeeded, outcome
    return Memory(steps, _peak_memory(), _peak_memory() - before)


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


if __name__ == "__main__":
    print(json.dumps(asdict(measure_memory_here(int(sys.argv[1])))))  # noqa: T201 - that is what it is started for
