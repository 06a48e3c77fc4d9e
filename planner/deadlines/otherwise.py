"""Deadlines of problems that search with times does not take as they are."""

from __future__ import annotations

import time
from collections.abc import Callable

from planner.annotations import Any, Final
from planner.model import Problem
from planner.plan import Plan, Progress, Result, Status, StoppedBy
from planner.records import replace
from planner.validate import validate

SECONDS: Final = "seconds"
"""The resource that steps use as long as they last, where they are taken one after the other."""


def solve_otherwise(problem: Problem, solve: Callable[..., Result], **options: Any) -> Result | None:
    """Return the answer to `problem`, which has a deadline, where search with times does not take it; else None.

    Wishes are compiled away together with constraints, and with them what these say about the order of a plan. So the
    problem is solved without its deadline first: that gives a bound, and the answer where the plan is in time. Plans
    whose steps are taken in turn need no order: their time is a resource, and the deadline a budget. That one of these
    is best is proved where it is as good as the bound; others may be in time, too.
    """
    if problem.unknown:
        return Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, reason="deadlines where facts are unknown")
    if not (problem.constraints and problem.wishes):
        return None
    limit, began = options["time_limit"], time.monotonic()
    report = options.pop("on_progress", None)
    half = None if limit is None else limit / 2
    free = solve(replace(problem, deadline=None), **{**options, "time_limit": half})
    early = _settled(free, problem)
    if early is not None:
        return early
    if limit is not None:
        options["time_limit"] = max(0.0, limit - (time.monotonic() - began))

    def told(progress: Progress) -> None:
        report(replace(progress, plan=_of(progress.plan, problem), lower_bound=free.lower_bound))

    found = solve(in_turn(problem), on_progress=None if report is None else told, **options)
    return _bounded(replace(found, plan=_of(found.plan, problem), lower_bound=free.lower_bound))


def _settled(free: Result, problem: Problem) -> Result | None:
    """Return the answer where that of the problem without its deadline will do."""
    if free.status in (Status.UNSOLVABLE, Status.UNSUPPORTED):
        return free
    plan = _of(free.plan, problem)
    if free.status is Status.OPTIMAL and plan is not None and validate(problem, plan).valid:
        return replace(free, plan=plan)
    return None


def _bounded(found: Result) -> Result:
    """Return what was found among plans whose steps are taken in turn, with what is proved by the bound for all."""
    if found.plan is not None and found.lower_bound is not None and found.plan.charge <= found.lower_bound:
        return replace(found, status=Status.OPTIMAL)
    if found.status not in (Status.OPTIMAL, Status.UNSOLVABLE):
        return found
    status = Status.UNKNOWN if found.plan is None else Status.SOLVED
    reason = "only plans whose steps are taken in turn were searched for"
    return replace(found, status=status, stopped_by=StoppedBy.INCOMPLETE, reason=reason)


def in_turn(problem: Problem) -> Problem:
    """Return `problem` with a budget on the sum of the durations in place of its deadline."""
    domain, name = problem.domain, SECONDS
    while any(name in action.uses for action in domain.actions.values()):
        name = f"{name} at work"
    actions = {
        each.name: replace(each, uses={**each.uses, name: (each.duration or 0,)}) for each in domain.actions.values()
    }
    assert problem.deadline is not None  # noqa: S101 - it is asked for where there is one
    budgets = {**problem.budgets, name: problem.deadline}
    return replace(problem, domain=replace(domain, actions=actions), budgets=budgets, deadline=None)


def _of(plan: Plan | None, problem: Problem) -> Plan | None:
    return None if plan is None else replace(plan, problem=problem)
