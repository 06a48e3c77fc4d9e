"""Plans that nobody has searched for: taken only where the plan checker agrees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.model import Problem
from planner.model.domain import creates_objects
from planner.plan import Plan, Step
from planner.validate import Simulation, validate
from planner.wishes import valued

Steps = Iterable[tuple[str, tuple[str, ...]]]
"""Actions with their arguments."""


def checked(problem: Problem, steps: Steps, names: Mapping[str, str]) -> Plan | None:
    """Return `steps` as a plan for `problem`, with `names` for their arguments; None where they are none."""
    found = [Step(action, tuple([names.get(arg, arg) for arg in args])) for action, args in steps]
    simulation = Simulation(expanded(problem, found))
    if any(simulation.rules.misfit(step) for step in found):
        return None
    plan = Plan(tuple([Step(each.action, each.arguments, simulation.cost(each)) for each in found]), problem)
    verdict = validate(problem, plan)
    return valued(plan, verdict) if verdict.valid else None


def expanded(problem: Problem, steps: Iterable[Step]) -> Problem:
    """Return `problem` with placeholders for what `steps` create, if its actions create anything."""
    if not creates_objects(problem.domain):
        return problem
    from planner.creation import for_steps  # noqa: PLC0415 - few domains need it

    return for_steps(problem, steps)
