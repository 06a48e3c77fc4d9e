"""Other plans for the same problem, which a run may end by where its own plan fails."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from executor.plans.action_plan import ActionPlan, texts_of
from executor.plans.kinds import is_candidate_set
from planner.errors import InputError, PlanError
from planner.model import Problem
from planner.plan import Plan, Result, Step
from planner.records import replace
from planner.validate.simulation import Rules


def alternatives_of(given: Any, problem: Problem) -> tuple[tuple[str, ...], ...]:
    """Return other plans for `problem`, a `CandidateSet` or several plans, as texts.

    Raises `InputError` for what are no plans, and `PlanError` for steps that are none of the problem.
    """
    plans = given.plans if is_candidate_set(given) else given
    if isinstance(plans, str | Plan | Result | ActionPlan) or not isinstance(plans, Iterable):
        raise InputError(f"alternatives are several plans, not {given!r:.80}", hint="such as k_best(problem, 5)")
    rules = Rules(replace(problem, unknown=()))
    return tuple([_texts(each, number, rules) for number, each in enumerate(plans, 1)])


def _texts(given: Any, number: int, rules: Rules) -> tuple[str, ...]:
    plan = given.expect_plan() if isinstance(given, Result) else given
    if isinstance(plan, ActionPlan):
        steps: Iterable[Step] = [each.step(rules.problem.domain) for each in plan.steps]
    elif isinstance(plan, Plan):
        steps = plan.steps
    else:
        raise InputError(f"alternative {number} is no plan: {given!r:.80}", hint="solve(…) and k_best(…) give plans")
    for step in steps:
        misfit = rules.misfit(step)
        if misfit:
            raise PlanError(f"alternative {number}: {step} does not fit the problem: {misfit}")
    return texts_of([steps])[0]
