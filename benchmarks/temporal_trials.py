"""Our planner on random small tasks in time, judged by the enumeration of their schedules.

`python -m benchmarks.temporal_trials --tasks 1000` draws that many tasks, of each three one fine, one fine with wide
ranges of durations and one coarse (see `benchmarks.random_temporal`), solves each, and prints what came out as a table.
What contradicts the enumeration is printed with its seed, and makes the exit code 1. Plans are replayed by
`benchmarks.temporal_semantics`, which shares no code with the planner, and where `FORETHOUGHT_VAL` names its program,
by VAL as well.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.random_temporal import COARSE, FINE, RANGED, SEPARATION, TemporalTask, random_temporal_task
from benchmarks.temporal_brute import TooManyStates, find_least_makespan
from benchmarks.temporal_semantics import TemporalSemantics, TimedStep
from benchmarks.validators import VAL_VARIABLE
from planner.language.pddl import parse_domain, parse_problem
from planner.plan import Plan, Result, Status
from planner.solve import solve

UNIT: Final = Fraction(1)
SECOND: Final = 16
"""Ticks in a second of a coarse task: more than separations follow each other in a best plan."""
MOST_STATES: Final = 4000
"""Most states in time that are enumerated at one tick, or in all."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came out for one task: a row of the table, and what is wrong about it ("" where nothing is)."""

    row: str
    wrong: str = ""
    checked: str = ""


def draw(seed: int) -> TemporalTask:
    """Return the task of `seed`."""
    return random_temporal_task(seed, (FINE, RANGED, COARSE)[seed % 3])


@dataclass(frozen=True, slots=True)
class Truth:
    """What the enumeration says: the least makespan in seconds, None where there is no plan."""

    makespan: Fraction | None = None
    is_known: bool = True


def find_truth(
    task: TemporalTask, most_states: int = MOST_STATES, change: Callable[[TemporalSemantics], None] | None = None
) -> Truth:
    """Enumerate the schedules of `task`, whose meaning `change` may alter before."""
    ticks = 1 if task.unit == SEPARATION else SECOND
    semantics = TemporalSemantics(*task.write(UNIT), ticks)
    if change is not None:
        change(semantics)
    try:
        least = find_least_makespan(semantics, most_states)
    except TooManyStates:
        return Truth(is_known=False)
    if least is None:
        return Truth()
    units, rest = divmod(least, ticks)
    return Truth(units * task.unit + rest * SEPARATION)


def try_seed(time_limit: float, seed: int) -> Trial:
    """Draw the task of `seed` and try it, with VAL where its program is named."""
    return try_task(draw(seed), time_limit, validate=VAL_VARIABLE in os.environ)


def try_task(task: TemporalTask, time_limit: float, *, validate: bool) -> Trial:
    """Solve `task` and judge the answer."""
    domain, text = task.write()
    result = solve(parse_problem(text, parse_domain(domain)), mode="optimal", time_limit=time_limit)
    trial = judge(result, task, find_truth(task))
    if not validate or result.plan is None or trial.wrong:
        return trial
    return Trial(trial.row, checked=ask_val(task, result.plan))


def judge(result: Result, task: TemporalTask, truth: Truth) -> Trial:
    """Compare `result` with what the enumeration says."""
    kind = "" if truth.is_known else ", not enumerated"
    match result.status:
        case Status.UNSUPPORTED:
            return Trial("refused", f"refused: {result.reason}")
        case Status.UNKNOWN:
            return Trial(f"no answer{kind}")
        case Status.UNSOLVABLE:
            return Trial(f"proved unsolvable{kind}", "there is a plan" if truth.makespan is not None else "")
    assert result.plan is not None
    wrong = TemporalSemantics(*task.write(), 1000).replay(as_ticks(result.plan))
    if wrong:
        return Trial("solved", f"the plan is invalid: {wrong}")
    if truth.is_known and truth.makespan is None:
        return Trial("solved", "the enumeration finds no plan")
    makespan = Fraction(result.plan.makespan or 0)
    if truth.makespan is not None and makespan < truth.makespan:
        return Trial("solved", f"the plan takes {makespan}, less than the least, {truth.makespan}")
    bound, least = Fraction(result.lower_bound or 0), truth.makespan
    if bound > makespan or (result.status is Status.SOLVED and least is not None and bound > least):
        return Trial("solved", f"the bound {bound} is greater than the least makespan")
    if result.status is Status.SOLVED:
        return Trial(f"solved without proof{kind}")
    if truth.makespan is not None and makespan != truth.makespan:
        return Trial("proved", f"the makespan {float(makespan)} is not the least, {float(truth.makespan)}")
    return Trial(f"proved optimal{kind}{', nothing to do' if not makespan else ''}")


def as_ticks(plan: Plan) -> list[TimedStep]:
    """Return the steps of `plan`, in thousandths of a second."""
    pairs = zip(plan.steps, plan.times, strict=True)
    return [
        TimedStep(int(time.start * 1000), (step.action, *step.arguments), int(time.duration * 1000))
        for step, time in pairs
    ]


def ask_val(task: TemporalTask, plan: Plan) -> str:
    """Return whether VAL finds `plan` valid, whose times count separations; its tolerance is half of one."""
    with TemporaryDirectory(prefix="val-") as name:
        files = Path(name, "domain.pddl"), Path(name, "problem.pddl"), Path(name, "plan")
        for file, text in zip(files, task.write(task.unit / SEPARATION), strict=False):
            file.write_text(text, encoding="utf-8")
        instants = [part[1] for part in task.domain if part[0] == ":action"]
        lines = [
            f"{step.start}: ({' '.join(step.name)})" + ("" if step.name[0] in instants else f" [{step.duration}]")
            for step in as_ticks(plan)
        ]
        files[2].write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [os.environ[VAL_VARIABLE], "-t", "0.5", *map(str, files)]
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return "valid" if "Plan valid" in run.stdout else "invalid"


def write_table(trials: Iterable[Trial]) -> str:
    """Return how many trials had each outcome, as a table in Markdown."""
    found = list(trials)
    rows = Counter(trial.row for trial in found)
    checked = Counter(f"plans that are {trial.checked} for VAL" for trial in found if trial.checked)
    lines = ["| outcome | tasks |", "|---|---|", f"| all | {len(found)} |"]
    lines += [f"| {row} | {count} |" for row, count in (*sorted(rows.items()), *sorted(checked.items()))]
    return "\n".join([*lines, f"| wrong | {sum(bool(trial.wrong) for trial in found)} |"])


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 1 where an answer is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.temporal_trials", description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=1000, help="number of tasks (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first task (default: 0)")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each task (default: 10)")
    parser.add_argument("--processes", type=int, default=1, help="tasks that are tried at once (default: 1)")
    given = parser.parse_args(arguments)
    seeds = range(given.seed, given.seed + given.tasks)
    trials = []
    with ProcessPoolExecutor(given.processes) as pool:
        for seed, trial in zip(seeds, pool.map(partial(try_seed, given.time_limit), seeds), strict=True):
            trials.append(trial)
            if trial.wrong or trial.checked == "invalid":
                sys.stderr.write(f"seed {seed}: {trial.wrong or 'the plan is invalid for VAL'}\n")
    sys.stdout.write(write_table(trials) + "\n")
    return int(any(trial.wrong or trial.checked == "invalid" for trial in trials))


if __name__ == "__main__":
    sys.exit(main())
