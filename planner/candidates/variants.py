"""Ground actions that are one step.

A disjunctive condition makes several actions of one step; where two of them can be applied, they do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.candidates.part import Part
from planner.grounding.joins import batches
from planner.plan import Step
from planner.task import Task


class Variants:
    """The actions of `task` by step: `first[a]` stands for action a, and `of` has all that an action stands for.

    `check` raises when a limit is reached.
    """

    def __init__(self, task: Task, check: Callable[[], None]) -> None:
        numbers: dict[Step, int] = {}
        self.first: list[int] = []
        for batch in batches(task.actions):
            check()
            self.first += [numbers.setdefault(each.step, at) for at, each in enumerate(batch, start=len(self.first))]
        self.any = len(numbers) < len(self.first)
        """Whether any two actions are one step."""
        self.of: dict[int, list[int]] = {}
        for number, first in enumerate(self.first):
            self.of.setdefault(first, []).append(number)


class OfSteps:
    """A `Part` whose edges are steps: the first action stands for all that are the same step."""

    def __init__(self, part: Part, variants: Variants) -> None:
        self.start, self.bound, self.beyond = part.start, part.bound, part.beyond
        self._part, self._first = part, variants.first
        self._known: dict[int, dict[int, int]] = {}

    def distance(self, state: int) -> int:
        """Return what the cheapest way from `state` to the goal costs; `INFINITY` for a state that is not in it."""
        return self._part.distance(state)

    def edges(self, state: int) -> Mapping[int, int]:
        """Return the next state by action, in ascending order of the actions."""
        found = self._known.get(state)
        if found is None:
            pairs = [(self._first[action], child) for action, child in self._part.edges(state).items()]
            found = self._known[state] = dict(sorted(pairs))
        return found

    def is_goal(self, state: int) -> bool:
        """Return whether the goal holds in `state`."""
        return self._part.is_goal(state)
