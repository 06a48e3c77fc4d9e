"""Deadlines of problems that search with times does not take as they are."""

from __future__ import annotations

from collections.abc import Callable

from planner.annotations import Any, Final
from planner.model import Problem
from planner.plan import Plan, Progress, Result, Status, StoppedBy
from planner.records import replace

SECONDS: Final = "seconds"
"""The resource that steps use as long as they last, where they are taken one after the other."""


def solve_otherwise(problem: Problem, solve: Callable[..., Result], **options: Any) -> Result | None:
    """Return the answer to `problem`, which has a deadline, where search with times does not take it; else None.

    Wishes are compiled away together with constraints, and with them what these say about the order of a plan. Plans
    whose steps are taken in turn need no order: their time is a resource, and the deadline a budget. Nothing is proved
    by that, since others may be in time.
    """
    if problem.unknown:
        return Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, reason="deadlines where facts are unknown")
    if not (problem.constraints and problem.wishes):
        return None
    report = options.pop("on_progress", None)

    def told(progress: Progress) -> None:
        report(replace(progress, plan=_of(progress.plan, problem), lower_bound=None))

    found = solve(in_turn(problem), on_progress=None if report is None else told, **options)
    if found.status not in (Status.OPTIMAL, Status.UNSOLVABLE):
        return replace(found, plan=_of(found.plan, problem), lower_bound=None)
    status = Status.UNKNOWN if found.plan is None else Status.SOLVED
    plan, reason = _of(found.plan, problem), "only plans whose steps are taken in turn were searched for"
    return replace(found, status=status, stopped_by=StoppedBy.INCOMPLETE, plan=plan, lower_bound=None, reason=reason)


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
