"""Plans within a bound, drawn at random."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from random import Random

from planner.annotations import TYPE_CHECKING
from planner.budget import Budget
from planner.candidates.listing import Listing
from planner.candidates.walks import Walks
from planner.plan import Plan, Step

if TYPE_CHECKING:
    from planner.candidates.iterator import Making


def draws(
    listing: Listing, made: Making, most: int, avoided: Callable[[], Collection[Step]], *, budget: Budget, seed: int
) -> Iterator[Plan | None]:
    """Yield plans that cost `most`, or less, and that were not listed yet; None where a draw comes to none.

    What is `avoided` then is taken less often. Ends at once where too little could be explored.
    """
    reached = _explored(listing, most, budget)
    part = listing.part(reached)
    if part.distance(part.start) > reached:
        return
    space = listing.space
    walks, numbers = Walks(part, space.costs, Random(seed)), dict[Step, int]()  # noqa: S311 - nothing secret
    for number, action in enumerate(space.task.actions):
        numbers.setdefault(action.step, number)
    while True:
        budget.check()
        found = walks.walk({numbers[step] for step in avoided()})
        fresh = None if found is None else listing.fresh(found)
        yield None if fresh is None else made(fresh)


def _explored(listing: Listing, most: int, budget: Budget) -> int:
    """Explore what plans go through that cost `most`, for half of the time that is left; return up to what all is."""
    left = budget.remaining
    until = None if left is None else time.monotonic() + left / 2
    for _ in listing.explored.through(most):
        budget.check()
        if until is not None and time.monotonic() > until:
            break
    return min(most, listing.explored.lowest - 1)
