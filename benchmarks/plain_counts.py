"""Counts of plain search, run again and again: on one and on two processors, with and without machine code.

`python -m benchmarks.plain_counts SUITE` runs `forethought solve --plain` as processes, prints a table of the counts,
and ends with exit code 0 if all runs of a task and a search agree, 10 if not, and 11 if there is no machine code to
compare with. Of each domain it takes the task with the smallest files that takes some expansions of the first search,
and of these the smallest ones. Searches end after a number of expansions, so that runs without machine code end too.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from benchmarks.suite import HDDL, BenchmarkTask, load_suite
from planner.subprocesses import module_command, module_environment

SEARCHES: Final = ("astar", "greedy", "mcts")
LEAST_EXPANSIONS: Final = 50
"""Fewer expansions of the first search show little."""
UNCOUNTED: Final = ("tier", "machine_code")
MOST_ACTIONS: Final = 200
"""Without machine code, the evaluation of a state of a larger task may take a tenth of a second and more."""
SHOWN: Final = ("expanded", "evaluated", "generated")
OK: Final = 0
DIFFERENT: Final = 10
NOTHING_TO_COMPARE: Final = 11
TOO_LONG: Final = 600.0
"""Time limit of one run, in seconds, which ends the comparison."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How a process runs: on this number of processors, with or without machine code."""

    processors: int
    machine_code: bool

    def run(self, task: BenchmarkTask, search: str, expansions: int) -> dict[str, Any]:
        """Return what `forethought solve --plain --json` prints for `task`; raises `ValueError` where it ends badly."""
        options = ["--plain", "--json", "--quiet", "--search", search, "--expansion-limit", str(expansions)]
        command = [*module_command("planner.cli"), "solve", *options, "--time-limit", "none", "--memory-limit", "none"]
        environment = {**(module_environment() or os.environ), "FORETHOUGHT_JIT": "" if self.machine_code else "off"}
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, sorted(allowed)[: self.processors])
        try:
            done = subprocess.run(
                [*command, str(task.domain_path), str(task.problem_path)],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=TOO_LONG,
            )
        finally:
            os.sched_setaffinity(0, allowed)
        if not done.stdout:
            raise ValueError(f"{task.name}: {done.stderr.strip()}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


@dataclass(slots=True)
class Comparison:
    """The answers of all runs of one search for one task."""

    task: BenchmarkTask
    search: str
    answers: list[dict[str, Any]] = field(default_factory=list)
    tiers: set[str] = field(default_factory=set)
    runs: int = 0

    def add(self, answer: dict[str, Any]) -> None:
        """Add the answer of a run: all of it but seconds, the history, the tier, and whether there is machine code."""
        statistics = answer["statistics"]
        self.tiers.add(statistics["tier"])
        kept = {
            name: value for name, value in statistics.items() if name not in UNCOUNTED and not name.endswith("_seconds")
        }
        answer = {name: value for name, value in answer.items() if name != "history"} | {"statistics": kept}
        if answer not in self.answers:
            self.answers.append(answer)
        self.runs += 1

    @property
    def is_equal(self) -> bool:
        """Whether all runs gave the same answer."""
        return len(self.answers) == 1

    def row(self) -> list[str]:
        """Return the cells of the table."""
        first = self.answers[0]
        counts = [f"{first['statistics'][name]:,}" for name in SHOWN]
        cost = "-" if first["cost"] is None else str(first["cost"])
        verdict = "equal" if self.is_equal else f"{len(self.answers)} DIFFERENT ANSWERS"
        return [self.task.name, self.search, *counts, cost, ", ".join(sorted(self.tiers)), f"{self.runs}", verdict]


HEAD: Final = ["task", "search", *SHOWN, "cost", "tiers", "runs", "verdict"]


def choose_tasks(suites: Sequence[Path], many: int, search: str, expansions: int) -> Iterator[BenchmarkTask]:
    """Yield up to `many` tasks of different domains: those with the smallest files for which `search` has work to do.

    Leave out tasks that plain search does not take.
    """
    taken = set[str]()
    known = [task for suite in suites for task in load_suite(suite) if task.suffix != HDDL and not task.fault()]
    for task in sorted(known, key=measure_files):
        if len(taken) < many and task.domain not in taken:
            try:
                found = Setting(1, machine_code=True).run(task, search, expansions)["statistics"]
            except ValueError as error:
                typer.echo(f"left out: {error}", err=True)
                continue
            if found["expanded"] >= min(LEAST_EXPANSIONS, expansions) and found["actions"] <= MOST_ACTIONS:
                taken.add(task.domain)
                yield task


def measure_files(task: BenchmarkTask) -> tuple[int, str]:
    """Return the size of the files of `task` in bytes, and its name."""
    return task.domain_path.stat().st_size + task.problem_path.stat().st_size, task.name


def compare_counts(tasks: Iterable[BenchmarkTask], searches: Sequence[str], runs: int, expansions: int) -> int:
    """Run all searches on all tasks, print a line for each, and return the exit code."""
    settings = [Setting(processors, code) for processors in (1, 2) for code in (True, False)]
    typer.echo("\t".join(HEAD))
    made: list[Comparison] = []
    for task in tasks:
        for search in searches:
            comparison = Comparison(task, search)
            for setting in settings * runs:
                comparison.add(setting.run(task, search, expansions))
            made.append(comparison)
            typer.echo("\t".join(comparison.row()))
    return judge(made)


def judge(made: Sequence[Comparison]) -> int:
    """Show the verdict on all comparisons, and return the exit code."""
    different = [each for each in made if not each.is_equal]
    tiers = sorted({tier for each in made for tier in each.tiers})
    runs = sum([each.runs for each in made])
    typer.echo(f"{runs:,} runs, {len(made)} pairs of a task and a search, tiers: {', '.join(tiers)}")
    if different:
        typer.echo(f"DIFFERENT counts for {len(different)} of {len(made)} pairs")
        return DIFFERENT
    if not {"compiled", "interpreted"} <= {*tiers}:
        typer.echo(
            "equal, but machine code was not compared with kernels in plain Python: run `forethought warm` first"
        )
        return NOTHING_TO_COMPARE
    typer.echo(f"equal: all {len(made)} pairs")
    return OK


def main(
    suites: Annotated[list[Path], typer.Argument(metavar="SUITE…", help="Folders of tasks.")],
    *,
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="Number of tasks.")] = 30,
    searches: Annotated[list[str], typer.Option("--search", help="A search by name; may be repeated.")] = [*SEARCHES],  # noqa: B006 - typer reads it
    runs: Annotated[int, typer.Option("--runs", min=1, help="Number of runs in each setting.")] = 5,
    expansions: Annotated[int, typer.Option("--expansions", min=1, help="Expansions after which a search ends.")] = 200,
) -> None:
    """Compare the counts of plain search on one and on two processors, with and without machine code."""
    chosen = choose_tasks(suites, tasks, searches[0], expansions)
    raise typer.Exit(compare_counts(chosen, searches, runs, expansions))


if __name__ == "__main__":
    typer.run(main)
