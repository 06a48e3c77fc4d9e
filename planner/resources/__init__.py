"""What plans use of resources: things that steps use up and that have budgets."""

from __future__ import annotations

from planner.compilations.object_creation import for_steps
from planner.lightweight import replace
from planner.model import Number, Problem
from planner.plan import Plan, exact_sum
from planner.semantics.simulation import Simulation


def resources(plan: Plan) -> dict[str, Number]:
    """Return how much `plan` uses of each resource that an action of its domain uses, exactly.

    Raises `PlanError` for steps that do not fit the problem, and for a static value that is missing.
    """
    problem = _classical(plan)
    names = dict.fromkeys(name for action in problem.domain.actions.values() for name in action.uses)
    if not names:
        return {}
    simulation = Simulation(for_steps(replace(problem, unknown=()), plan.steps))
    uses = [simulation.uses(step) for step in plan.steps]
    return {name: exact_sum(used.get(name, 0) for used in uses) for name in names}


def spent(plan: Plan) -> dict[str, tuple[Number, Number]]:
    """Return what `plan` takes of each thing that its problem limits, and how much it may take.

    These are the resources that have a budget, and `seconds` where there is a deadline. The cost is left out.
    Raises as `resources` and `makespan` do.
    """
    found: dict[str, tuple[Number, Number]] = {}
    if plan.problem is None:
        return found
    problem = _classical(plan)
    if problem.budgets:
        used = resources(plan)
        found = {name: (used.get(name, 0), most) for name, most in problem.budgets.items() if name != "cost"}
    if problem.deadline is not None:
        from planner.scheduling.schedule import makespan

        found["seconds"] = makespan(plan), problem.deadline
    return found


def _classical(plan: Plan) -> Problem:
    problem: Problem = plan.problem if isinstance(plan.problem, Problem) else plan.problem.classical
    return problem
