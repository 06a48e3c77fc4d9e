"""What journals cost: microseconds a step, and many runs at once, in a file and in a database, beside plain DBOS.

    python -m benchmarks.journal_overhead [--journal postgresql://…] [--dbos PYTHON]

Each step calls a handler that does nothing. `--dbos` names the Python of an environment in which DBOS is installed: its
steps do nothing either, on SQLite and, with `--journal`, on the same database.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from benchmarks.report import format_table
from executor import Executor, World
from executor.cli.places import journal_place
from executor.journal import DatabaseAddress, Place, open_journal
from executor.plans.action_plan import ActionPlan
from planner import Domain
from planner.cli.output import give, tell

STEPS: Final = 20
"""Steps of each run."""
DBOS: Final = """
import asyncio, json, os, sys, time
from dbos import DBOS, DBOSConfig
steps, runs, url = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
DBOS(config={"name": "overhead", "system_database_url": url, "log_level": "ERROR"})

@DBOS.step()
async def step(number):
    return number

@DBOS.workflow()
async def work():
    for number in range(steps):
        await step(number)

async def main():
    DBOS.launch()
    await work()
    began = time.perf_counter()
    for _ in range(5):
        await work()
    alone = (time.perf_counter() - began) / 5 / steps
    began = time.perf_counter()
    await asyncio.gather(*[work() for _ in range(runs)])
    print(json.dumps([alone, time.perf_counter() - began]))

asyncio.run(main())
os._exit(0)
"""


def make_work() -> tuple[World, ActionPlan]:
    """Return a world whose handlers do nothing, and a plan of `STEPS` steps, one after the other."""
    domain = Domain("overhead")
    for number in range(STEPS):
        needs = [f"done{number - 1}"] if number else []
        domain.action(f"do{number}", {}, requires=needs, provides=[f"done{number}"], tags=["trusted"])
    world = World(domain)
    for number in range(STEPS):
        world.handler(f"do{number}")(_do_nothing)
    steps = [{"id": f"s{number}", "action": f"do{number}"} for number in range(STEPS)]
    return world, ActionPlan.model_validate({"goal": [f"done{STEPS - 1}"], "steps": steps})


async def _do_nothing() -> None:
    """Do nothing."""


def measure(place: Place | None, runs: int, rounds: int) -> tuple[float, float, float, int]:
    """Return seconds a step of a run alone (median of `rounds`), seconds of `runs` at once, their CPU, and events."""
    world, plan = make_work()
    executor = Executor(world, place)

    async def main() -> tuple[float, float, float]:
        await executor.run(plan)  # what is imported late is imported now
        alone = []
        for _ in range(rounds):
            began = time.perf_counter()
            await executor.run(plan)
            alone.append((time.perf_counter() - began) / STEPS)
        began, cpu = time.perf_counter(), time.process_time()
        ended = await asyncio.gather(*[executor.run(plan) for _ in range(runs)])
        assert all(each.succeeded for each in ended)
        return statistics.median(alone), time.perf_counter() - began, time.process_time() - cpu

    found = asyncio.run(main())
    events = 0 if executor.journal is None else executor.journal.runs()[0].events
    if executor.journal is not None:
        executor.journal.close()
    return (*found, events)


def measure_all(journal: Place | None, dbos: Path | None, runs: int, rounds: int) -> Iterator[list[str]]:
    """Yield a row for each journal."""
    with tempfile.TemporaryDirectory(prefix="forethought-journal-") as folder:
        places: dict[str, Place | None] = {"no journal": None, "file": Path(folder) / "runs.db"}
        if journal is not None:
            places["PostgreSQL"] = journal
        for name, place in places.items():
            alone, seconds, cpu, events = measure(place, runs, rounds)
            there = seconds / runs / STEPS
            yield [name, _us(alone), f"{events / STEPS:.1f}", f"{seconds:.2f}", f"{cpu:.2f}", _us(there)]
        for name, url in _list_dbos_urls(journal, Path(folder)) if dbos else ():
            found = subprocess.run(
                [str(dbos), "-c", DBOS, str(STEPS), str(runs), url], capture_output=True, text=True, check=False
            )
            if found.returncode:
                tell(f"{name}: {found.stderr.strip().splitlines()[-1:]}")
                continue
            alone, seconds = json.loads(found.stdout.splitlines()[-1])
            yield [name, _us(alone), "", f"{seconds:.2f}", "", _us(seconds / runs / STEPS)]


def _list_dbos_urls(journal: Place | None, folder: Path) -> Iterator[tuple[str, str]]:
    yield "DBOS, SQLite", f"sqlite:///{folder}/dbos.db"
    if isinstance(journal, DatabaseAddress):
        host = "127.0.0.1" if journal.host.startswith("/") else journal.host
        word = f":{journal.password}" if journal.password else ""
        yield "DBOS, PostgreSQL", f"postgresql://{journal.user}{word}@{host}:{journal.port}/{journal.database}_dbos"


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.0f}"


def main(
    journal: Annotated[Any, typer.Option(parser=journal_place, help="The address of a database.")] = None,
    dbos: Annotated[Path | None, typer.Option(help="The Python of an environment with DBOS.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Number of runs at once.")] = 1000,
    rounds: Annotated[int, typer.Option(min=1, help="Number of runs alone; the median counts.")] = 20,
) -> None:
    """Print what journals cost as a Markdown table."""
    if isinstance(journal, DatabaseAddress):
        open_journal(journal).close()
    head = ("journal", "µs a step", "events a step", f"s of {runs} runs at once", "its CPU", "µs a step there")
    give(format_table(head, measure_all(journal, dbos, runs, rounds)))


if __name__ == "__main__":
    os.environ.setdefault("FORETHOUGHT_NO_MODELS", "1")
    typer.run(main)
