"""`candidates`: one plan after the other, the cheapest first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from decimal import Decimal

from planner.annotations import TYPE_CHECKING, Any
from planner.answer import EXACT, unsupported
from planner.budget import Budget, Finishing, LimitReached, check_limits
from planner.collector import collector_paused
from planner.errors import InputError, UnsupportedError
from planner.kinds import not_classical
from planner.model import Number, Problem
from planner.model.domain import creates_objects
from planner.model.numbers import exact_decimal
from planner.model.unclear import constraint_on_derived
from planner.plan import Plan, StoppedBy, exact
from planner.records import replace
from planner.task import INFINITY

if TYPE_CHECKING:
    import threading

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

    `time_limit` is in seconds that the iterator is at work, `memory_limit` in GiB of the process; None is no limit. The
    iterator ends where a limit is reached, and says so.

    Raises `InputError` for limits that are none and for mistakes in the problem that only grounding shows, and
    `UnsupportedError` for problems that it does not take.
    """
    check_limits(time_limit, memory_limit)
    if not isinstance(problem, Problem):
        raise not_classical(problem, "candidates for")
    refused = unsupported(problem, takes=("budgets", "deadlines"))
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
    def complete(self) -> bool:
        """Whether it is proved that there are no other plans than those that were given."""
        known = self._task is not None and self._task.unreachable_goal is not None
        return known or (self._listing is not None and self._listing.lower_bound >= INFINITY)

    @property
    def lower_bound(self) -> Number | None:
        """What all plans cost at least that were not given yet; None where there are none."""
        if self.complete:
            return None
        bound = self._listing.lower_bound if self._listing else 0
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
        from planner.candidates.exploring import exploration  # noqa: PLC0415 - what is asked for may be refused
        from planner.candidates.listing import Listing  # noqa: PLC0415 - as above
        from planner.grounding import ground  # noqa: PLC0415 - as above
        from planner.search import Run, Space  # noqa: PLC0415 - as above
        from planner.workplace import Workplace  # noqa: PLC0415 - as above

        task = self._task = ground(self.problem, self._budget, whole=self._wasteful)
        if task.unreachable_goal is not None:
            return
        check, space, commuting = self._budget.check, Space(task), self._commuting(task)
        explored = exploration(Workplace(task, space, Run(), check), past_goals=self._wasteful)
        self._listing = Listing(space, explored, commuting, self._limit, check, frugal=not self._wasteful)
        check_plan = self._checking()
        for actions in self._listing.plans():
            check()
            if actions is not None:
                plan = Plan(tuple([task.actions[action].step for action in actions]), self.problem)
                if check_plan(plan):
                    yield plan

    def _commuting(self, task: Task) -> Any:
        from planner.candidates.commuting import Commuting  # noqa: PLC0415 - as above

        return None if self._orders else Commuting(task)

    def _limit(self, optimum: int) -> int:
        """Return the most that a plan may cost."""
        return INFINITY - 1 if self._within is None else int(EXACT.multiply(self._within, Decimal(optimum)))

    def _checking(self) -> Callable[[Plan], bool]:
        """Return a function that checks plans, and says whether one keeps the budgets and the deadline."""
        from planner.validate import checker  # noqa: PLC0415 - loaded only with a plan

        problem = self.problem
        unlimited = checker(replace(problem, budgets={}, deadline=None))
        limited = checker(problem) if problem.is_limited else None

        def check(plan: Plan) -> bool:
            with Finishing():
                verdict = unlimited(plan)
                if not verdict.valid:
                    raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
                return limited is None or limited(plan).valid

        return check
