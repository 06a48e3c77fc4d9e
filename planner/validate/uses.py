"""What plans use of resources."""

from __future__ import annotations

from planner.creation import for_steps
from planner.model import Number, Problem
from planner.plan import Plan, exact_sum
from planner.records import replace
from planner.validate.simulation import Simulation


def resources(plan: Plan) -> dict[str, Number]:
    """Return how much `plan` uses of each resource that an action of its domain uses, exactly.

    Raises `PlanError` for steps that do not fit the problem, and for a static value that is missing.
    """
    problem: Problem = plan.problem if isinstance(plan.problem, Problem) else plan.problem.classical
    names = dict.fromkeys(name for action in problem.domain.actions.values() for name in action.uses)
    if not names:
        return {}
    simulation = Simulation(for_steps(replace(problem, unknown=()), plan.steps))
    uses = [simulation.uses(step) for step in plan.steps]
    return {name: exact_sum(used.get(name, 0) for used in uses) for name in names}
