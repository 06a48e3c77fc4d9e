"""Our planner on random small hierarchical tasks, judged by the enumeration of their decompositions.

`python -m benchmarks.hierarchical_trials --tasks 1000` draws that many tasks, beginning at a seed, solves each, and
prints what came out as a table. What contradicts the enumeration is printed with its seed, and makes the exit code 1.
Plans and their decompositions are replayed by the verifier.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from benchmarks.htn_brute import TooManyNetworks, cheapest
from benchmarks.numeric_trials import Trial, write_table
from benchmarks.random_hierarchies import ORDERED, HtnFeatures, random_htn
from htn.model import HtnProblem
from htn.verification.plan_verification import validate
from planner.model import Number
from planner.plan import Result, Status
from planner.solve import solve

FEATURES: Final = (HtnFeatures(partial=False), ORDERED, HtnFeatures())
"""Tasks in order, in order that recur at any place, and partly ordered; seeds take them in turn."""


def draw(seed: int) -> HtnProblem:
    """Return the task of `seed`."""
    return random_htn(seed, FEATURES[seed % len(FEATURES)])


def find_truth(problem: HtnProblem) -> tuple[Number | None, bool]:
    """Return the cost of the cheapest plan, None where there is none, and whether all decompositions were looked at."""
    try:
        return cheapest(problem), True
    except TooManyNetworks:
        return None, False


def judge(problem: HtnProblem, result: Result, best: Number | None, *, enumerated: bool) -> Trial:
    """Compare `result` with what the enumeration says: `best`, the least cost of a plan, if all was `enumerated`."""
    kind = result.status.name.lower() + ("" if enumerated else ", not enumerated")
    if result.status is Status.UNSOLVABLE:
        return Trial(kind, "there is a plan" if best is not None else "")
    if result.plan is None:
        return Trial(kind)
    verdict = validate(problem, result.plan)
    if not verdict.valid:
        return Trial(kind, f"the plan is invalid: {verdict.reason}")
    if not enumerated:
        return Trial(kind)
    if best is None or verdict.cost < best:
        return Trial(kind, f"the enumeration finds none as cheap as {verdict.cost}: {best}")
    if result.status is Status.OPTIMAL and verdict.cost != best:
        return Trial(kind, f"the cost {verdict.cost} is not the best, {best}")
    if result.lower_bound is not None and result.lower_bound > best:
        return Trial(kind, f"the bound {result.lower_bound} is above the best cost, {best}")
    return Trial(kind)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 1 where an answer is wrong."""
    summary = __doc__.splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hierarchical_trials", description=summary)
    parser.add_argument("--tasks", type=int, default=1000, help="number of tasks (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first task (default: 0)")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each task (default: 10)")
    given = parser.parse_args(arguments)
    trials = []
    for seed in range(given.seed, given.seed + given.tasks):
        problem = draw(seed)
        best, enumerated = find_truth(problem)
        trials.append(judge(problem, solve(problem, time_limit=given.time_limit), best, enumerated=enumerated))
        if trials[-1].wrong:
            sys.stderr.write(f"seed {seed}: {trials[-1].wrong}\n")
    sys.stdout.write(write_table(trials) + "\n")
    return int(any(trial.wrong for trial in trials))


if __name__ == "__main__":
    sys.exit(main())
