"""Plans by their costs, one after the other, within limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal

from planner.annotations import TYPE_CHECKING, Any, TypeVar
from planner.answer import EXACT
from planner.budget import Budget, LimitReached
from planner.collector import collector_paused
from planner.errors import InputError
from planner.model import Number
from planner.model.numbers import exact_decimal
from planner.plan import Plan, Step, StoppedBy, exact
from planner.records import dataclass
from planner.task import INFINITY

if TYPE_CHECKING:
    from planner.candidates.listing import Listing
    from planner.task import Task

Item = TypeVar("Item")
Making = Callable[[Sequence[int]], "Plan | None"]
"""From the actions of a plan to the plan as it is handed on; None where it is to be left out."""


@dataclass(frozen=True, slots=True)
class Which:
    """Which plans are wanted: see `candidates`."""

    within: Decimal | None
    orders: bool
    wasteful: bool

    def limit(self, optimum: int) -> int:
        """Return the most that a plan may cost."""
        return INFINITY - 1 if self.within is None else int(EXACT.multiply(self.within, Decimal(optimum)))


def checked_factor(within: Any) -> Decimal | None:
    """Return a factor exactly; raises `InputError` for what is none."""
    if within is None:
        return None
    try:
        factor = exact_decimal(within)
    except ValueError as error:
        raise InputError(f"`within` is a factor: {error}") from None
    if factor < 1:
        raise InputError(f"`within` is a factor of 1 or more, not {within}", hint="1.1 takes what costs 10 % more")
    return factor


def no_limit(_optimum: int) -> int:
    """Return the most that a plan may cost as long as it is not known which keeps all limits."""
    return INFINITY - 1


class Candidates(Iterator[Plan]):
    """Plans by their costs.

    `stopped_by` is None as long as there may be more to come; after the last plan it says why there are no more.
    """

    def __init__(self, problem: Any, budget: Budget, which: Which) -> None:
        self.problem = problem
        self.stopped_by: StoppedBy | None = None
        self._budget, self._which = budget, which
        self._task: Task | None = None
        self._listing: Listing | None = None
        self._made: Making | None = None
        self._most: int | None = None
        self._is_impossible = False
        self._plans = self._found()
        self._resting_since = time.monotonic()

    @property
    def misses_none(self) -> bool:
        """Whether what was asked for is all given in order."""
        return True

    @property
    def complete(self) -> bool:
        """Whether it is proved that there are no other plans than those that were given."""
        if self._is_impossible:
            return True
        return self.misses_none and self._listing is not None and self._listing.lower_bound >= INFINITY

    @property
    def lower_bound(self) -> Number | None:
        """What all plans cost at least that were not given yet; None where there are none."""
        if self.complete:
            return None
        bound = 0
        if self._listing is not None:
            bound = self._listing.lower_bound if self.misses_none else self._listing.optimum
        return exact(EXACT.divide(Decimal(bound), self._task.resolution if self._task else 1))

    @property
    def most(self) -> Number | None:
        """What a plan may cost; None as long as the cheapest is not known, or where any may be given."""
        if self._most is None or self._which.within is None or self._task is None:
            return None
        return exact(EXACT.divide(Decimal(self._most), self._task.resolution))

    def __next__(self) -> Plan:
        for plan in self._limited(self._plans):
            return plan
        self.stopped_by = self.stopped_by or StoppedBy.EXHAUSTED
        raise StopIteration

    def drawn(self, seed: int, avoided: Callable[[], Collection[Step]]) -> Iterator[Plan | None]:
        """Yield other plans within the bound, drawn at random, and None where a draw comes to nothing new.

        What is `avoided` then is taken less often. There are none before the first plan by cost was given, nor if it
        takes too long to explore what such plans go through; and no plans by cost may be asked for after them.
        """
        if self._listing is not None and self._made is not None and self._most is not None:
            from planner.candidates.drawing import draws  # noqa: PLC0415 - not everybody draws

            yield from self._limited(
                draws(self._listing, self._made, self._most, avoided, budget=self._budget, seed=seed)
            )

    def _limited(self, plans: Iterator[Item]) -> Iterator[Item]:
        """Yield `plans`; time counts only while they are made, and when a limit is reached, there are no more."""
        while self.stopped_by is None:
            self._budget.started += time.monotonic() - self._resting_since
            try:
                with collector_paused():
                    plan = next(plans)
            except StopIteration:
                return
            except LimitReached as limit:
                self.stopped_by = limit.stopped_by
                return
            except MemoryError:
                self.stopped_by = StoppedBy.MEMORY
                return
            finally:
                self._resting_since = time.monotonic()
            yield plan

    def _found(self) -> Iterator[Plan]:
        prepared = self._prepared()
        if prepared is None:
            self._is_impossible = True
            return
        self._task, self._listing, self._made = prepared
        for actions in self._listing.plans():
            self._budget.check()
            if actions is None:
                continue
            cost = sum([self._task.actions[action].cost for action in actions])
            if self._most is not None and cost > self._most:
                break
            plan = self._made(actions)
            if plan is not None:
                self._most = self._which.limit(cost) if self._most is None else self._most
                yield plan

    def _prepared(self) -> tuple[Task, Listing, Making] | None:
        """Return the ground problem, what lists its plans, and what makes them; None where there is no plan."""
        raise NotImplementedError
