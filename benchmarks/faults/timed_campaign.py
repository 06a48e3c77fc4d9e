"""`forethought bench faults --time`: random runs in time in which something goes wrong, judged by how they end."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import typer

from benchmarks.faults.timed_run import carry_out_in_time
from benchmarks.faults.timed_setting import TimedFault, TimedSetting, draw_timed_setting
from benchmarks.faults.timed_verdict import TimedEnding, TimedVerdict, judge_in_time
from benchmarks.report import Table
from executor.events.events import PlanChanged
from executor.testing.virtual_time import now
from planner.cli.output import give, is_terminal, tell

HEADS: Final = {
    TimedEnding.MET: "in time",
    TimedEnding.LOWERED: "less, in time",
    TimedEnding.TOO_LATE: "too late",
    TimedEnding.SPENT: "spent",
    TimedEnding.ASKED: "asks",
    TimedEnding.UNCLEAR: "unclear",
    TimedEnding.VIOLATION: "**violations**",
}


class JudgedInTime(NamedTuple):
    """A run of the campaign, and what is to be said about it; `changes` counts how often its plan was changed."""

    setting: TimedSetting
    verdict: TimedVerdict
    changes: int
    deaths: int
    struck: int


def run_timed_campaign(numbers: Iterable[int], seed: int = 0) -> Iterator[JudgedInTime]:
    """Yield the runs of the campaign `seed` with these `numbers`, carried out and judged."""
    with tempfile.TemporaryDirectory(prefix="forethought-faults-") as folder:
        for number in numbers:
            drawn = draw_timed_setting(number, seed)
            carried = carry_out_in_time(drawn, Path(folder))
            changes = sum(isinstance(each.event, PlanChanged) for each in carried.world.records)
            struck = carried.world.struck.total()
            yield JudgedInTime(drawn, judge_in_time(carried), changes, carried.deaths, struck)


def give_timed_campaign(runs: Iterable[int], seed: int) -> None:
    """Carry out a campaign and print its report; exits with 1 where a run violated a promise."""
    started, judged = time.monotonic(), list[JudgedInTime]()
    for each in run_timed_campaign(runs, seed):
        judged.append(each)
        if each.verdict.ending is TimedEnding.VIOLATION:
            tell(f"{each.setting}: {each.verdict.detail.strip().splitlines()[-1]}")
        elif is_terminal(typer.get_text_stream("stderr")) and len(judged) % 100 == 0:
            tell(f"{len(judged)} runs")
    give(format_timed_report(judged))
    deaths = sum(each.deaths for each in judged)
    tell(f"{len(judged)} runs, {deaths} taken up after their process died, in {time.monotonic() - started:.0f} s")
    if any(each.verdict.ending is TimedEnding.VIOLATION for each in judged):
        raise typer.Exit(1)


def replay_in_time(drawn: TimedSetting) -> None:
    """Carry out one run, and print its problem, its plan, what happens in it, and how it is judged."""
    give(f"{drawn}\n{drawn.mishaps}\n{drawn.errand}")
    for step in drawn.plan.steps:
        give(f"{step.start}: {step.action} [{step.duration}]")
    with tempfile.TemporaryDirectory(prefix="forethought-faults-") as folder:
        carried = carry_out_in_time(drawn, Path(folder), lambda event: give(f"{now():10.3f} {event}"))
    judged = judge_in_time(carried)
    give(f"{judged.ending.value}: {judged.detail}" if judged.detail else judged.ending.value)


def format_timed_report(judged: Sequence[JudgedInTime]) -> str:
    """Return the table of a campaign as Markdown: how runs ended, by the first fault of each."""

    def count(runs: Sequence[JudgedInTime]) -> list[int]:
        ends = Counter(each.verdict.ending for each in runs)
        saved = sum(each.changes > 0 and each.verdict.ending is TimedEnding.MET for each in runs)
        return [len(runs), *[ends[ending] for ending in HEADS], saved]

    rows = [[kind.name, *count([each for each in judged if each.setting.kind is kind])] for kind in TimedFault]
    table = Table(["fault", "runs", *HEADS.values(), "in time by another plan"], rows, ["all", *count(judged)])
    legend = "\n".join(f"- {head.strip('*')}: {ending.value}" for ending, head in HEADS.items())
    return f"{table.markdown()}\n{legend}"
