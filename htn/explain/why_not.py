"""Why a hierarchical problem has no plan: first what is proved to be impossible, then what was met on the way."""

from __future__ import annotations

from htn.explain.impossible import impossible, lacking
from htn.explain.observed import observed
from htn.explain.reach import Reach
from htn.explain.report import Lack, WhyNot
from htn.model import HtnProblem
from planner.annotations import Final
from planner.budget import Budget, LimitReached
from planner.collector import collector_paused
from planner.plan import StoppedBy

EXACT_SECONDS: Final = 5.0
"""So long, and for a third of the time at most, it is tried to find each condition where it is missing."""


def why_not(problem: HtnProblem, budget: Budget) -> WhyNot:
    """Return why `problem` has no plan: tasks, the methods tried, and the conditions that failed, the deepest first.

    Limits end the work early and are reported, not raised. Raises `InputError` for a problem that means nothing and
    `UnsupportedError` for one that search does not take.
    """
    with collector_paused():
        return _why_not(problem, budget)


def _why_not(problem: HtnProblem, budget: Budget) -> WhyNot:
    try:
        reach = _reach(problem, budget)
        failures = impossible(reach)
        lacks = lacking(problem.classical.goal.hard, reach)
    except LimitReached as limit:
        return WhyNot(problem.name, stopped_by=limit.stopped_by)
    if lacks is None:
        lacks = (Lack(str(problem.classical.goal.hard), "which no facts at all would make true"),)
    if failures or lacks:
        return WhyNot(problem.name, failures, lacks)
    met = observed(problem, reach, budget)
    return WhyNot(
        problem.name,
        dead_ends=met.dead_ends,
        exhausted=met.exhausted,
        solvable=met.solvable,
        stopped_by=met.stopped_by,
    )


def _reach(problem: HtnProblem, budget: Budget) -> Reach:
    """Return the relaxed world; a large one, in which methods require what their subtasks need."""
    seconds = EXACT_SECONDS if budget.remaining is None else min(EXACT_SECONDS, max(budget.remaining, 0.0) / 3)
    try:
        found = Reach(problem, Budget(seconds, budget.memory_limit, budget.cancel))
    except LimitReached as limit:
        if limit.stopped_by is not StoppedBy.TIME:
            raise
        return Reach(problem, budget, pulled=True)
    found.relaxed.budget = budget
    return found
