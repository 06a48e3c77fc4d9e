"""Plans in the order of their costs: a bound that rises whenever all plans up to it were given."""

from __future__ import annotations

from collections.abc import Callable, Generator

from planner.annotations import Final, Protocol
from planner.candidates.commuting import Commuting
from planner.candidates.completions import Completions
from planner.candidates.lengths import UNIT, WithLengths, weights_of
from planner.candidates.part import Part
from planner.task import INFINITY

MORE: Final = 1.2
"""Where more states have to be expanded, so many times as many are, if another bound would be next after few."""


class Exploration(Protocol):
    """What finds the part of the state space that plans go through."""

    @property
    def optimum(self) -> int | None:
        """What the cheapest plan costs, once that is known."""

    @property
    def lowest(self) -> int:
        """What a plan costs at least that goes through a state that was not expanded; `INFINITY`: none is left."""

    @property
    def expanded(self) -> int:
        """How many states were expanded."""

    def first(self) -> Generator[None]:
        """Expand until the cheapest plan is known, or that there is none."""

    def through(self, bound: int) -> Generator[None]:
        """Expand all states through which a plan might cost no more than `bound`."""

    def part(self, bound: int) -> Part:
        """Return what plans go through that cost no more than `bound`, up to which everything was expanded."""


class Listing:
    """The plans that `explored` has, whose actions have these `costs`, by their costs.

    Plans that cost more than `limit(optimum)` are left out. With `commuting`, each comes in one order of its
    independent steps. If `frugal`, those are left out of which some steps can be left out. All plans that were not
    given yet cost `lower_bound` or more; `INFINITY`: there are none. `check` raises when a limit is reached.
    """

    def __init__(
        self,
        explored: Exploration,
        costs: list[int],
        commuting: Commuting | None,
        limit: Callable[[int], int],
        check: Callable[[], None],
        *,
        frugal: bool,
    ) -> None:
        self._explored, self._costs, self._commuting = explored, costs, commuting
        self._limit, self._check, self._frugal = limit, check, frugal
        self._step = 0
        self.lower_bound = 0

    def plans(self) -> Generator[list[int] | None]:
        """Yield plans, and None where the work may be paused or given up."""
        explored = self._explored
        yield from explored.first()
        if explored.optimum is None:
            self.lower_bound = INFINITY
            return
        bound, given, most = explored.optimum, 0, self._limit(explored.optimum)
        while bound <= most:
            self.lower_bound = bound
            yield from self._expanded(bound, most)
            before = given
            completions = self._completions(explored.part(bound))
            for number, plan in enumerate(completions):
                if number < given:
                    continue
                given += 1
                self.lower_bound = max(self.lower_bound, sum([self._costs[action] for action in plan]))
                yield plan
            self.lower_bound = self._in_costs(completions.beyond)
            bound = min(self._raised(bound, few=given - before < before), max(self.lower_bound, most))

    def _expanded(self, bound: int, most: int) -> Generator[None]:
        """Expand what a `bound` takes, and somewhat more if it takes little."""
        explored = self._explored
        enough = explored.expanded * MORE
        yield from explored.through(bound)
        while explored.expanded < enough and explored.lowest <= most and explored.lowest < INFINITY:
            yield from explored.through(explored.lowest)

    def _completions(self, part: Part) -> Completions:
        if self._frugal:
            return Completions(part, self._costs, self._commuting, self._check, frugal=True)
        weights = weights_of(self._costs)
        return Completions(WithLengths(part, weights), weights, self._commuting, self._check, frugal=False)

    def _in_costs(self, weight: int) -> int:
        return weight if self._frugal or weight == INFINITY else weight // UNIT

    def _raised(self, bound: int, *, few: bool) -> int:
        """Return the next bound: by more than before if the last one gave only `few` plans."""
        least = self.lower_bound
        if least == INFINITY:
            return INFINITY
        raised = max(least, bound + (2 * self._step if few else self._step // 2))
        self._step = raised - bound
        return raised
