"""What a plan is for, apart from how: the fields that change when something else is wanted in the middle of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from executor.plans.action_plan import ActionPlan, stated
from executor.plans.basis import Basis
from planner.model import Problem
from planner.records import replace

FIELDS: Final = frozenset({"goal", "constraints", "budgets", "deadline", "basis"})
"""The fields of an `ActionPlan` that say what it is for."""


def aim_of(problem: Problem, basis: Basis | None = None) -> dict[str, Any]:
    """Return what `problem` asks for, as data."""
    made = ActionPlan(**stated(problem), basis=basis or Basis())
    return made.model_dump(mode="json", include=set(FIELDS))


def aimed(plan: ActionPlan, aim: Mapping[str, Any], source: Problem) -> tuple[ActionPlan, Problem]:
    """Return `plan` and its problem `source` as they are where `aim` is what they are for."""
    changed = ActionPlan.model_validate({**plan.model_dump(mode="json", exclude=set(FIELDS)), **aim})
    found = changed.problem(source.domain)
    limits: dict[str, Any] = {"constraints": found.constraints, "budgets": found.budgets, "deadline": found.deadline}
    return changed, replace(source, goal=found.goal, **limits)
