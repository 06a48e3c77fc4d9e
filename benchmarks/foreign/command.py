"""`forethought bench foreign`: plans with mistakes are repaired, against planning from scratch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.commands.options import DomainFilter, NameFilter
from benchmarks.commands.tasks import tasks_of
from planner.cli.output import give, tell

if TYPE_CHECKING:
    from benchmarks.foreign.cases import Drawn

WRONG = 10


def foreign(
    suite: Annotated[
        Path | None, typer.Argument(metavar="[SUITE]", help="A folder of tasks, some plans of which are taken, too.")
    ] = None,
    *,
    plans: Annotated[int, typer.Option("--plans", min=1, help="How many plans.")] = 300,
    seed: Annotated[int, typer.Option("--seed", help="Determines problems and mistakes.")] = 0,
    source: Annotated[
        list[str] | None, typer.Option("--source", help="A shipped domain, or random; may be repeated. All, if none.")
    ] = None,
    domain: DomainFilter = None,
    name: NameFilter = None,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for each repair and each plan.")] = 10.0,
) -> None:
    """Write optimal plans down with mistakes in them, have them repaired, and replay what comes of it.

    The exit code is 10 where an answer claims what is not so.
    """
    from benchmarks.foreign.cases import SIZES, shipped, spoilt_plans  # noqa: PLC0415 - started without planning
    from benchmarks.foreign.measure import foreign_table, measure  # noqa: PLC0415 - as above

    for each in source or ():
        if each not in SIZES:
            raise typer.BadParameter(f"there is no {each!r}; there are {', '.join(SIZES)}", param_hint="--source")
    sources = [shipped(each, seed) for each in source or SIZES]
    if suite is not None:
        sources.append(_tasks(suite, domain, name, seed))
    found = []
    for case in spoilt_plans(sources, plans, seed, time_limit):
        found.append(measure(case, time_limit))
        if found[-1].wrong:
            tell(f"{case.source} {case.problem.name}, {case.mistake}: {found[-1].wrong}\n{case.written}")
        tell(f"{len(found)} {case.source}, {case.mistake}: {found[-1].status.name}, {found[-1].milliseconds:.0f} ms")
    give(foreign_table(found).rstrip())
    if any(each.wrong for each in found):
        raise typer.Exit(WRONG)


def _tasks(suite: Path, domains: list[str] | None, names: list[str] | None, seed: int) -> Iterator[Drawn]:
    """Return the tasks of a suite: the first of all domains, the second, and so on."""
    from benchmarks.foreign.cases import competition  # noqa: PLC0415 - as above

    numbers: dict[str, int] = {}
    turns = []
    for task in tasks_of(suite, track=None, domains=domains, names=names):
        numbers[task.domain] = numbers.get(task.domain, 0) + 1
        turns.append((numbers[task.domain], task))
    rng = Random(f"tasks {seed}")  # noqa: S311 - an experiment
    turns.sort(key=lambda each: (each[0], rng.random()))
    return competition([(task.domain_path, task.problem_path) for _, task in turns])
