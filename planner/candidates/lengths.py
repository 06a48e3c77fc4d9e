"""Costs with lengths: among plans of one cost, those with fewer steps come first, and steps that cost nothing count."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush

from planner.annotations import Final
from planner.candidates.part import Part
from planner.task import INFINITY

UNIT: Final = 1 << 64
"""What a cost of 1 weighs; a step weighs 1. No plan that anybody waits for has so many steps."""


def weights_of(costs: list[int]) -> list[int]:
    """Return what actions of these costs weigh."""
    return [cost * UNIT + 1 for cost in costs]


class WithLengths:
    """A `Part` whose distances are weights: those of `part`, to which `weights` are given."""

    def __init__(self, part: Part, weights: list[int]) -> None:
        self.start = part.start
        self.bound = part.bound * UNIT + UNIT - 1
        self.beyond = INFINITY if part.beyond == INFINITY else part.beyond * UNIT
        self._part = part
        self._distances = self._measured(weights)

    def _measured(self, weights: list[int]) -> dict[int, int]:
        before: dict[int, list[tuple[int, int]]] = {self.start: []}
        states = [self.start] if self._part.distance(self.start) < INFINITY else []
        for state in states:
            for action, child in self._part.edges(state).items():
                if child not in before:
                    before[child] = []
                    states.append(child)
                before[child].append((state, weights[action]))
        found = {state: 0 for state in states if self._part.is_goal(state)}
        heap = [(0, state) for state in found]
        while heap:
            value, state = heappop(heap)
            if found[state] < value:
                continue
            for other, weight in before[state]:
                if value + weight < found.get(other, INFINITY):
                    found[other] = value + weight
                    heappush(heap, (value + weight, other))
        return found

    def distance(self, state: int) -> int:
        """Return the least weight of a way from `state` to the goal; `INFINITY` for a state that is not in it."""
        return self._distances.get(state, INFINITY)

    def edges(self, state: int) -> Mapping[int, int]:
        """Return the next state by action, in ascending order of the actions."""
        return self._part.edges(state)

    def is_goal(self, state: int) -> bool:
        """Return whether the goal holds in `state`."""
        return self._part.is_goal(state)
