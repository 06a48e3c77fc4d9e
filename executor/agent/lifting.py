"""Templates of what runs have done, so that the same is done the same way again."""

from __future__ import annotations

from executor.handle import Outcome
from executor.record.status import StepStatus
from planner.errors import InputError
from planner.plan import Plan
from planner.reuse import Template, lift
from planner.reuse.checked import checked
from planner.validate import validate

DONE = frozenset({StepStatus.SUCCEEDED, StepStatus.UNVERIFIED})


def lifted(outcome: Outcome, name: str = "") -> Template:
    """Return the template that what a run has done, in this order, is an instance of.

    Values of data parameters are not kept: they were said for that run. Raises `InputError` where the steps do not lead
    from where the run began to its goal as it is declared: something else has changed the world, too.
    """
    state = outcome.state
    latest = dict.fromkeys(reversed(state.finished))
    done = [state.steps[id_].step for id_ in reversed(latest) if state.steps[id_].status in DONE]
    plan = checked(state.source, [(each.action, each.arguments) for each in done], {})
    if plan is None:
        reason = validate(state.source, done).reason
        hint = "only runs in which the world is as it is declared give templates"
        raise InputError(f"the run {outcome.run} cannot be lifted: {reason}", hint=hint)
    return lift(Plan(plan.steps, state.source), name)
