"""`candidates`: an iterator over the plans for a problem, the cheapest first, within limits on time and memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal

from planner.compilations.driver import value_plan
from planner.errors import InputError, UnsupportedError
from planner.garbage_collection import pause_collector
from planner.lightweight import TYPE_CHECKING, Any, TypeVar, dataclass, replace
from planner.limits import Finishing, LimitReached, Limits, check_limits, read_clock
from planner.model import Number, Problem
from planner.model.constructs import Construct, has
from planner.model.formulas import exact_decimal
from planner.model.problem import NumericMetric, is_numeric, is_temporal
from planner.options import SolveOptions
from planner.plan import EXACT, Plan, Result, Step, StoppedBy, divide_exactly, exact_sum
from planner.problem_kinds import AnyProblem, resolve_problem, service_of
from planner.semantics.simulation import price_steps
from planner.task.ground_task import INFINITY, Task
from planner.topk.solving_rounds import SolvingRounds
from planner.validation.validate import make_checker

if TYPE_CHECKING:
    import threading

    from planner.task.ground_task import Task
    from planner.topk.partial_order_reduction import Commuting
    from planner.topk.plan_enumeration import PlanEnumeration


class PlanMaker:
    """Makes checked plans for `problem` of actions of `task`, which was ground from it, or from it without wishes."""

    def __init__(self, problem: Problem, task: Task) -> None:
        self._problem, self._task = problem, task
        self._check = make_checker(replace(problem, budgets={}, deadline=None))
        self._check_limits = make_checker(problem) if problem.is_limited else None

    def make(self, actions: Sequence[int]) -> Plan | None:
        """Return the plan; None if it breaks a budget or the deadline, or forgoes a wish that comes true."""
        steps = [self._task.actions[action].step for action in actions]
        declared = tuple([step for step in steps if step.action in self._problem.domain.actions])
        if isinstance(self._problem.metric, NumericMetric):
            declared = price_steps(self._problem, declared)
        plan = Plan(declared, self._problem)
        with Finishing():
            verdict = self._check(plan)
            if not verdict.valid:
                raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
            if self._check_limits is not None and not self._check_limits(plan).valid:
                return None
        if not self._problem.wishes:
            return plan
        plan = value_plan(plan, verdict)
        return plan if plan.charge == exact_sum(step.cost for step in steps) else None


Item = TypeVar("Item")
Making = Callable[[Sequence[int]], "Plan | None"]
"""Makes a plan of its actions; None if the plan is to be left out."""


@dataclass(frozen=True, slots=True)
class CandidateOptions:
    """The options of `candidates` that select plans."""

    within: Decimal | None
    orders: bool
    wasteful: bool

    def limit(self, optimum: int) -> int:
        """Return the largest cost of a plan."""
        return INFINITY - 1 if self.within is None else int(EXACT.multiply(self.within, Decimal(optimum)))


def read_factor(within: Any) -> Decimal | None:
    """Return `within` exactly; raises `InputError` unless it is a factor of 1 or more, or None."""
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
    """Return no limit on the cost, as long as the cheapest plan that keeps all budgets is not known."""
    return INFINITY - 1


class Candidates(Iterator[Plan]):
    """Iterates over plans by cost.

    `stopped_by` is None as long as there may be more plans; after the last plan it says why there are no more.
    """

    def __init__(self, problem: Any, limits: Limits, options: CandidateOptions) -> None:
        self.problem = problem
        self.stopped_by: StoppedBy | None = None
        self._limits, self._options = limits, options
        self._task: Task | None = None
        self._listing: PlanEnumeration | None = None
        self._rounds: SolvingRounds | None = None
        self._make: Making | None = None
        self._most: int | None = None
        self._is_impossible = False
        self._plans = self._find_plans()
        self._resting_since = read_clock()

    @property
    def misses_none(self) -> bool:
        """Whether the plans that were asked for all come, in the order of their costs."""
        return self._rounds is None or self._rounds.misses_none

    @property
    def reason(self) -> str:
        """Why plans may be missing, or come after dearer ones; empty where none is."""
        return "" if self._rounds is None else self._rounds.reason

    @property
    def complete(self) -> bool:
        """Whether it is proved that there are no other plans."""
        if self._is_impossible:
            return True
        if self._rounds is not None:
            return self._rounds.complete
        return self.misses_none and self._listing is not None and self._listing.lower_bound >= INFINITY

    @property
    def lower_bound(self) -> Number | None:
        """Lower bound on the cost of all further plans; None if there are none, or if no bound is known."""
        if self.complete:
            return None
        if self._rounds is not None:
            return self._rounds.lower_bound
        bound = 0
        if self._listing is not None:
            bound = self._listing.lower_bound if self.misses_none else self._listing.optimum
        return divide_exactly(bound, self._task.resolution if self._task else 1)

    @property
    def most(self) -> Number | None:
        """Largest cost of a plan; None without a factor, and as long as the cheapest plan is not known."""
        if self._rounds is not None:
            return self._rounds.most
        if self._most is None or self._options.within is None or self._task is None:
            return None
        return divide_exactly(self._most, self._task.resolution)

    @property
    def can_draw(self) -> bool:
        """Whether `draw` may yield plans: those that are listed can be drawn."""
        return self._rounds is None

    def __next__(self) -> Plan:
        for plan in self._iterate_within_limits(self._plans):
            return plan
        self.stopped_by = self.stopped_by or StoppedBy.EXHAUSTED
        raise StopIteration

    def draw(self, seed: int, avoided: Callable[[], Collection[Step]]) -> Iterator[Plan | None]:
        """Yield other plans within the bound, drawn at random, and None for a draw without a new plan.

        The draws take steps that are `avoided` at that time less often. Yield nothing before the first plan by cost, or
        if exploration takes too long. Do not ask for plans by cost afterwards.
        """
        if self._listing is not None and self._make is not None and self._most is not None:
            from planner.topk.plan_enumeration import draw_plans

            plans = draw_plans(self._listing, self._make, self._most, avoided, limits=self._limits, seed=seed)
            yield from self._iterate_within_limits(plans)

    def _iterate_within_limits(self, plans: Iterator[Item]) -> Iterator[Item]:
        """Yield `plans` until a limit is reached; time counts only while the next plan is made."""
        while self.stopped_by is None:
            self._limits.started += read_clock() - self._resting_since
            try:
                with pause_collector():
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
                self._resting_since = read_clock()
            yield plan

    def _find_plans(self) -> Iterator[Plan]:
        prepared = self._prepare()
        if prepared is None:
            self._is_impossible = True
            return
        if isinstance(prepared, SolvingRounds):
            self._rounds = prepared
            yield from prepared.plans()
            return
        self._task, self._listing, self._make = prepared
        for actions in self._listing.plans():
            self._limits.check()
            if actions is None:
                continue
            cost = sum([self._task.actions[action].cost for action in actions])
            if self._most is not None and cost > self._most:
                break
            plan = self._make(actions)
            if plan is not None:
                self._most = self._options.limit(cost) if self._most is None else self._most
                yield plan

    def _prepare(self) -> tuple[Task, PlanEnumeration, Making] | SolvingRounds | None:
        """Return the task, the listing of its plans and the maker of plans; None if there is no plan.

        Where nothing lists the plans, return rounds, which solve the problem again and again.
        """
        return self._solve_in_rounds()

    def _solve_in_rounds(self) -> SolvingRounds:
        """Return the rounds of the problem; raise `UnsupportedError` for the options that they do not take."""
        refused = {"`orders`": self._options.orders, "`wasteful`": self._options.wasteful}
        for option, is_given in refused.items():
            if is_given:
                said = f"candidates with {option}, where plans are not listed but found one after another"
                raise UnsupportedError(said, f"leave {option} out")
        return SolvingRounds(self.problem, self._limits, self._answer, self._options.within)

    def _answer(self, problem: Any, options: SolveOptions) -> Result:
        """Solve `problem`, which is made of the declared one."""
        from planner.solve import answer

        return answer(problem, options)


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
    """Return an iterator over the plans for `problem` by cost; it searches for each plan when asked for it.

    `within` excludes plans that cost more than this factor times the optimum. Plans that differ only in the order of
    independent steps come once, unless `orders`. Two steps are independent if neither changes what the other reads, nor
    undoes what the other does. A plan is wasteful, and left out unless `wasteful`, if it remains a plan without some of
    its steps; every plan that visits a state twice is. Steps that cannot change anything are in no plan. There may be
    infinitely many wasteful plans; if steps cost nothing, they come by cost and then by length.

    With soft goals, plans come by their `charge`, and steps for fulfilled wishes count as needed. With a deadline, a
    step may be needed only to save time, which is not recognised: nothing is proved, unless `wasteful`.

    Where actions create objects, plans that differ only in the names of placeholders come once.

    Plans of a hierarchical problem have a decomposition; plans with the same steps are one plan, whatever their tasks.
    Such a plan is wasteful if it decomposes the tasks without some of its steps.

    Where nothing lists the plans (in time, beside unknown facts or numbers, and where numbers take many values or what
    steps cost depends on them), the problem is solved again and again without the plans so far: a plan that takes all
    the steps of an earlier one is left out, in whatever order and at whatever times, unless it reaches a soft goal that
    the earlier one forgoes. `reason` says what is not proved then; `orders` and `wasteful` are refused.

    `time_limit` is the working time of the iterator in seconds, `memory_limit` in GiB of the process; None is no limit.
    The iterator ends when a limit is reached, and `stopped_by` says so.

    Raises `InputError` for invalid limits and for mistakes in the problem that only grounding shows, and
    `UnsupportedError` for problems that it does not take.
    """
    check_limits(time_limit, memory_limit)
    options = CandidateOptions(read_factor(within), orders, wasteful)
    limits = Limits(time_limit, memory_limit, cancel)
    problem = resolve_problem(problem)
    if not isinstance(problem, Problem):
        found: Candidates = service_of(problem).candidates(problem, limits, options)
        return found
    return _select_class(problem)(problem, limits, options)


def _select_class(problem: Problem) -> type[Candidates]:
    """Return the iterator that lists the plans of `problem`, or else the one that solves it again and again."""
    is_created, is_late = has(problem, Construct.CREATION), has(problem, Construct.DEADLINE)
    if is_temporal(problem) or has(problem, Construct.UNKNOWN, Construct.UNKNOWN_NUMBERS):
        return Candidates
    if is_numeric(problem):
        return Candidates if is_created or is_late else NumericCandidates
    if is_created and not is_late:
        from planner.topk.creation_candidates import CreationCandidates

        return CreationCandidates
    return Candidates if is_created else ClassicalCandidates


class ClassicalCandidates(Candidates):
    """Iterates over the plans of a classical problem."""

    @property
    def misses_none(self) -> bool:
        """Whether all plans come: with a deadline, plans that look wasteful may be missing."""
        return not has(self.problem, Construct.DEADLINE) or self._options.wasteful

    def _prepare(self) -> tuple[Task, PlanEnumeration, Making] | SolvingRounds | None:
        task = self._ground()
        if task is None:
            return self._solve_in_rounds()
        if task.unreachable_goal is not None:
            return None
        return task, self._list(task), PlanMaker(self.problem, task).make

    def _ground(self) -> Task | None:
        """Return the task whose plans are listed; None if there is none."""
        from planner.grounding.ground import ground

        problem, whole = self.problem, self._options.wasteful
        if problem.wishes:
            from planner.compilations.soft_goals import compile_wishes

            problem = compile_wishes(problem, whole=whole).problem
        return ground(problem, self._limits, whole=whole)

    def _list(self, task: Task) -> PlanEnumeration:
        from planner.portfolio.workplace import Workplace
        from planner.search import Run, Space
        from planner.topk.exploration import explore
        from planner.topk.plan_enumeration import PlanEnumeration

        check, space, wasteful = self._limits.check, Space(task), self._options.wasteful
        explored = explore(Workplace(task, space, Run(), check), past_goals=wasteful)
        limit = no_limit if self.problem.is_limited else self._options.limit
        return PlanEnumeration(space, explored, self._commuting(task), limit, check, frugal=not wasteful)

    def _commuting(self, task: Task) -> Commuting | None:
        from planner.topk.partial_order_reduction import Commuting, Items

        if self._options.orders:
            return None
        return Commuting(task, self._limits.check, Items(self.problem), strict=has(self.problem, Construct.DEADLINE))


class NumericCandidates(ClassicalCandidates):
    """Iterates over the plans of a problem with numbers: those of the classical task on the values of its fluents.

    Where fluents take too many values, or what steps cost depends on them, there is no such task.
    """

    def _ground(self) -> Task | None:
        from planner.grounding.ground_numeric import ground_numeric
        from planner.task.numbers_as_facts import NumberEnumeration

        problem = self.problem
        if self._options.wasteful:
            return None
        if problem.wishes:
            from planner.compilations.soft_goals import compile_wishes

            problem = compile_wishes(problem).problem
        source = ground_numeric(problem, self._limits)
        if source.task.unreachable_goal is not None:
            return source.task
        if not source.is_priced:
            return None
        numbers = NumberEnumeration(source)
        for _ in numbers.steps():
            self._limits.check()
        return None if numbers.result is None else numbers.result.task
