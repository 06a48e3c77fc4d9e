"""Carry out the runs of a fault campaign on two journals, a file and a database, and compare what comes of each."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import typer

from benchmarks.faults.fault_run import RUN, Carried, carry_out
from benchmarks.faults.fault_setting import Setting
from benchmarks.faults.fault_verdict import Ending, Verdict, judge_run
from benchmarks.report import format_table
from executor.errors import NoRunError
from executor.journal import Place, open_journal
from planner.cli.output import give, is_terminal, tell


class Compared(NamedTuple):
    """A run on both journals: verdicts and seconds, and in what the two differ."""

    setting: Setting
    verdicts: tuple[Verdict, Verdict]
    seconds: tuple[float, float]
    crashes: tuple[int, int]
    differences: tuple[str, ...]


def compare_journals(runs: Iterable[int], seed: int, draw: Callable[[int, int], Setting], place: Place) -> None:
    """Carry out a campaign on a file and at `place`, and print how the runs ended; exits with 1 if any differ.

    A run that violated a promise on either counts as different from what it should be, too.
    """
    compared, started = list[Compared](), time.monotonic()
    for each in _carry_out_twice(runs, seed, draw, place):
        compared.append(each)
        if each.differences:
            tell(f"{each.setting}: {'; '.join(each.differences)}")
        elif is_terminal(typer.get_text_stream("stderr")) and len(compared) % 100 == 0:
            tell(f"{len(compared)} runs")
    give(_format(compared))
    different = sum(bool(each.differences) for each in compared)
    tell(f"{len(compared)} runs, {different} of them not the same, in {time.monotonic() - started:.0f} s")
    if different or any(verdict.ending is Ending.VIOLATION for each in compared for verdict in each.verdicts):
        raise typer.Exit(1)


def _carry_out_twice(
    runs: Iterable[int], seed: int, draw: Callable[[int, int], Setting], place: Place
) -> Iterator[Compared]:
    with tempfile.TemporaryDirectory(prefix="forethought-faults-") as folder, open_journal(place) as journal:
        for number in runs:
            drawn = replace(draw(number, seed), has_journal=True)
            in_file = carry_out(drawn, Path(folder))
            in_database = carry_out(drawn, Path(folder), place=place)
            with suppress(NoRunError):  # it was refused before it began
                journal.delete(RUN)  # all runs have this name: chance depends on it
            both = in_file, in_database
            yield Compared(
                drawn,
                (judge_run(drawn, in_file), judge_run(drawn, in_database)),
                (in_file.seconds, in_database.seconds),
                (in_file.crashes, in_database.crashes),
                tuple(_list_differences(*map(describe_end, both))),
            )


def describe_end(carried: Carried) -> dict[str, Any]:
    """Return what counts of a run: its outcome, the statuses of its steps, and the world with all that changed it.

    Handlers that are in threads at once may act in either order.
    """
    outcome, world = carried.outcome, carried.simulated
    return {
        "error": (carried.error or carried.refusal).strip().splitlines()[-1:],
        "outcome": None if outcome is None else (outcome.status.name, outcome.reason),
        "steps": [] if outcome is None else [(each.id, str(each.step), each.status.name) for each in outcome.steps],
        "deaths": carried.crashes,
        "acts": sorted(str(replace(each, at=0.0)) for each in world.acts),
        "facts": sorted(map(str, world.facts)),
        "values": sorted((str(fluent), str(value)) for fluent, value in world.values.items()),
    }


def _list_differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return [f"{name}: {one[name]} and {other[name]}" for name in one if one[name] != other[name]]


def _format(compared: list[Compared]) -> str:
    """Return the table of both journals as Markdown."""
    rows = []
    for number, name in enumerate(("file", "database")):
        endings = [each.verdicts[number].ending for each in compared]
        seconds = sum(each.seconds[number] for each in compared)
        crashes = sum(each.crashes[number] for each in compared)
        reached, violated = endings.count(Ending.REACHED), endings.count(Ending.VIOLATION)
        rows.append([name, len(compared), crashes, reached, violated, f"{seconds:.1f}"])
    head = ("journal", "runs", "deaths", "goal seen", "violations", "seconds")
    return format_table(head, rows)
