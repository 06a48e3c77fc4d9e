"""The part of the state space that plans of up to some cost go through."""

from __future__ import annotations

from collections.abc import Mapping

from planner.annotations import Protocol


class Part(Protocol):
    """States by number, `start` the initial one, for plans that cost no more than `bound`.

    Only what lies on such a plan is in it. A plan that goes elsewhere costs `beyond` or more.
    """

    @property
    def start(self) -> int:
        """The initial state."""

    @property
    def bound(self) -> int:
        """What the dearest of these plans may cost."""

    @property
    def beyond(self) -> int:
        """What a plan costs at least that goes elsewhere; `INFINITY` where none does."""

    def distance(self, state: int) -> int:
        """Return what the cheapest way from `state` to the goal costs; `INFINITY` for a state that is not in it."""

    def edges(self, state: int) -> Mapping[int, int]:
        """Return the next state by action, in ascending order of the actions."""

    def is_goal(self, state: int) -> bool:
        """Return whether the goal holds in `state`."""
