"""Looks and processor time of runs of ten steps whose ten effects ten observers see."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Final

from executor.executor import Executor
from executor.loop.look_first import Look
from executor.tools.world import World
from planner import Domain
from planner.plan import Plan, Step

STEPS: Final = 10
LOOK_HEAD: Final = ("steps", "journal", "`look=`", "looks before the first step", "looks", "CPU of a run, ms")
_FEW: Final = 20
"""Runs whose median counts."""


@dataclass(frozen=True, slots=True)
class LookSetting:
    """Kind of run: whether its steps are irreversible, whether it has a journal, and what it looks at first."""

    irreversible: bool
    journal: bool
    look: Look


@dataclass(frozen=True, slots=True)
class LookCosts:
    """Calls of observers before the first handler and in all, and milliseconds of processor time of a run."""

    before: int
    looks: int
    cpu: float


def list_look_settings() -> Iterable[LookSetting]:
    """Yield every kind of run."""
    looks: tuple[Look, ...] = ("never", "plan", "goal")
    for irreversible, journal, look in product((False, True), (False, True), looks):
        yield LookSetting(irreversible, journal, look)


def measure_looks(setting: LookSetting, runs: int = _FEW) -> LookCosts:
    """Carry out `runs` such runs, each in a world of its own, and return the medians."""
    with tempfile.TemporaryDirectory(prefix="forethought-looks-") as folder:
        files = [Path(folder) / f"{number}.db" if setting.journal else None for number in range(runs)]
        found = [_measure_run(setting, file) for file in files]
    return LookCosts(found[0].before, found[0].looks, median([each.cpu for each in found]))


def _measure_run(setting: LookSetting, journal: Path | None) -> LookCosts:
    world, plan, calls = _make_world(irreversible=setting.irreversible)
    executor = Executor(world, journal=journal, look=setting.look)
    began = time.process_time()
    outcome = asyncio.run(executor.run(plan))
    cpu = 1000 * (time.process_time() - began)
    if executor.journal is not None:
        executor.journal.close()
    assert outcome.succeeded, outcome
    return LookCosts(calls.index("do"), calls.count("look"), cpu)


def _make_world(*, irreversible: bool) -> tuple[World, Plan, list[str]]:
    """Return a world of ten steps in a row, their plan, and the list of calls, which grows."""
    domain, calls, done = Domain("row"), list[str](), set[int]()
    tags = ("irreversible",) if irreversible else ()
    for number in range(STEPS):
        needs = [f"done{number - 1}"] if number else []
        domain.action(f"do{number}", requires=needs, provides=[f"done{number}"], tags=tags)
    world = World(domain)

    def attach(number: int) -> None:
        @world.handler(f"do{number}")
        async def do() -> None:
            calls.append("do")
            done.add(number)

        @world.observer(f"done{number}")
        async def look() -> bool:
            calls.append("look")
            return number in done

    for number in range(STEPS):
        attach(number)
    problem = domain.problem(goal=[f"done{number}" for number in range(STEPS)])
    return world, Plan(tuple([Step(f"do{number}", (), 1) for number in range(STEPS)]), problem), calls


def list_look_costs() -> Iterable[list[object]]:
    """Yield a row of the table for each kind of run."""
    for setting in list_look_settings():
        costs = measure_looks(setting)
        kind = "irreversible" if setting.irreversible else "reversible"
        journal = "file" if setting.journal else "none"
        yield [kind, journal, setting.look, costs.before, costs.looks, f"{costs.cpu:.1f}"]
