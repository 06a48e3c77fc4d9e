"""`candidates`: one plan after the other, the cheapest first."""

from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal

from planner.annotations import TYPE_CHECKING, Any
from planner.answer import EXACT, unsupported
from planner.budget import Budget, LimitReached, check_limits
from planner.collector import collector_paused
from planner.errors import InputError, UnsupportedError
from planner.kinds import not_classical
from planner.model import Number, Problem
from planner.model.domain import creates_objects
from planner.model.numbers import exact_decimal
from planner.model.unclear import constraint_on_derived
from planner.plan import Plan, StoppedBy, exact
from planner.task import INFINITY

if TYPE_CHECKING:
    import threading

    from planner.candidates.commuting import Commuting
    from planner.candidates.listing import Listing
    from planner.task import Task


def candidates(
    problem: Problem,
    *,
    within: Number | float | None = None,
    orders: bool = False,
    wasteful: bool = False,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Candidates:
    """Return the plans for `problem`, in the order of their costs, as an iterator; each is searched for when asked for.

    `within` leaves out what costs more than so many times the optimum. Plans that differ only in the order of
    independent steps come once, unless `orders`: two steps are independent if neither changes what the other reads, nor
    undoes what the other does. A plan is wasteful, and left out unless `wasteful`, if some of its steps can be left out
    and the others, in their order, are a plan as well: so is all that goes through one state twice. Steps that cannot
    change anything are in no plan. Wasteful plans may be infinitely many: where steps cost nothing, they come by cost
    and then by length.

    Where something is wished for, plans come by their `charge`, and what is fulfilled counts as needed. With a
    deadline, a step may be needed for the sake of time alone, which is not seen: nothing is proved, unless `wasteful`.

    `time_limit` is in seconds that the iterator is at work, `memory_limit` in GiB of the process; None is no limit. The
    iterator ends where a limit is reached, and says so.

    Raises `InputError` for limits that are none and for mistakes in the problem that only grounding shows, and
    `UnsupportedError` for problems that it does not take.
    """
    check_limits(time_limit, memory_limit)
    if not isinstance(problem, Problem):
        raise not_classical(problem, "candidates for")
    takes = ("budgets", "deadlines", "soft goals", "soft constraints")
    refused = unsupported(problem, takes)
    if refused is not None:
        raise UnsupportedError(refused.reason)
    if (derived := constraint_on_derived(problem)) is not None:
        raise UnsupportedError(f"candidates under the constraint '{derived}' on derived facts")
    if creates_objects(problem.domain):
        raise UnsupportedError("candidates where actions create objects")
    budget, factor = Budget(time_limit, memory_limit, cancel), checked_factor(within)
    return Candidates(problem, budget, within=factor, orders=orders, wasteful=wasteful)


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

    def __init__(
        self, problem: Problem, budget: Budget, *, within: Decimal | None, orders: bool, wasteful: bool
    ) -> None:
        self.problem = problem
        self.stopped_by: StoppedBy | None = None
        self._budget = budget
        self._within, self._orders, self._wasteful = within, orders, wasteful
        self._task: Task | None = None
        self._listing: Listing | None = None
        self._plans = self._found()
        self._resting_since = time.monotonic()

    @property
    def misses_none(self) -> bool:
        """Whether what was asked for is all given in order: not so where a deadline may need what looks wasteful."""
        return self.problem.deadline is None or self._wasteful

    @property
    def complete(self) -> bool:
        """Whether it is proved that there are no other plans than those that were given."""
        if self._task is not None and self._task.unreachable_goal is not None:
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
        from planner.candidates.handing import Handing  # noqa: PLC0415 - what is asked for may be refused

        task = self._task = self._ground()
        if task.unreachable_goal is not None:
            return
        listing, handing, most = self._listed(task), Handing(self.problem, task), None
        for actions in listing.plans():
            self._budget.check()
            if actions is None:
                continue
            cost = sum([task.actions[action].cost for action in actions])
            if most is not None and cost > most:
                break
            plan = handing.plan(actions)
            if plan is not None:
                most = self._limit(cost) if most is None else most
                yield plan

    def _ground(self) -> Task:
        from planner.grounding import ground  # noqa: PLC0415 - as above

        problem = self.problem
        if problem.wishes:
            from planner.normalise.wishes import without_wishes  # noqa: PLC0415 - few problems need it

            problem = without_wishes(problem, whole=self._wasteful)
        return ground(problem, self._budget, whole=self._wasteful)

    def _listed(self, task: Task) -> Listing:
        from planner.candidates.exploring import exploration  # noqa: PLC0415 - as above
        from planner.candidates.listing import Listing  # noqa: PLC0415 - as above
        from planner.search import Run, Space  # noqa: PLC0415 - as above
        from planner.workplace import Workplace  # noqa: PLC0415 - as above

        check, space = self._budget.check, Space(task)
        explored = exploration(Workplace(task, space, Run(), check), past_goals=self._wasteful)
        limit = _no_limit if self.problem.is_limited else self._limit
        self._listing = Listing(space, explored, self._commuting(task), limit, check, frugal=not self._wasteful)
        return self._listing

    def _commuting(self, task: Task) -> Commuting | None:
        from planner.candidates.commuting import Commuting  # noqa: PLC0415 - as above
        from planner.candidates.items import Items  # noqa: PLC0415 - as above

        if self._orders:
            return None
        return Commuting(task, Items(self.problem), strict=self.problem.deadline is not None)

    def _limit(self, optimum: int) -> int:
        """Return the most that a plan may cost."""
        return INFINITY - 1 if self._within is None else int(EXACT.multiply(self._within, Decimal(optimum)))


def _no_limit(_optimum: int) -> int:
    return INFINITY - 1
