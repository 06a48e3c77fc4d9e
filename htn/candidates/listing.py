"""Plans by their costs, each once, whatever they came of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from htn.candidates.independent import LocalSleep
from planner.candidates.commuting import Commuting
from planner.candidates.completions import Completions
from planner.candidates.listing import Listing
from planner.candidates.part import Part
from planner.candidates.sleep import Sleep


class HtnListing(Listing):
    """The plans of tasks, whose parts are by step already."""

    def by_step(self, part: Part) -> Part:
        """Return `part`."""
        return part

    def sleep(self, commuting: Commuting, part: Part) -> Sleep:
        """Return what leaves few of the orders of independent steps."""
        return LocalSleep(commuting, part)

    def ordered(self, plan: Sequence[int]) -> tuple[int, ...]:
        """Return `plan`: tasks may not allow any other order."""
        return tuple(plan)

    def key(self, plan: tuple[int, ...]) -> tuple[int, ...]:
        """Return what plans share that differ in the order of independent steps."""
        return plan if self.commuting is None else self.commuting.first(plan)

    def first_orders(self, completions: Completions) -> Iterator[tuple[int, ...]]:
        """Return the plans that cost as much as those that come next.

        Those of which steps can be left out are in none of the lists: the rest of them costs less, as no step is free,
        and all that costs less was expanded.
        """
        return (tuple(plan) for plan in completions if self.space.cost_of(plan) >= self.lower_bound)
