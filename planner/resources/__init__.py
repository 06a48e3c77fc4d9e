"""Resources: what the steps of plans use up, within budgets."""

from __future__ import annotations

from planner.compilations.object_creation import for_steps
from planner.lightweight import replace
from planner.model import TRUE, Metric, Number, Problem, is_temporal
from planner.model.actions import NO_MOMENT
from planner.plan import Plan, exact_sum
from planner.problem_kinds import classical_of
from planner.semantics.simulation import Simulation
from planner.semantics.spending import has_budgets


def resources(plan: Plan) -> dict[str, Number]:
    """Return the exact use of each resource of the domain by `plan`.

    Raises `PlanError` for steps that do not fit the problem, and for a missing static value.
    """
    problem = _without_time(classical_of(plan.problem))
    names = dict.fromkeys(name for action in problem.domain.actions.values() for name in action.uses)
    if not names:
        return {}
    simulation = Simulation(for_steps(replace(problem, unknown=()), plan.steps))
    uses = [simulation.uses(step) for step in plan.steps]
    return {name: exact_sum(used.get(name, 0) for used in uses) for name in names}


def _without_time(problem: Problem) -> Problem:
    """Return `problem` without what it says of time, on which no use depends."""
    if not is_temporal(problem):
        return problem
    actions = {
        name: replace(
            action, duration=None, throughout=TRUE, at_start=NO_MOMENT, at_end=NO_MOMENT, numbers=(), holds={}
        )
        for name, action in problem.domain.actions.items()
    }
    domain = replace(problem.domain, actions=actions)
    return replace(problem, domain=domain, metric=Metric.COST, timed=(), due=(), capacity={}, deadline=None)


def spent(plan: Plan) -> dict[str, tuple[Number, Number]]:
    """Return the use and the budget of each limited resource, and of `seconds` if there is a deadline.

    The cost is left out. Raises as `resources` and `makespan` do.
    """
    found: dict[str, tuple[Number, Number]] = {}
    if plan.problem is None:
        return found
    problem = classical_of(plan.problem)
    if has_budgets(problem):
        used = resources(plan)
        found = {name: (used.get(name, 0), most) for name, most in problem.budgets.items() if name != "cost"}
    if problem.deadline is not None:
        from planner.scheduling.schedule import makespan

        found["seconds"] = makespan(plan), problem.deadline
    return found
