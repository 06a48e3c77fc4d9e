"""Carry out one run of the fault campaign in time, in virtual time, and take it up where its process died."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.faults.timed_setting import KILLS, TimedFault, TimedSetting
from benchmarks.faults.timed_world import TimedWorld
from executor.events.answers import GIVE_UP, HAPPENED, NOTHING
from executor.events.events import Asked, Event
from executor.executor import Executor
from executor.run import RunOutcome
from executor.testing import Crash, VirtualClock, run_virtual
from executor.testing.virtual_time import current, now

RUN: Final = "r"
KILLED: Final = "the process was killed"


@dataclass(slots=True)
class TimedRun:
    """What came of a run: its `outcome`, or what was raised; and the world that it left, `over` at a time."""

    setting: TimedSetting
    world: TimedWorld
    outcome: RunOutcome | None = None
    error: str = ""
    deaths: int = 0
    seconds: float = 0.0
    over: float = 0.0


def carry_out_in_time(setting: TimedSetting, folder: Path, listener: Callable[[Event], None] | None = None) -> TimedRun:
    """Carry out a run, its journal in `folder`; `listener` is told what happens."""
    carried = TimedRun(setting, TimedWorld(setting))
    started = time.perf_counter()
    with ExitStack() as graves:
        try:
            _drive(carried, folder / f"{setting.seed}.db", graves, listener)
        except Exception:  # noqa: BLE001 - whatever the executor raises is what the campaign looks for
            carried.error = traceback.format_exc()
    carried.seconds = time.perf_counter() - started
    return carried


def _drive(carried: TimedRun, journal: Path, graves: ExitStack, listener: Callable[[Event], None] | None) -> None:
    start, kills = 0.0, sorted([each for each in carried.setting.mishaps if each.kind in KILLS], key=lambda x: x.moment)
    while True:
        executor = _make_executor(carried, journal, listener)
        deaths = [each for each in kills if each.moment >= start]
        try:
            carried.outcome = run_virtual(_drive_once(executor, carried, [each.moment for each in deaths]), start=start)
        except Crash as crash:
            graves.callback(crash.bury)
            if str(crash) != KILLED:
                raise AssertionError(f"the run does not end: {crash}") from None
            carried.deaths += 1
            carried.world.note_death(goes_on=deaths[0].kind is TimedFault.KILLED_ON)
            start = deaths[0].moment + deaths[0].away + 1e-6
        else:
            return
        finally:
            if executor.journal is not None:
                executor.journal.close()


async def _drive_once(executor: Executor, carried: TimedRun, deaths: list[float]) -> RunOutcome:
    """Drive the run until it ends, or its process dies."""
    loop = current()
    assert loop is not None, "runs go in virtual time"
    if deaths:
        loop.call_at(deaths[0], loop.die, KILLED)
    async with asyncio.timeout(carried.setting.errand.horizon * 10 + 100):
        plan = carried.setting.plan
        outcome = await (executor.resume(RUN) if carried.deaths else executor.run(plan, run=RUN))
    carried.over = now()
    carried.world.catch_up()
    return outcome


def _make_executor(carried: TimedRun, journal: Path, listener: Callable[[Event], None] | None) -> Executor:
    world = carried.world

    async def answer(question: Asked) -> Any:
        """Say what really happened, when that is known."""
        if not question.question.startswith("doubt:"):
            return GIVE_UP
        key = f"{RUN}/{question.step}"
        while key in world.running:
            await asyncio.sleep(max(world.running[key].until - now(), 0.01))
            world.catch_up()
        return HAPPENED if world.done[key] else NOTHING

    return Executor(
        world.make_world(),
        journal=journal if carried.setting.has_journal else None,
        ask=answer,
        clock=VirtualClock(),
        listeners=(world.note, *([listener] if listener else [])),
        seed=carried.setting.seed,
    )
