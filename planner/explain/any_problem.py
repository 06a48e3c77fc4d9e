"""The explanation of a plan, or of why there is none, for problems of every kind, in time or without it."""

from __future__ import annotations

from planner.limits import Limits
from planner.model import Problem
from planner.model.problem import is_temporal
from planner.plan import Plan, Status
from planner.problem_kinds import AnyProblem, Reasons, service_of


def explain_any_plan(plan: Plan, limits: Limits) -> Reasons:
    """Explain why each step of a valid plan is there, and in time why it ends when it does; raises `LimitReached`."""
    if not isinstance(plan.problem, Problem):
        return service_of(plan.problem).explain_plan(plan.problem, plan, limits)
    if is_temporal(plan.problem):
        from planner.explain.timed_explanation import explain_times
        from planner.validation.timed_replay import in_turn

        timed = plan if plan.times or not plan.steps else in_turn(plan.problem, plan.steps)
        return explain_times(plan.problem, timed, limits)
    from planner.explain.plan_explanation import explain_plan

    return explain_plan(plan.problem, plan)


def explain_no_plan(
    problem: AnyProblem, limits: Limits, status: Status = Status.UNSOLVABLE, *, model_changes: bool = False
) -> Reasons:
    """Explain why `problem`, for which search ended with `status`, has no plan.

    With `model_changes`, say also which changes of actions would give one, where that is known how to find.
    """
    if not isinstance(problem, Problem):
        return service_of(problem).explain_unsolvable(problem, limits)
    if is_temporal(problem):
        from planner.explain.timed_unsolvability import explain_no_plan_in_time

        return explain_no_plan_in_time(problem, limits)
    from planner.explain.unsolvability import explain_unsolvable

    found = explain_unsolvable(problem, limits, model_changes=model_changes)
    return found.as_unsolvable() if status is Status.UNSOLVABLE else found
