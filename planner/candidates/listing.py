"""Plans in the order of their costs: a bound that rises whenever all plans up to it were given."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence

from planner.annotations import Final, Protocol
from planner.candidates.commuting import Commuting
from planner.candidates.completions import Completions
from planner.candidates.lengths import UNIT, WithLengths, weights_of
from planner.candidates.part import Part
from planner.candidates.sleep import Sleep
from planner.candidates.variants import OfSteps, Variants
from planner.candidates.waste import is_wasteful
from planner.search.run import Steps
from planner.search.space import Space
from planner.task import INFINITY

MORE: Final = 1.5
"""States are expanded until they are so many times as many, before what there is now is looked at."""


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

    def first(self) -> Steps:
        """Expand until the cheapest plan is known, or that there is none; INCOMPLETE where it gives up."""

    def through(self, bound: int) -> Steps:
        """Expand all states through which a plan might cost no more than `bound`; INCOMPLETE where it gives up."""

    def part(self, bound: int) -> Part:
        """Return what plans go through that cost no more than `bound`, as far as it was expanded."""


class Listing:
    """The plans for the task of `space` that `explored` has, by their costs.

    Plans that cost more than `limit(optimum)` are left out. With `commuting`, each comes in one order of its
    independent steps. If `frugal`, those are left out of which some steps can be left out. All plans that were not
    given yet cost `lower_bound` or more; `INFINITY`: there are none. `optimum` is what the cheapest costs. `check`
    raises when a limit is reached.
    """

    def __init__(
        self,
        space: Space,
        explored: Exploration,
        commuting: Commuting | None,
        limit: Callable[[int], int],
        check: Callable[[], None],
        *,
        frugal: bool,
    ) -> None:
        self.space, self.explored, self.commuting = space, explored, commuting
        self._variants = Variants(space.task, check)
        self._limit, self._check, self._frugal = limit, check, frugal
        self._free_steps = 0 in space.costs
        self._given: set[tuple[int, ...]] = set()
        self._step = 0
        self.optimum = 0
        self.lower_bound = 0

    def plans(self) -> Generator[list[int] | None]:
        """Yield plans, and None where the work may be paused or given up."""
        explored = self.explored
        for _ in explored.first():
            self.lower_bound = max(self.lower_bound, explored.lowest)
            yield None
        if explored.optimum is None:
            self.lower_bound = INFINITY
            return
        bound = self.lower_bound = self.optimum = explored.optimum
        most = self._limit(bound)
        while bound <= most:
            yield from self._early()
            bound = yield from self._expanded(bound)
            before, completions = len(self._given), self._completions(self.part(bound))
            for plan in self._new(map(tuple, completions)):
                self.lower_bound = max(self.lower_bound, self.space.cost_of(plan))
                yield plan
            self.lower_bound = self._in_costs(completions.beyond)
            few = len(self._given) < 2 * before
            bound = min(self._raised(bound, few=few), max(self.lower_bound, most))

    def _early(self) -> Generator[list[int] | None]:
        """Yield cheapest plans while others, that cost as much, may go through states that were not expanded yet.

        Where steps cost nothing, there is no end of such plans, or they may turn out to be wasteful.
        """
        enough, bound = 0.0, self.lower_bound
        for _ in self.explored.through(bound) if not self._free_steps else ():
            if self.explored.expanded >= enough:
                enough = self.explored.expanded * MORE
                yield from self._new(self.first_orders(self._completions(self.part(bound))))
            yield None

    def first_orders(self, completions: Completions) -> Iterator[tuple[int, ...]]:
        """Return the plans without those that are wasteful, in the order in which they will be given once more."""
        for plan in completions:
            cost = self.space.cost_of(plan)
            if cost < self.lower_bound:
                continue
            if not self._frugal or is_wasteful(self.space, self._variants, plan, cost - self.optimum) is False:
                yield self.ordered(plan)

    def ordered(self, plan: Sequence[int]) -> tuple[int, ...]:
        """Return `plan` in the order of its independent steps in which it is given."""
        return tuple(plan) if self.commuting is None else self.commuting.first(plan)

    def fresh(self, plan: Sequence[int]) -> list[int] | None:
        """Return `plan` as it is given, None if it was given before."""
        return next(self._new(iter([self.ordered(plan)])), None)

    def key(self, plan: tuple[int, ...]) -> tuple[int, ...]:
        """Return what plans share that count as one."""
        return plan

    def _new(self, plans: Iterator[tuple[int, ...]]) -> Iterator[list[int]]:
        """Return the plans that were not given yet, and note them."""
        for plan in plans:
            key = self.key(plan)
            if key not in self._given:
                self._given.add(key)
                yield [*plan]

    def _expanded(self, bound: int) -> Generator[None, None, int]:
        """Expand what the next plan takes, and up to `bound` if that is little more; return up to what all is."""
        explored = self.explored
        yield from explored.through(self.lower_bound)
        enough = explored.expanded * MORE
        for _ in explored.through(bound):
            if explored.expanded >= enough:
                return max(self.lower_bound, min(bound, explored.lowest - 1))
            yield
        return bound

    def _completions(self, part: Part) -> Completions:
        costs, sleep = self.space.costs, None if self.commuting is None else self.sleep(self.commuting, part)
        if self._frugal:
            return Completions(part, costs, sleep, self._check, frugal=True)
        weights = weights_of(costs)
        return Completions(WithLengths(part, weights), weights, sleep, self._check, frugal=False)

    def part(self, bound: int) -> Part:
        """Return what plans go through that cost no more than `bound`, by steps, as far as it was explored."""
        return self.by_step(self.explored.part(bound))

    def by_step(self, part: Part) -> Part:
        """Return `part` with one edge for each step."""
        return OfSteps(part, self._variants) if self._variants.any else part

    def sleep(self, commuting: Commuting, _part: Part) -> Sleep:
        """Return what leaves one order of independent steps."""
        return Sleep(commuting)

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
