"""Sets without the states that mutexes exclude: search from the goal would otherwise wade through them."""

from __future__ import annotations

from collections.abc import Callable

from planner.annotations import Final
from planner.symbolic.coding import Coding, Set
from planner.task import Task

MOST_NODES: Final = 10_000
"""Nodes up to which exclusions are put together."""

Pairs = dict[int, set[int]]
"""By fact, the facts that never hold together with it."""


def pairs_of(task: Task, variable_of: list[int]) -> Pairs:
    """Return which base facts of different variables exclude each other, as far as grounding has found out."""
    pairs: Pairs = {}
    for group in task.mutexes:
        base = [fact for fact in group if fact not in task.derived]
        for fact in base:
            others = [each for each in base if each > fact and variable_of[each] != variable_of[fact]]
            pairs.setdefault(fact, set()).update(others)
    return pairs


class Exclusions:
    """What no reachable state is, as a few diagrams that allow the others."""

    def __init__(self, coding: Coding, pairs: Pairs, check: Callable[[], None]) -> None:
        self._allowed: list[Set] = []
        place = {variable: index for index, variable in enumerate(coding.order)}
        for fact in sorted(pairs, key=lambda fact: place[coding.variable_of[fact]]):
            check()
            excluded = coding.any_of([coding.holds[other] for other in pairs[fact]])
            self._allow(~(coding.holds[fact] & excluded))

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


