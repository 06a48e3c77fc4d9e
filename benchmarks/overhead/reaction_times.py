"""`forethought bench reactions`: time from a reported event to the start of the step that it calls for."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Final

import typer

from benchmarks.report import format_table
from executor import Agent, World
from planner import Domain
from planner.cli.output import give, tell

HEAD: Final = ("goals", "objects", "journal", "median ms", "95 % ms", "most ms", "CPU ms an event")
WARM: Final = 3
"""Number of events before the measurement: what is imported late is imported then."""


def reactions(
    *,
    goals: Annotated[str, typer.Option("--goals", help="Numbers of standing goals, separated by commas.")] = "1,100",
    objects: Annotated[str, typer.Option("--objects", help="Numbers of objects, separated by commas.")] = "10,1000",
    events: Annotated[int, typer.Option("--events", min=1, help="Number of measured events.")] = 30,
) -> None:
    """Measure how soon an agent begins the step that an event calls for: planned, checked, with and without journal."""
    rows = []
    for count, size, kept in product(_parse_numbers(goals), _parse_numbers(objects), (False, True)):
        found = measure_reactions(count, size, events, journal=kept)
        tell(f"{count} goals, {size} objects, journal: {kept}: {1000 * statistics.median(found.seconds):.1f} ms")
        rows.append([count, size, "yes" if kept else "no", *_describe_times(found)])
    give(format_table(HEAD, rows))


def _parse_numbers(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.strip().isdecimal() and int(word) for word in words):
        raise typer.BadParameter("write positive numbers with commas between, such as 1,100", param_hint="--goals")
    return [int(word) for word in words]


def _describe_times(found: Reactions) -> list[str]:
    times = sorted(found.seconds)
    late = times[min(len(times) - 1, int(0.95 * len(times)))]
    return [f"{1000 * each:.1f}" for each in (statistics.median(times), late, times[-1], found.cpu)]


@dataclass(frozen=True, slots=True)
class Reactions:
    """The seconds from each event to the start of its step, and the CPU seconds for an event with all of its run."""

    seconds: Sequence[float]
    cpu: float


def measure_reactions(goals: int, objects: int, events: int, *, journal: bool) -> Reactions:
    """Report new orders, one after another, to an agent with so many standing goals and objects."""
    with tempfile.TemporaryDirectory(prefix="forethought-reactions-") as folder:
        return asyncio.run(_react(goals, objects, events, Path(folder) / "runs.db" if journal else None))


async def _react(goals: int, objects: int, events: int, journal: Path | None) -> Reactions:
    """Report that known orders are pending; each of the goals is for the orders of one kind."""
    domain = Domain("works", types=["order", "kind"])
    domain.predicate("of_kind", "order", "kind")
    domain.action("pick", {"o": "order"}, requires=["pending(o)"], provides=["picked(o)"], tags=["trusted"])
    domain.action(
        "ship", {"o": "order"}, requires=["picked(o)"], provides=["shipped(o)", "not pending(o)"], tags=["trusted"]
    )
    world, begun = World(domain), asyncio.Event()

    @world.handler("pick")
    async def pick(o: str) -> None:  # noqa: ARG001 - it is called as the action says
        begun.set()

    @world.handler("ship")
    async def ship(o: str) -> None: ...

    orders, kinds = [f"o{number}" for number in range(objects)], [f"k{number}" for number in range(goals)]
    facts = [f"of_kind({order}, {kinds[number % goals]})" for number, order in enumerate(orders)]
    named = {**dict.fromkeys(orders, "order"), **dict.fromkeys(kinds, "kind")}
    agent = Agent(world, domain.problem(objects=named, initial=facts), journal=journal, mode="first")
    for kind in kinds:
        agent.when(["pending(o)", f"of_kind(o, {kind})"], "shipped(o)", calm=0)  # no loop: orders come again
    seconds, cpu = [], 0.0
    async with agent.attend(poll=None) as attending:
        await attending.settled()
        for number in range(-WARM, events):
            begun.clear()
            start, spent = time.perf_counter(), time.process_time()
            order = orders[number % objects]
            agent.notify(f"pending({order})", f"not picked({order})", f"not shipped({order})")
            await begun.wait()
            seconds.append(time.perf_counter() - start)
            await attending.settled()
            cpu += time.process_time() - spent if number >= 0 else 0.0
    return Reactions(seconds[WARM:], cpu / events)
