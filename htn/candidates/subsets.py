"""A part of the graph of decompositions, by steps.

The same steps may come of tasks in many ways. Here they lead to one place: all that they may lead to (the subset
construction: Rabin and Scott, 1959). So each sequence of steps is one path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from htn.candidates.space import Edges
from planner.candidates.explore import Within
from planner.task import INFINITY


class Subsets:
    """What is `within` some cost, by steps; `first[a]` stands for all actions that are the same step as a."""

    def __init__(self, within: Within, edges: Edges, first: list[int]) -> None:
        self.bound, self.beyond = within.bound, within.beyond
        self.within, self.by = within, edges
        self._first = first
        self._sets: list[frozenset[int]] = []
        self._numbers: dict[frozenset[int], int] = {}
        self._edges: dict[int, dict[int, int]] = {}
        self.start = self._number([within.start])

    def distance(self, state: int) -> int:
        """Return what the cheapest way from `state` to the goal costs; `INFINITY` for a state that is not in it."""
        return min([self.within.distance(node) for node in self._sets[state]], default=INFINITY)

    def is_goal(self, state: int) -> bool:
        """Return whether all may be done in `state`, with the goal."""
        return not self.within.goals.isdisjoint(self._sets[state])

    def edges(self, state: int) -> Mapping[int, int]:
        """Return the next state by action, in ascending order of the actions."""
        found = self._edges.get(state)
        if found is None:
            found = self._edges[state] = self._found(state)
        return found

    def _found(self, state: int) -> dict[int, int]:
        children: dict[int, list[int]] = {}
        for node in self._sets[state]:
            for edge, child in self.within.edges(node).items():
                action = self.by.action(edge)
                if action is not None:
                    children.setdefault(self._first[action], []).append(child)
        return {action: self._number(children[action]) for action in sorted(children)}

    def steps(self, node: int) -> list[tuple[int, int, int]]:
        """Return the actions that may be done at `node` of the graph, each with its edge and the next node."""
        actions = [(self.by.action(edge), edge, child) for edge, child in self.within.edges(node).items()]
        return [(self._first[action], edge, child) for action, edge, child in actions if action is not None]

    def decomposed(self, node: int) -> list[tuple[int, int]]:
        """Return the edges of decompositions from `node` of the graph, each with the next node."""
        return [(edge, child) for edge, child in self.within.edges(node).items() if self.by.action(edge) is None]

    def _number(self, nodes: Iterable[int]) -> int:
        """Return the number of what `nodes` lead to without any step; what is only to be decomposed is left out."""
        waiting = [node for node in nodes if self.within.distance(node) < INFINITY]
        seen = {*waiting}
        kept = []
        while waiting:
            node = waiting.pop()
            further = self.decomposed(node)
            if not further:
                kept.append(node)
            for _, child in further:
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
        found = frozenset(kept)
        number = self._numbers.setdefault(found, len(self._sets))
        if number == len(self._sets):
            self._sets.append(found)
        return number
