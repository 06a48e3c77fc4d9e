"""Better plans from a plan, piece by piece.

A *window* is some consecutive steps of the plan: a search from the state before it to what the rest of the plan needs
takes its place if that is cheaper (Siddiqui and Haslum, 2015; Nakhost and Müller, 2010, search around a whole plan).
Plans that are far too long for a search for better ones are made better that way. The plan is put in another order
for every round, so that other steps come to be in one window.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from random import Random

from planner.annotations import Final
from planner.search.rearrange import reordered, states_of, wanted, without_redundant
from planner.search.run import Ending, Run, Steps
from planner.search.space import Space
from planner.task import State

LENGTH: Final = 8
"""Steps in a window at first; it grows to the whole plan."""
GROWTH: Final = 1.6
EFFORT: Final = 100
"""Evaluations for a window at first; twice as many each time that windows have grown to the whole plan."""
MOST_EFFORT: Final = 1 << 20

PartSearch = Callable[[State, State, Run], Steps]
"""From a state to facts, for a plan that costs less than the limit of a run."""


class Windows:
    """Makes the best plan of `run` better, which has one, with a `search` for each window."""

    def __init__(self, space: Space, run: Run, search: PartSearch) -> None:
        self._space, self._run, self._search = space, run, search
        self._plan: list[int] = []
        self._states: list[State] = []
        self._needs: list[State] = []
        self._cost = 0

    def steps(self) -> Steps:
        """Go on as long as more effort may help."""
        draw, length, effort = Random(0), float(LENGTH), EFFORT  # noqa: S311 - any order will do, always the same
        while effort <= MOST_EFFORT:
            plan = yield from without_redundant(self._space, self._run.plan or [])
            self._take(reordered(self._space, plan, draw))
            yield from self._round(int(length), effort)
            length *= GROWTH
            if length >= GROWTH * len(self._plan):
                length, effort = LENGTH, 2 * effort
        return Ending.INCOMPLETE

    def _take(self, plan: list[int]) -> None:
        """Go on with `plan`."""
        states = states_of(self._space, plan)
        assert states is not None  # noqa: S101 - every plan here was tried, or found by a search
        self._plan, self._states, self._cost = plan, states, self._space.cost_of(plan)
        self._needs = wanted(self._space, plan, states)
        self._run.found(plan, self._cost)

    def _round(self, length: int, effort: int) -> Generator[None]:
        """Try all windows of this `length`, unless another search has found a better plan meanwhile."""
        start = 0
        while start < len(self._plan) and self._cost <= self._run.limit:
            better = yield from self._try(start, min(start + length, len(self._plan)), effort)
            start = max(0, start - length // 2) if better else start + (length + 1) // 2

    def _try(self, start: int, end: int, effort: int) -> Generator[None, None, bool]:
        """Return whether the steps from `start` to `end` could be replaced by cheaper ones."""
        part = Run(limit=self._space.cost_of(self._plan[start:end]))
        steps = self._search(self._states[start], self._needs[end], part) if part.limit else iter(())
        for _ in steps:
            if part.evaluated >= effort:
                break
            yield
        self._run.evaluated += part.evaluated
        self._run.expanded += part.expanded
        self._run.generated += part.generated
        if part.plan is None:
            return False
        plan = [*self._plan[:start], *part.plan, *self._plan[end:]]
        if states_of(self._space, plan) is None:
            return False
        self._take(plan)
        return True
