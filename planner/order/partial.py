"""The partial order that causal links and threats justify: each of its linearisations is a valid plan.

Sets of steps are ints with bit n for step n: the plans of a thousand steps have half a million ordered pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from planner.creation import for_steps
from planner.model import Problem
from planner.order.accesses import accesses
from planner.order.links import CausalLink, links_between
from planner.order.orderings import orderings
from planner.plan import Plan

if TYPE_CHECKING:
    import networkx as nx

Steps = int
"""A set of steps as bits."""


def partial_order(problem: Problem, plan: Plan) -> nx.DiGraph[int]:
    """Return the order of the steps of `plan` as a transitively reduced graph.

    Nodes are step numbers from 1, with the attribute `step`. Edges have the attribute `reason`: "link" (the first step
    provides what the second needs), "threat" (the second undoes what the first needs, or what the first would undo), or
    "item" (one writes an item of `modifies` that the other reads or writes), and `links`, a tuple of causal links.
    Every linearisation is a valid plan that ends in the same cost. Raises `PlanError` for an invalid plan.
    """
    import networkx as nx  # noqa: PLC0415 - takes long to load, and not every use of a plan needs an order

    problem = for_steps(problem, plan.steps)
    found = accesses(problem, plan)
    links = links_between(found, problem.ran)
    reasons: dict[tuple[int, int], str] = {}
    before: list[Steps] = [0] * (len(found) + 1)
    for each in orderings(found, links):
        before[each.later] |= 1 << each.earlier
        reasons.setdefault((each.earlier, each.later), each.reason)
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from((number, {"step": step}) for number, step in enumerate(plan.steps, start=1))
    between: dict[tuple[int, int], list[CausalLink]] = {}
    for link in links:
        between.setdefault((link.provider, link.consumer), []).append(link)
    for number, direct in enumerate(_reduced(before[:-1])):
        for earlier in members(direct):
            pair = earlier, number
            graph.add_edge(*pair, reason=reasons[pair], links=tuple(between.get(pair, ())))
    return graph


def _reduced(before: Sequence[Steps]) -> Iterator[Steps]:
    """Yield, for each step from 0, its direct predecessors: those that no other predecessor comes after."""
    closed: list[Steps] = []
    for steps in before:
        direct, covered, left = 0, 0, steps
        while left:
            earlier = left.bit_length() - 1
            direct |= 1 << earlier
            covered |= 1 << earlier | closed[earlier]
            left = steps & ~covered
        closed.append(covered)
        yield direct


def members(steps: Steps) -> Iterator[int]:
    """Yield the numbers of the steps in a set."""
    while steps:
        lowest = steps & -steps
        yield lowest.bit_length() - 1
        steps ^= lowest
