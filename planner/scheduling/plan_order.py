"""The partial order of a plan of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.errors import UnsupportedError
from planner.model import Problem, is_temporal
from planner.partial_order.causal_links import order_sequence
from planner.plan import Plan
from planner.problem_kinds import AnyProblem, service_of
from planner.scheduling.order_in_time import order_in_time

if TYPE_CHECKING:
    import networkx as nx


def partial_order(problem: AnyProblem, plan: Plan) -> nx.DiGraph[Any]:
    """Return the order of the steps of `plan` as a transitively reduced graph.

    Nodes are step numbers from 1, with the attribute `step`. Edges have the attribute `reason`: "link" (the first step
    provides what the second needs), "threat" (the second undoes what the first needs, or what the first would undo), or
    "item" (one writes an item of `modifies`, or a numeric fluent, that the other reads or writes), and `links`, a tuple
    of causal links. In a plan of tasks, "task" is what the tasks and the preconditions of methods ask for. Every
    linearisation is a valid plan that ends in the same cost. Of a plan with times, nodes are starts, ends and changes
    at known times; see `order_in_time`. Raises `PlanError` for an invalid plan.
    """
    if not isinstance(problem, Problem):
        return service_of(problem).partial_order(problem, plan)
    if is_temporal(problem) and plan.steps and not plan.times:
        raise UnsupportedError("the order of a plan without times, for a problem in time", "solve(problem) gives times")
    return order_in_time(problem, plan) if is_temporal(problem) or plan.times else order_sequence(problem, plan)
