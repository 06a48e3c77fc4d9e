"""`candidates`: one plan after the other, the cheapest first.

Plans as they are handed on: of the declared problem, checked, and left out where they break a limit.

Plans by their costs, one after the other, within limits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal

from planner.compilations.soft_goals import value_plan
from planner.errors import InputError, UnsupportedError
from planner.garbage_collection import collector_paused
from planner.lightweight import TYPE_CHECKING, Any, TypeVar, dataclass, replace
from planner.limits import Finishing, LimitReached, Limits, check_limits
from planner.model import Number, Problem
from planner.model.domain import creates_objects
from planner.model.formulas import exact_decimal
from planner.plan import Plan, Step, StoppedBy, exact, exact_sum
from planner.portfolio.incumbent import EXACT, refuse_constructs
from planner.problem_kinds import AnyProblem, resolve_problem, service_of
from planner.task.ground_task import INFINITY, Task
from planner.validation.validate import make_checker

if TYPE_CHECKING:
    import threading

    from planner.task.ground_task import Task
    from planner.topk.listing import Listing
    from planner.topk.partial_order_reduction import Commuting


class Handing:
    """Makes plans for `problem` of the actions of `task`, which was ground from it, or from one without wishes."""

    def __init__(self, problem: Problem, task: Task) -> None:
        self._problem, self._task = problem, task
        self._check = make_checker(replace(problem, budgets={}, deadline=None))
        self._check_limits = make_checker(problem) if problem.is_limited else None

    def plan(self, actions: Sequence[int]) -> Plan | None:
        """Return the plan; None where it breaks a limit, or forgoes a wish that comes true."""
        steps = [self._task.actions[action].step for action in actions]
        declared = tuple([step for step in steps if step.action in self._problem.domain.actions])
        plan = Plan(declared, self._problem)
        with Finishing():
            verdict = self._check(plan)
            if not verdict.valid:
                raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
            if self._check_limits is not None and not self._check_limits(plan).valid:
                return None
        if len(declared) == len(steps):
            return plan
        plan = value_plan(plan, verdict)
        return plan if plan.charge == exact_sum(step.cost for step in steps) else None


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


def read_factor(within: Any) -> Decimal | None:
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

    def __init__(self, problem: Any, limits: Limits, which: Which) -> None:
        self.problem = problem
        self.stopped_by: StoppedBy | None = None
        self._limits, self._which = limits, which
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
            from planner.topk.top_k import draws

            yield from self._limited(
                draws(self._listing, self._made, self._most, avoided, limits=self._limits, seed=seed)
            )

    def _limited(self, plans: Iterator[Item]) -> Iterator[Item]:
        """Yield `plans`; time counts only while they are made, and when a limit is reached, there are no more."""
        while self.stopped_by is None:
            self._limits.started += time.monotonic() - self._resting_since
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
            self._limits.check()
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


def candidates(
    problem: AnyProblem,
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

    Plans of a hierarchical problem have a decomposition; the same steps, whatever tasks they come of, are one plan. One
    is wasteful where the rest decomposes the tasks as well.

    `time_limit` is in seconds that the iterator is at work, `memory_limit` in GiB of the process; None is no limit. The
    iterator ends where a limit is reached, and says so.

    Raises `InputError` for limits that are none and for mistakes in the problem that only grounding shows, and
    `UnsupportedError` for problems that it does not take.
    """
    check_limits(time_limit, memory_limit)
    which = Which(read_factor(within), orders, wasteful)
    limits = Limits(time_limit, memory_limit, cancel)
    problem = resolve_problem(problem)
    if not isinstance(problem, Problem):
        found: Candidates = service_of(problem).candidates(problem, limits, which)
        return found
    if problem.unknown:
        raise UnsupportedError("candidates where facts are unknown", "solve(…) gives one plan, and decide(…) a policy")
    takes = ("budgets", "deadlines", "soft goals", "soft constraints")
    refused = refuse_constructs(problem, takes)
    if refused is not None:
        raise UnsupportedError(refused.reason)
    if creates_objects(problem.domain):
        raise UnsupportedError("candidates where actions create objects")
    return ClassicalCandidates(problem, limits, which)


class ClassicalCandidates(Candidates):
    """The plans of a classical problem."""

    @property
    def misses_none(self) -> bool:
        """Whether what was asked for is all given in order: not so where a deadline may need what looks wasteful."""
        return self.problem.deadline is None or self._which.wasteful

    def _prepared(self) -> tuple[Task, Listing, Making] | None:

        task = self._ground()
        if task.unreachable_goal is not None:
            return None
        return task, self._listed(task), Handing(self.problem, task).plan

    def _ground(self) -> Task:
        from planner.grounding.ground import ground

        problem, whole = self.problem, self._which.wasteful
        if problem.wishes:
            from planner.compilations.soft_goals import compile_wishes

            problem = compile_wishes(problem, whole=whole).problem
        return ground(problem, self._limits, whole=whole)

    def _listed(self, task: Task) -> Listing:
        from planner.portfolio.workplace import Workplace
        from planner.search import Run, Space
        from planner.topk.exploration import exploration
        from planner.topk.listing import Listing

        check, space, wasteful = self._limits.check, Space(task), self._which.wasteful
        explored = exploration(Workplace(task, space, Run(), check), past_goals=wasteful)
        limit = no_limit if self.problem.is_limited else self._which.limit
        return Listing(space, explored, self._commuting(task), limit, check, frugal=not wasteful)

    def _commuting(self, task: Task) -> Commuting | None:
        from planner.topk.partial_order_reduction import Commuting, Items

        if self._which.orders:
            return None
        return Commuting(task, self._limits.check, Items(self.problem), strict=self.problem.deadline is not None)
