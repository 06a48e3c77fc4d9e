"""Tasks in time whose steps need each other: the best plan to the goal, where it decomposes the tasks."""

from __future__ import annotations

from htn.compilations.htn_in_time import solve_without_tasks
from htn.model import HtnProblem
from htn.verification.chart_parsing import decompose_in_time, verify
from planner.lightweight import replace
from planner.limits import LimitReached, Limits
from planner.options import SolveOptions
from planner.plan import Progress, Result


def plan_overlapping(problem: HtnProblem, options: SolveOptions, limits: Limits, known: Result) -> Result:
    """Return the answer for the goal of `problem`, whatever tasks it is for, if its plan decomposes the tasks.

    No plan for the tasks is better. Else return the answer `known`.
    """
    found = solve_without_tasks(problem, options, limits)
    if found.plan is None or not found.plan.times:
        return known
    try:
        plan = decompose_in_time(problem, found.plan, limits)
    except LimitReached:
        return known
    if plan is None or not verify(problem, plan, limits).valid:
        return known
    if options.on_progress is not None:
        options.on_progress(Progress(plan, found.lower_bound, limits.elapsed, found.statistics))
    return replace(found, plan=plan)
