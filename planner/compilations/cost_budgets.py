"""A budget on what plans are compared by: a plan that costs least keeps it, or no plan does.

Without wishes, the cost of a plan is what search makes least, whatever the metric. So the problem without the budget is
solved: a lower bound above the budget proves that no plan keeps it.
"""

from __future__ import annotations

import threading

from planner.compilations.budgets import limits_cost
from planner.lightweight import Any, replace
from planner.model.formulas import Number
from planner.model.problem import COST, NumericMetric, Problem
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Progress, Result, Status, StoppedBy
from planner.problem_kinds import classical_of


def limits_metric(problem: Problem) -> bool:
    """Return whether the cost has a budget that is one on a metric of numbers or of time."""
    return limits_cost(problem) and isinstance(problem.metric, NumericMetric)


def without_cost_budget(problem: Problem) -> Problem:
    """Return `problem` without its budget on the cost."""
    return replace(problem, budgets={name: limit for name, limit in problem.budgets.items() if name != COST})


def solve_within_cost(problem: Any, free: Any, options: SolveOptions, solve: Solve) -> Result:
    """Solve `problem`, of any kind and without wishes, by `free`, which is the problem without a budget on the cost."""
    return _Spender(problem, options).answer(free, solve)


class _Spender(threading.Event):
    """Keeps the cheapest plan so far; as an event, it cancels the search when a first plan keeps the budget."""

    def __init__(self, problem: Any, options: SolveOptions) -> None:
        super().__init__()
        self._problem, self._options = problem, options
        self._budget: Number = classical_of(problem).budgets[COST]
        self._best: Plan | None = None

    def is_set(self) -> bool:
        """Return whether the search is to end."""
        outer = self._options.cancel
        is_enough = self._best is not None and self._options.mode == "first"
        return is_enough or (outer is not None and outer.is_set())

    def answer(self, free: Any, solve: Solve) -> Result:
        """Solve the problem `free` without the budget, and judge the answer by it."""
        mode = "anytime" if self._options.mode == "first" else self._options.mode
        found = solve(free, replace(self._options, mode=mode, cancel=self, on_progress=self._report))
        self._take(found.plan)
        if found.status in (Status.UNSUPPORTED, Status.UNSOLVABLE):
            return found
        if found.lower_bound is not None and found.lower_bound > self._budget:
            reason = f"every plan costs {found.lower_bound} or more, and the budget is {self._budget}"
            return Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, statistics=found.statistics, reason=reason)
        if self._best is None:
            more = "" if found.plan is None else f"no plan is known that keeps the budget of {self._budget} on the cost"
            reason = more or found.reason
            stopped = StoppedBy.INCOMPLETE if found.stopped_by is StoppedBy.EXHAUSTED else found.stopped_by
            return replace(found, status=Status.UNKNOWN, stopped_by=stopped, plan=None, reason=reason)
        if found.stopped_by is StoppedBy.CANCELLED and self._options.mode == "first":
            return replace(found, status=Status.SOLVED, stopped_by=StoppedBy.FIRST_PLAN, plan=self._best)
        return replace(found, plan=self._best)

    def _take(self, plan: Plan | None) -> bool:
        """Keep `plan` if it keeps the budget and is cheaper than the best one; return whether it is."""
        if plan is None or plan.cost > self._budget or (self._best is not None and self._best.cost <= plan.cost):
            return False
        self._best = replace(plan, problem=self._problem)
        return True

    def _report(self, progress: Progress) -> None:
        if self._take(progress.plan) and self._options.on_progress is not None:
            self._options.on_progress(replace(progress, plan=self._best))
