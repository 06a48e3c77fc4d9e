"""Exploring what decompositions lead to, up to some cost."""

from __future__ import annotations

from htn.candidates.space import Progress
from htn.candidates.subsets import Subsets
from planner.candidates.explore import Explored
from planner.search.run import Steps


class Exploring:
    """All of the graph of `progress` through which plans go that cost no more than what was asked for.

    `first[a]` stands for all actions that are the same step as a. `latest` is the part that was asked for last.
    """

    def __init__(self, progress: Progress, first: list[int]) -> None:
        self._progress, self._first = progress, first
        self._explored = Explored(progress, progress.estimate, past_goals=False, order=progress.order)
        self.latest: Subsets | None = None

    @property
    def optimum(self) -> int | None:
        """What the cheapest plan costs, once that is known."""
        return self._explored.optimum

    @property
    def lowest(self) -> int:
        """What a plan costs at least that goes through a node that was not expanded; `INFINITY`: none is left."""
        return self._explored.lowest

    @property
    def expanded(self) -> int:
        """How many nodes were expanded."""
        return self._explored.expanded

    def first(self) -> Steps:
        """Expand until the cheapest plan is known, or that there is none."""
        return self._explored.first()

    def through(self, bound: int) -> Steps:
        """Expand all nodes through which a plan might cost no more than `bound`."""
        return self._explored.through(bound)

    def part(self, bound: int) -> Subsets:
        """Return what plans go through that cost no more than `bound`, by steps, as far as it was expanded."""
        self.latest = Subsets(self._explored.part(bound), self._progress.costs, self._first)
        return self.latest
