"""Plans by their costs, one after the other, within limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from planner.annotations import TYPE_CHECKING, Any
from planner.answer import EXACT
from planner.budget import Budget, LimitReached
from planner.collector import collector_paused
from planner.errors import InputError
from planner.model import Number
from planner.model.numbers import exact_decimal
from planner.plan import Plan, StoppedBy, exact
from planner.records import dataclass
from planner.task import INFINITY

if TYPE_CHECKING:
    from planner.candidates.listing import Listing
    from planner.task import Task

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

    def __next__(self) -> Plan:
        self._budget.started += time.monotonic() - self._resting_since
        try:
            with collector_paused():
                return next(self._plans)
        except StopIteration:
            self.stopped_by = self.stopped_by or StoppedBy.EXHAUSTED
            raise
        except LimitReached as limit:
            self.stopped_by = limit.stopped_by
        except MemoryError:
            self.stopped_by = StoppedBy.MEMORY
        finally:
            self._resting_since = time.monotonic()
        raise StopIteration

    def _found(self) -> Iterator[Plan]:
        prepared = self._prepared()
        if prepared is None:
            self._is_impossible = True
            return
        self._task, self._listing, made = prepared
        most = None
        for actions in self._listing.plans():
            self._budget.check()
            if actions is None:
                continue
            cost = sum([self._task.actions[action].cost for action in actions])
            if most is not None and cost > most:
                break
            plan = made(actions)
            if plan is not None:
                most = self._which.limit(cost) if most is None else most
                yield plan

    def _prepared(self) -> tuple[Task, Listing, Making] | None:
        """Return the ground problem, what lists its plans, and what makes them; None where there is no plan."""
        raise NotImplementedError
