"""Which steps come before which: causal links, threats, items, data flow, and declared dependencies.

What is not ordered may run in any order, or at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from executor.plans import PlanStep
from executor.references import references
from planner.errors import PlanError
from planner.model import Atom, Problem
from planner.order import partial_order
from planner.plan import Plan, Step
from planner.validate import Simulation
from planner.validate.simulation import bound


@dataclass(frozen=True, slots=True)
class Edge:
    """Why step `earlier` comes before step `later`.

    `reason` is "link", "threat" or "item" (see `planner.order`), "data" (a value goes from one to the other),
    "declared" (`depends_on`), or "given" (nothing is known but the order in which the steps were given).
    """

    earlier: str
    later: str
    reason: str
    what: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """The order of the steps of a plan; `sources` say which step fills a data parameter (step, parameter)."""

    before: Mapping[str, frozenset[str]]
    edges: tuple[Edge, ...]
    sources: Mapping[tuple[str, str], str]


def edges(problem: Problem, steps: Sequence[PlanStep]) -> dict[str, frozenset[str]]:
    """Return the direct predecessors of each step, by id; see `order_of`."""
    return dict(order_of(problem, steps).before)


def order_of(problem: Problem, steps: Sequence[PlanStep]) -> Order:
    """Return the order of `steps`, whose ids differ; every linearisation of it does the same.

    Raises `PlanError` where a step is no instance of an action.
    """
    ground = [each.step(problem.domain) for each in steps]
    sources = dict(_sources(problem, steps, ground))
    found = [
        *_causal(problem, steps, ground),
        *(Edge(provider, consumer, "data", parameter) for (consumer, parameter), provider in sources.items()),
        *(Edge(name, each.id, "data", "{{…}}") for each in steps for name in references(each.parameters)),
        *(Edge(name, each.id, "declared") for each in steps for name in each.depends_on),
    ]
    before: dict[str, set[str]] = {each.id: set() for each in steps}
    kept = [edge for edge in found if edge.earlier in before]
    for edge in kept:
        before[edge.later].add(edge.earlier)
    return Order({name: frozenset(each) for name, each in before.items()}, tuple(kept), sources)


def _causal(problem: Problem, steps: Sequence[PlanStep], ground: Sequence[Step]) -> Iterator[Edge]:
    try:
        graph = partial_order(problem, Plan(tuple(ground), problem))
    except PlanError:
        yield from (Edge(one.id, other.id, "given") for one, other in pairwise(steps))
        return
    for earlier, later, about in graph.edges(data=True):
        what = "; ".join(str(link.condition) for link in about["links"])
        yield Edge(steps[earlier - 1].id, steps[later - 1].id, about["reason"], what)


def _sources(
    problem: Problem, steps: Sequence[PlanStep], ground: Sequence[Step]
) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield which step provides, last before the consumer, the fact that a data parameter comes with."""
    simulation = Simulation(problem)
    last: dict[Atom, str] = {}
    for each, step in zip(steps, ground, strict=True):
        action = problem.domain.actions[step.action]
        binding = bound(action, step)
        for parameter in action.data:
            if parameter.source is not None and parameter.name not in each.parameters:
                provider = last.get(parameter.source.fact.substitute(binding))
                if provider is not None:
                    yield (each.id, parameter.name), provider
        last.update(dict.fromkeys(simulation.changes(step).provided, each.id))
        simulation.apply(step)
