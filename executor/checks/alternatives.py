"""Whether the alternatives that a plan names are plans of its domain."""

from __future__ import annotations

from collections.abc import Iterator

from executor.checks.findings import PLAN, PlanFinding
from executor.plans.action_plan import ActionPlan
from planner.declare.syntax import NotationError, parse_atom
from planner.model import Problem
from planner.plan import Step
from planner.records import replace
from planner.validate.simulation import Rules


def check_alternatives(plan: ActionPlan, problem: Problem) -> Iterator[PlanFinding]:
    """Yield the steps of alternatives that are no ground actions of `problem`."""
    if not plan.alternatives:
        return
    rules = Rules(replace(problem, unknown=()))
    for number, texts in enumerate(plan.alternatives):
        for place, text in enumerate(texts):
            found, hint = _misfit(text, rules)
            if found:
                yield PLAN.error("alternative", found, "alternatives", number, place, hint=hint)


def _misfit(text: str, rules: Rules) -> tuple[str, str]:
    try:
        atom = parse_atom(text)
    except NotationError as mistake:
        return f"{text!r} is no ground action: {mistake.problem}", mistake.hint or ""
    return rules.misfit(Step(atom.predicate, atom.args)), ""
