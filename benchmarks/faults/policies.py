"""Plans as policies: in each state that a plan leads to, its next step."""

from __future__ import annotations

from benchmarks.faults.pool import classical
from planner.model.domain import creates_objects
from planner.plan import Plan
from planner.uncertain.policy import Branch, Node, Policy
from planner.validate import Simulation


def as_policy(plan: Plan) -> Policy | None:
    """Return what says in each state of `plan` which step comes next; None for plans that create objects."""
    problem = classical(plan)
    if creates_objects(problem.domain):
        return None
    simulation, states = Simulation(problem), []
    for step in plan.steps:
        states.append(simulation.facts)
        simulation.apply(step)
    states.append(simulation.facts)
    nodes = [
        Node(facts, step, (Branch(1.0, "", number + 1),))
        for number, (facts, step) in enumerate(zip(states, plan.steps, strict=False))
    ]
    return Policy((*nodes, Node(states[-1], is_goal=True)), frozenset().union(*states), problem, 1.0)
