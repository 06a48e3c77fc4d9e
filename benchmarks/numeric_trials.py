"""Our planner on random small tasks with numbers, judged by the enumeration of their states.

`python -m benchmarks.numeric_trials --tasks 2000 --seed 0` draws that many tasks with all features, beginning at a
seed, solves each, and prints what came out as a table. What contradicts the enumeration is printed with its seed, and
makes the exit code 1. Plans are replayed by `benchmarks.numeric_semantics`, which shares no code with the planner, and
with `--validator` by unified-planning's validator as well.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from benchmarks.numeric_brute import Best, TooManyStates, Unbounded, find_best
from benchmarks.numeric_semantics import NumericSemantics
from benchmarks.random_numeric import ALL, NumericFeatures, NumericTask, random_numeric_task
from benchmarks.validators.plan_checks import check_by_unified_planning
from planner.errors import ForethoughtError, InputError, PlanError, UnsupportedError
from planner.language.pddl import parse_domain, parse_problem
from planner.plan import Plan, Result, Status
from planner.solve import solve

MOST_STATES: Final = 400
"""Most states that are enumerated: tasks with more, among them all without bounds, count as not enumerated."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came out for one task: a row of the table, and what is wrong about it ("" where nothing is).

    `checked` says what unified-planning's validator said of the plan, if it was asked.
    """

    row: str
    wrong: str = ""
    checked: str = ""


@dataclass(frozen=True, slots=True)
class Truth:
    """What the enumeration of the states says: a best plan, or why there is none."""

    best: Best | None = None
    enumerated: bool = True
    unbounded: bool = False


def find_truth(task: NumericTask, most_states: int = MOST_STATES) -> Truth:
    """Enumerate the states of `task`, `most_states` at most."""
    try:
        return Truth(find_best(task, most_states))
    except TooManyStates:
        return Truth(enumerated=False)
    except Unbounded:
        return Truth(unbounded=True)


def try_task(task: NumericTask, time_limit: float, *, validate: bool) -> Trial:
    """Solve `task` and judge the answer."""
    try:
        problem = parse_problem(task.problem, parse_domain(task.domain))
    except UnsupportedError as error:
        return Trial(f"refused: {error.construct}")
    except ForethoughtError as error:
        return Trial("escaped", f"reading raises {type(error).__name__}: {error}")
    try:
        result = solve(problem, time_limit=time_limit)
    except PlanError as error:
        return Trial("escaped", f"solve raises {type(error).__name__}: {error}")
    except InputError as error:
        return Trial(f"refused: {shorten(str(error))}")
    except Exception as error:  # noqa: BLE001 - a user must never see one: that is what is looked for
        return Trial("escaped", f"solve raises {type(error).__name__}: {error}")
    trial = judge(result, task, find_truth(task))
    if not validate or result.plan is None:
        return trial
    return replace(trial, checked=ask_validator(task, result.plan))


def judge(result: Result, task: NumericTask, truth: Truth) -> Trial:
    """Compare `result` with what the enumeration of the states says."""
    kind = "bounded" if truth.enumerated else "not enumerated"
    match result.status:
        case Status.UNSUPPORTED:
            return Trial(f"refused: {shorten(result.reason)}")
        case Status.UNKNOWN:
            return Trial(f"unknown, {kind}")
        case Status.UNSOLVABLE:
            has_plan = truth.best is not None or truth.unbounded
            return Trial(f"unsolvable, {kind}", "there is a plan" if has_plan else "")
    assert result.plan is not None
    value = replay(task, result.plan)
    if value is None:
        return Trial("solved", f"the plan is invalid: {list(map(str, result.plan.steps))}")
    if truth.enumerated and truth.best is None and not truth.unbounded:
        return Trial("solved", "the enumeration finds no plan")
    if result.status is Status.SOLVED:
        return Trial(f"solved, {kind}")
    if truth.unbounded:
        return Trial("proved", "there is no best plan")
    if truth.best is not None and value != truth.best.value:
        return Trial("proved", f"the value {value} is not the best, {truth.best.value}")
    return Trial(f"proved, {kind}")


def replay(task: NumericTask, plan: Plan) -> Fraction | None:
    """Return the value of the metric after `plan`, the smaller the better; None where the plan is invalid."""
    semantics = NumericSemantics(task.domain, task.problem)
    state = semantics.find_initial()
    for step in plan.steps:
        after = semantics.apply(state, (step.action, *step.arguments))
        if after is None:
            return None
        state = after
    return semantics.measure(state, len(plan.steps)) if semantics.is_goal(state) else None


def ask_validator(task: NumericTask, plan: Plan) -> str:
    """Return whether unified-planning's validator finds `plan` valid, invalid, or takes no such task."""
    with tempfile.TemporaryDirectory() as name:
        files = Path(name, "domain.pddl"), Path(name, "problem.pddl")
        for file, text in zip(files, (task.domain, task.problem), strict=True):
            file.write_text(text, encoding="utf-8")
        steps = "".join(f"({' '.join([step.action, *step.arguments])})\n" for step in plan.steps)
        return check_by_unified_planning(*files, steps).said.split(":")[0].split(" ")[0]


def shorten(reason: str) -> str:
    """Return `reason` without the names of one task."""
    words = ["…" if any(sign.isdigit() for sign in word) else word for word in reason.split()]
    return " ".join(words)[:90]


def write_table(trials: Iterable[Trial]) -> str:
    """Return how many trials had each outcome, as a table in Markdown."""
    found = list(trials)
    rows = Counter(trial.row for trial in found)
    checked = Counter(f"unified-planning's validator: {trial.checked}" for trial in found if trial.checked)
    lines = ["| outcome | tasks |", "|---|---|", f"| all | {len(found)} |"]
    lines += [f"| {row} | {count} |" for row, count in (*sorted(rows.items()), *sorted(checked.items()))]
    return "\n".join([*lines, f"| wrong | {sum(bool(trial.wrong) for trial in found)} |"])


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 1 where an answer is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.numeric_trials", description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=2000, help="number of tasks (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first task (default: 0)")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each task (default: 10)")
    parser.add_argument("--nonlinear", action="store_true", help="draw products and quotients of fluents as well")
    parser.add_argument("--validator", action="store_true", help="ask unified-planning's validator as well")
    given = parser.parse_args(arguments)
    features: NumericFeatures = replace(ALL, nonlinear=given.nonlinear)
    trials = []
    for seed in range(given.seed, given.seed + given.tasks):
        trial = try_task(random_numeric_task(seed, features), given.time_limit, validate=given.validator)
        trials.append(trial)
        if trial.wrong or trial.checked == "invalid":
            sys.stderr.write(f"seed {seed}: {trial.wrong or 'the plan is invalid for unified-planning'}\n")
    sys.stdout.write(write_table(trials) + "\n")
    return int(any(trial.wrong or trial.checked == "invalid" for trial in trials))


if __name__ == "__main__":
    sys.exit(main())
