"""Sets without the states that mutexes exclude: search from the goal would otherwise wade through them."""

from __future__ import annotations

from collections.abc import Sequence

from planner.annotations import Final
from planner.symbolic.coding import Coding, Set
from planner.task import State, facts_of

MOST_NODES: Final = 10_000
"""Nodes up to which exclusions are put together."""


class Exclusions:
    """What no state on a plan is, as a few diagrams that allow the others; `mutexes` are by fact, as bits."""

    def __init__(self, coding: Coding, mutexes: Sequence[State]) -> None:
        self._allowed: list[Set] = []
        base = [fact for facts in coding.task.variables for fact in facts]
        for fact in sorted(base, key=lambda fact: coding.rank[coding.variable_of[fact]]):
            own = coding.rank[coding.variable_of[fact]]
            later = [each for each in facts_of(mutexes[fact]) if each not in coding.task.derived]
            others = [each for each in later if each == fact or coding.rank[coding.variable_of[each]] > own]
            if others:
                self._allow(~(coding.holds[fact] & coding.any_of([coding.holds[each] for each in others])))

    def _allow(self, states: Set) -> None:
        if self._allowed and (both := self._allowed[-1] & states).node_count() <= MOST_NODES:
            self._allowed[-1] = both
        else:
            self._allowed.append(states)

    def without(self, states: Set) -> Set:
        """Return `states`, but for those that are excluded."""
        for allowed in self._allowed:
            states &= allowed
        return states
