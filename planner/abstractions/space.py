"""Abstract state spaces: distances to the goal, and what these need of the costs of actions.

Where an abstraction has its distances, an action need not cost more than what its transitions bring the goal nearer:
the rest is left to other abstractions (saturated cost partitioning: Seipp, Keller and Helmert, 2020). That may be less
than nothing: then the others may have more than it costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from planner.annotations import Final
from planner.records import dataclass

MOST_DISTANCE: Final = (1 << 31) - 1
"""Distances are cut off here."""
DEAD: Final = -1
"""The number of a state that no plan goes by."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A transition, by any of the actions of `group`."""

    source: int
    target: int
    group: int


@dataclass(frozen=True, slots=True)
class AbstractSpace:
    """An abstract state space: states that a plan may go by, numbered from 0.

    `ranks` are their numbers by index, or `DEAD`. `groups` are actions with the same transitions, and `loops` says of
    each group whether it may leave a state as it is.
    """

    ranks: list[int]
    goals: list[bool]
    edges: list[Edge]
    groups: list[tuple[int, ...]]
    loops: list[bool]

    def distances(self, costs: Sequence[int]) -> list[int]:
        """Return what the way from each state to the nearest goal costs."""
        prices = [min([costs[action] for action in group]) for group in self.groups]
        ways: list[list[Edge]] = [[] for _ in self.goals]
        for edge in self.edges:
            ways[edge.target].append(edge)
        distances = [0 if is_goal else MOST_DISTANCE for is_goal in self.goals]
        heap = [(0, state) for state, is_goal in enumerate(self.goals) if is_goal]
        while heap:
            near, state = heappop(heap)
            for edge in ways[state] if distances[state] == near else ():
                far = near + prices[edge.group]
                if far < distances[edge.source]:
                    distances[edge.source] = far
                    heappush(heap, (far, edge.source))
        return distances

    def needs(self, distances: Sequence[int]) -> dict[int, int]:
        """Return what `distances` need of the costs of actions; of all that are not in it, nothing."""
        takes: list[int | None] = [0 if loop else None for loop in self.loops]
        for edge in self.edges:
            gain = distances[edge.source] - distances[edge.target]
            before = takes[edge.group]
            takes[edge.group] = gain if before is None else max(before, gain)
        needs: dict[int, int] = {}
        for group, most in zip(self.groups, takes, strict=True):
            if most is not None:
                for action in group:
                    needs[action] = max(most, needs.get(action, most))
        return needs
