"""The order of a plan in time: which of its starts, ends and changes at known times must come before others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from planner.compilations.constraints_in_time import grant, watch_in_time
from planner.compilations.object_creation import for_steps
from planner.errors import PlanError
from planner.lightweight import replace
from planner.model.constructs import CONSTRAINED, has
from planner.model.problem import Problem
from planner.partial_order.supposed import suppose
from planner.plan import Plan, Supposition
from planner.scheduling.happening_schedule import END, EVENT, START, Moment, Network, make_network
from planner.semantics.durations import chosen_durations
from planner.semantics.snap_actions import SnapProblem, make_snap_problem
from planner.validation.timed_replay import find_happenings
from planner.validation.validate import check_steps
from planner.validation.verdict import Verdict

if TYPE_CHECKING:
    import networkx as nx

Node = tuple[int, str]
"""The number of a step, from 1, and "start" or "end"; or that of a change at a known time, and "event"."""


def order_in_time(problem: Problem, plan: Plan, before: Iterable[tuple[Node, Node]] = ()) -> nx.DiGraph[Node]:
    """Return the order of the happenings of `plan`, which has times: a simple temporal network without its limits.

    Nodes are pairs of a number and "start", "end" or "event", with the attribute `step` (None for an event). Edges have
    the least time between their nodes as `gap`, in seconds, and as `reason` "duration" (of one step), "touch" (both
    touch the condition, item or fluent `about`) or "task" (of a pair in `before`). The attribute `apart` of the graph
    has the pairs of nodes that must not come at once, though either order does. Where happenings keep all that, steps
    last as long as they do in the plan, and changes come at their known times, the plan stays valid and costs the same,
    but for its makespan and deadlines. Raises `PlanError` for an invalid plan.
    """
    import networkx as nx

    verdict = check_steps(problem, plan)
    if not verdict.valid:
        raise PlanError(f"only a valid plan has an order: {verdict.reason}")
    plain = _settle(for_steps(problem, plan.steps), verdict)
    snap = make_snap_problem(plain)
    lasts = [each.duration for each in plan.times]
    network = make_network(
        plain, snap, plan.steps, _list_moments(plain, snap, plan), durations=chosen_durations(plain, plan.steps, lasts)
    )
    graph: nx.DiGraph[Node] = nx.DiGraph()
    names = _name_nodes(network, len(plain.timed))
    for node in names.values():
        graph.add_node(node, step=None if node[1] == EVENT else plan.steps[node[0] - 1])
    for (one, other), ticks in network.edges.items():
        if ticks >= 0 and one in names:
            about = network.about[one, other]
            gap = plan.times[names[one][0] - 1].duration if not about else network.seconds(ticks)
            graph.add_edge(names[one], names[other], gap=gap, reason="touch" if about else "duration", about=about)
    at = {**{node: node for node in graph}, **{(number, END): (number, START) for number in _find_instants(network)}}
    looks = _list_looks(verdict.suppositions)
    for pairs, reason in ((looks, "touch"), (before, "task")):
        for earlier, later in pairs:
            if not graph.has_edge(at[earlier], at[later]):
                graph.add_edge(at[earlier], at[later], gap=0, reason=reason, about="")
    graph.graph["apart"] = [(names[one], names[other]) for one, other in network.apart]
    return graph


def _settle(problem: Problem, verdict: Verdict) -> Problem:
    """Return `problem` with what its plan supposes and grants as given: nothing is unknown, and no wish is soft."""
    kept = [each for each in problem.wishes if each not in verdict.forgone]
    found = replace(grant(suppose(problem, verdict.suppositions), kept), due=(), deadline=None)
    return watch_in_time(found) if has(found, *CONSTRAINED) else found


def _list_moments(problem: Problem, snap: SnapProblem, plan: Plan) -> list[Moment]:
    numbers = {name: number for number, name in enumerate(snap.events)}
    return [
        Moment(START if each.is_start else END, each.number - 1)
        if each.number
        else Moment(EVENT, numbers[each.step.action])
        for each in find_happenings(problem, snap, plan.steps, plan.times)
    ]


def _name_nodes(network: Network, events: int) -> dict[int, Node]:
    """Return the happening of each node of `network` but that of the beginning."""
    found: dict[int, Node] = {}
    for number, (start, end) in enumerate(zip(network.starts, network.ends, strict=True), start=1):
        found[end] = number, END
        found[start] = number, START
    rest = iter(range(1, events + 1))
    return {node: found[node] if node in found else (next(rest), EVENT) for node in range(1, network.nodes)}


def _find_instants(network: Network) -> Iterator[int]:
    """Yield the numbers of the steps that take no time."""
    for number, (start, end) in enumerate(zip(network.starts, network.ends, strict=True), start=1):
        if start == end:
            yield number


def _list_looks(suppositions: Iterable[Supposition]) -> list[tuple[Node, Node]]:
    """Return that steps which sense what others suppose end before those start."""
    return [
        ((each.seen, END), (number, START)) for each in suppositions if each.seen is not None for number in each.steps
    ]
