"""The partial order that causal links and threats justify: each of its linearisations is a valid plan.

Sets of steps are ints with bit n for step n: the plans of a thousand steps have half a million ordered pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.model import OPEN, Atom, Not, Problem
from planner.order.accesses import Access, accesses
from planner.order.links import INITIAL, CausalLink, links_between
from planner.plan import Plan
from planner.validate.state import State

if TYPE_CHECKING:
    import networkx as nx

Steps = int
"""A set of steps as bits."""


@dataclass(frozen=True, slots=True)
class _Orderings:
    """What must come before each step, by the reason for it; index 0 is unused."""

    links: list[Steps]
    threats: list[Steps]
    items: list[Steps]

    def before(self, number: int) -> Steps:
        return self.links[number] | self.threats[number] | self.items[number]


def partial_order(problem: Problem, plan: Plan) -> nx.DiGraph[int]:
    """Return the order of the steps of `plan` as a transitively reduced graph.

    Nodes are step numbers from 1, with the attribute `step`. Edges have the attribute `reason`: "link" (the first step
    provides what the second needs), "threat" (the second undoes what the first needs, or what the first would undo), or
    "item" (one writes an item of `modifies` that the other reads or writes), and `links`, a tuple of causal links.
    Every linearisation is a valid plan that ends in the same cost. Raises `PlanError` for an invalid plan.
    """
    import networkx as nx  # noqa: PLC0415 - takes long to load, and not every use of a plan needs an order

    found = accesses(problem, plan)
    links = links_between(found, problem.ran)
    orderings = _orderings(found, links)
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from((number, {"step": step}) for number, step in enumerate(plan.steps, start=1))
    between: dict[tuple[int, int], list[CausalLink]] = {}
    for link in links:
        between.setdefault((link.provider, link.consumer), []).append(link)
    for number, before in enumerate(_reduced(orderings, len(plan.steps))):
        for earlier in members(before):
            reason = _reason(orderings, earlier, number)
            graph.add_edge(earlier, number, reason=reason, links=tuple(between.get((earlier, number), ())))
    return graph


def _reason(orderings: _Orderings, earlier: int, later: int) -> str:
    if orderings.links[later] >> earlier & 1:
        return "link"
    return "threat" if orderings.threats[later] >> earlier & 1 else "item"


def _orderings(found: Sequence[Access], links: Sequence[CausalLink]) -> _Orderings:
    size = len(found) + 1
    orderings = _Orderings([0] * size, [0] * size, [0] * size)
    for link in links:
        if link.provider != INITIAL:
            orderings.links[link.consumer] |= 1 << link.provider
    _order_threats(found, links, orderings.threats)
    _order_items(found, orderings.items)
    return orderings


def _order_threats(found: Sequence[Access], links: Sequence[CausalLink], before: list[Steps]) -> None:
    """Keep each step that would undo the condition of a link before its provider or after its consumer."""
    undone = _undoers(found, links)
    for link in links:
        for undoer in members(undone.get(link.condition, 0)):
            if undoer < link.provider:
                before[link.provider] |= 1 << undoer
            elif undoer > link.consumer:
                before[undoer] |= 1 << link.consumer


def _undoers(found: Sequence[Access], links: Sequence[CausalLink]) -> dict[Atom | Not, Steps]:
    """Return the steps that make each linked condition false, or would if it held."""
    facts = State(dict.fromkeys(link.condition for link in links if isinstance(link.condition, Atom)))
    undone: dict[Atom | Not, Steps] = {}
    for number, access in enumerate(found, start=1):
        provided = set(access.changes.provided)
        for fact in provided:
            undone[Not(fact)] = undone.get(Not(fact), 0) | 1 << number
        for pattern in access.changes.retracted:
            for fact in facts.matching(pattern):
                if fact not in provided:
                    undone[fact] = undone.get(fact, 0) | 1 << number
    return undone


def _order_items(found: Sequence[Access], before: list[Steps]) -> None:
    """Keep steps in their order of which one writes an item of `modifies` that the other reads or writes."""
    items: dict[Atom, Steps] = {}
    touched: dict[Atom, Steps] = {}
    for number, access in enumerate(found[:-1], start=1):
        changes = access.changes
        for pattern in changes.modified:
            items[pattern] = items.get(pattern, 0) | 1 << number
        for pattern in {*changes.modified, *changes.provided, *changes.retracted, *(fact for fact, _ in access.reads)}:
            touched[pattern] = touched.get(pattern, 0) | 1 << number
    for item, writers in items.items():
        for pattern, users in touched.items():
            if overlap(item, pattern):
                for user in members(users):
                    before[user] |= writers & ((1 << user) - 1)
                for writer in members(writers):
                    before[writer] |= users & ((1 << writer) - 1)


def overlap(one: Atom, other: Atom) -> bool:
    """Return whether some fact matches both patterns."""
    return (
        one.predicate == other.predicate
        and len(one.args) == len(other.args)
        and all(OPEN in (mine, theirs) or mine == theirs for mine, theirs in zip(one.args, other.args, strict=True))
    )


def _reduced(orderings: _Orderings, size: int) -> Iterator[Steps]:
    """Yield, for each step from 0, its direct predecessors: those that no other predecessor comes after."""
    closed: list[Steps] = [0] * (size + 1)
    for number in range(size + 1):
        direct: Steps = 0
        for earlier in members(orderings.before(number), descending=True):
            if not closed[number] >> earlier & 1:
                direct |= 1 << earlier
                closed[number] |= 1 << earlier | closed[earlier]
        yield direct


def members(steps: Steps, *, descending: bool = False) -> Iterator[int]:
    """Yield the numbers of the steps in a set."""
    if descending:
        while steps:
            number = steps.bit_length() - 1
            yield number
            steps ^= 1 << number
    else:
        while steps:
            lowest = steps & -steps
            yield lowest.bit_length() - 1
            steps ^= lowest
