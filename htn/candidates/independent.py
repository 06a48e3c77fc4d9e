"""Which orders of independent steps need not be tried, where tasks may not allow all of them."""

from __future__ import annotations

from planner.candidates.commuting import Commuting
from planner.candidates.part import Part
from planner.candidates.sleep import Sleep
from planner.task import facts_of


class LocalSleep(Sleep):
    """Actions sleep while they are independent where they are: both orders lead to the same state of `part`.

    (Conditional independence: Katz and Peled, 1992.)
    """

    def __init__(self, commuting: Commuting, part: Part) -> None:
        super().__init__(commuting)
        self._part = part

    def after(self, state: int, asleep: int, action: int) -> int:
        """Return which of those `asleep` go on sleeping when `action` is done in `state`."""
        here, found = self._part.edges(state), 0
        then = self._part.edges(here[action])
        for place in facts_of(super().after(state, asleep, action)):
            other = self.action(place)
            both = self._part.edges(here[other]).get(action) if other in here else None
            if both is not None and then.get(other) == both:
                found |= 1 << place
        return found
