"""Wall clock and processor time of searches side by side: one job on one processor beside several on as many.

    python -m benchmarks.jobs SUITE… [--tasks 60] [--jobs 2] [--mode anytime|first|optimal]

The tasks are drawn at random from the suites: those that one job ends within the time limit, after `--least` seconds
or more. The command runs alternately with one job and with several, as processes; of each, the least times count. It
ends with exit code 0 if statuses and proved costs are the same, and 10 if not.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from benchmarks.process import Limits, run_limited
from benchmarks.report import format_table
from benchmarks.suite import HDDL, BenchmarkTask, load_suite
from planner.portfolio.portfolio import MODES
from planner.subprocesses import module_command, module_environment

DIFFERENT: Final = 10
MEMORY: Final = 4.0
"""Memory limit in GiB."""
ENDED: Final = ("optimal", "unsolvable")
HEAD: Final = ("task", "status", "cost", "one job: wall", "CPU", "several: wall", "CPU", "wall ratio", "CPU ratio")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run answered, and its seconds of wall-clock and processor time, children included."""

    status: str
    cost: float | None
    wall: float
    cpu: float

    def has_ended(self, mode: str) -> bool:
        """Return whether the search came to its end: a proof, or in mode "first" a plan."""
        return self.status in ENDED or (mode == "first" and self.cost is not None)

    def least(self, other: Answer) -> Answer:
        """Return this answer with the lesser times of both."""
        return Answer(self.status, self.cost, min(self.wall, other.wall), min(self.cpu, other.cpu))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A task, and the answers of one job and of several."""

    task: BenchmarkTask
    one: Answer
    several: Answer

    def is_equal(self, mode: str) -> bool:
        """Return whether statuses, and costs that are proved, are the same, as far as both came to an end."""
        if not (self.one.has_ended(mode) and self.several.has_ended(mode)):
            return True
        if mode == "first":
            return (self.one.cost is None) == (self.several.cost is None)
        return (self.one.status, self.one.cost) == (self.several.status, self.several.cost)

    def row(self) -> list[str]:
        """Return the cells of the table."""
        one, several = self.one, self.several
        times = [f"{seconds:.2f}" for each in (one, several) for seconds in (each.wall, each.cpu)]
        ratios = [f"{several.wall / one.wall:.2f}", f"{several.cpu / one.cpu:.2f}"]
        return [self.task.name, several.status, "-" if several.cost is None else f"{several.cost}", *times, *ratios]


@dataclass(frozen=True, slots=True)
class Trial:
    """How the command runs."""

    mode: str
    time_limit: float

    def run(self, task: BenchmarkTask, jobs: int, processors: int) -> Answer:
        """Return the answer for `task`."""
        options = {"--mode": self.mode, "--jobs": jobs, "--time-limit": self.time_limit, "--memory-limit": MEMORY}
        words = [str(word) for option in options.items() for word in option]
        command = [*module_command("planner.cli"), "solve", *words, "--json", "--quiet"]
        limits = Limits(processors * self.time_limit + 10, 2 * MEMORY)
        with tempfile.TemporaryDirectory() as folder:
            done = run_limited(
                [*command, str(task.domain_path), str(task.problem_path)],
                Path(folder),
                limits,
                cores=range(processors),
                environment=module_environment(),
            )
            told = (Path(folder) / "stdout").read_text(encoding="utf-8")
        answer: dict[str, Any] = json.loads(told) if told.strip() else {"status": "unknown", "cost": None}
        return Answer(answer["status"].lower(), answer["cost"], done.wall_seconds, done.cpu_seconds)


def choose_tasks(suites: Sequence[Path], seed: int) -> list[BenchmarkTask]:
    """Return the tasks of all suites in random order."""
    known = [task for suite in suites for task in load_suite(suite) if task.suffix != HDDL and not task.fault()]
    random.Random(seed).shuffle(known)
    return known


def compare_jobs(
    tasks: Iterable[BenchmarkTask], trial: Trial, jobs: int, *, least: float, runs: int
) -> Iterator[Comparison]:
    """Yield a comparison for each of `tasks` that one job ends after `least` seconds or more."""
    for task in tasks:
        one = trial.run(task, 1, 1)
        if one.wall < least or not one.has_ended(trial.mode):
            continue
        several = trial.run(task, jobs, jobs)
        for _ in range(runs - 1):
            one, several = one.least(trial.run(task, 1, 1)), several.least(trial.run(task, jobs, jobs))
        yield Comparison(task, one, several)


def summarise(made: Sequence[Comparison], mode: str) -> str:
    """Return the ratios over all tasks that both ended."""
    both = [each for each in made if each.several.has_ended(mode)]
    lines = [f"{len(made)} tasks, of which several jobs ended {len(both)}"]
    for name, ratio in RATIOS.items():
        found = sorted([ratio(each) for each in both])
        mean = math.exp(statistics.fmean(map(math.log, found)))
        slower = sum([each > SLOWER for each in found])
        lines.append(
            f"{name}, several jobs by one: geometric mean {mean:.2f}, median {statistics.median(found):.2f},"
            f" from {found[0]:.2f} to {found[-1]:.2f}; above {SLOWER}: {slower}"
        )
    return "\n".join(lines)


RATIOS: Final[dict[str, Callable[[Comparison], float]]] = {
    "wall-clock time": lambda each: each.several.wall / each.one.wall,
    "processor time": lambda each: each.several.cpu / each.one.cpu,
}
SLOWER: Final = 1.1
"""Ratio from which on a run counts as slower."""


def main(
    suites: Annotated[list[Path], typer.Argument(metavar="SUITE…", help="Folders of tasks.")],
    *,
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="Number of tasks.")] = 60,
    jobs: Annotated[int, typer.Option("--jobs", min=2, help="Number of jobs, and of processors for them.")] = 2,
    mode: Annotated[str, typer.Option("--mode", help=f"Mode of the search: {', '.join(MODES)}.")] = "anytime",
    time_limit: Annotated[float, typer.Option("--time-limit", help="Time limit of a run in seconds.")] = 20.0,
    least: Annotated[float, typer.Option("--least", help="Least seconds of a run with one job.")] = 0.5,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Number of runs of each.")] = 2,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the choice of tasks.")] = 0,
) -> None:
    """Compare one job on one processor with several jobs on several."""
    made: list[Comparison] = []
    for each in compare_jobs(choose_tasks(suites, seed), Trial(mode, time_limit), jobs, least=least, runs=runs):
        made.append(each)
        typer.echo("\t".join(each.row()), err=True)
        if len(made) == tasks:
            break
    typer.echo(format_table(HEAD, [each.row() for each in made]))
    typer.echo(summarise(made, mode))
    different = [each.task.name for each in made if not each.is_equal(mode)]
    if different:
        typer.echo(f"DIFFERENT: {', '.join(different)}")
        raise typer.Exit(DIFFERENT)


if __name__ == "__main__":
    typer.run(main)
