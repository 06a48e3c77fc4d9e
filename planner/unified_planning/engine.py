"""Forethought as an engine of unified-planning: it finds a plan, improves plans, and checks plans of others."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Final, Self

from unified_planning import engines as up
from unified_planning.engines import PlanGenerationResultStatus as Outcome
from unified_planning.engines.mixins import AnytimePlannerMixin, OneshotPlannerMixin, PlanValidatorMixin
from unified_planning.exceptions import UPProblemDefinitionError
from unified_planning.model import ProblemKind
from unified_planning.model.scheduling import SchedulingProblem
from unified_planning.plans import PlanKind

from planner.errors import InputError, UnsupportedError
from planner.limits import Limits
from planner.model import Number, NumericMetric
from planner.model.problem import is_temporal
from planner.plan import Plan, Progress, Result, Status, StoppedBy
from planner.problem_kinds import AnyProblem, classical_of
from planner.semantics.numeric_state import Values
from planner.solve import solve
from planner.unified_planning.conversion import AnyIncoming, from_unified_planning
from planner.unified_planning.problem_features import SUPPORTED, TIME, other_features
from planner.unified_planning.scheduling_problems import SCHEDULES, solve_scheduling
from planner.validation.verdict import Verdict

if TYPE_CHECKING:
    from unified_planning import model
    from unified_planning.plans import Plan as ForeignPlan

_WITHOUT_PLAN: Final = {
    StoppedBy.TIME: Outcome.TIMEOUT,
    StoppedBy.CANCELLED: Outcome.TIMEOUT,
    StoppedBy.MEMORY: Outcome.MEMOUT,
}


def convert_result(result: Result, incoming: AnyIncoming, name: str) -> up.PlanGenerationResult:
    """Return the final `result` of the engine `name`; it is "optimal" only where there is a metric."""
    figures = result.statistics.to_dict() | {"cost": result.cost, "lower_bound": result.lower_bound}
    return up.PlanGenerationResult(
        _status(result, has_metric=bool(incoming.source.quality_metrics)),
        None if result.plan is None else incoming.plan(result.plan),
        name,
        metrics={key: str(value) for key, value in figures.items() if value is not None},
        log_messages=[up.LogMessage(up.LogLevel.INFO, result.describe())],
    )


def _status(result: Result, *, has_metric: bool) -> Outcome:
    match result.status:
        case Status.OPTIMAL if has_metric:
            return Outcome.SOLVED_OPTIMALLY
        case Status.OPTIMAL | Status.SOLVED:
            return Outcome.SOLVED_SATISFICING
        case Status.UNSOLVABLE:
            return Outcome.UNSOLVABLE_PROVEN
        case Status.UNSUPPORTED:
            return Outcome.UNSUPPORTED_PROBLEM
        case Status.UNKNOWN:
            return _WITHOUT_PLAN.get(result.stopped_by, Outcome.UNSOLVABLE_INCOMPLETELY)


def _convert_in_time(problem: model.Problem, timeout: float | None) -> tuple[AnyIncoming, float | None]:
    """Convert `problem`; return it with the seconds of `timeout` that are left."""
    limits = Limits(timeout)
    return from_unified_planning(problem), limits.remaining


def convert_plan(plan: Plan, incoming: AnyIncoming, name: str) -> up.PlanGenerationResult:
    """Return `plan` as an intermediate result, which a better one may follow."""
    return up.PlanGenerationResult(Outcome.INTERMEDIATE, incoming.plan(plan), name, metrics={"cost": str(plan.cost)})


def refuse_problem(error: UnsupportedError, name: str) -> up.PlanGenerationResult:
    """Return that the engine does not take the problem, and why."""
    message = up.LogMessage(up.LogLevel.ERROR, str(error))
    return up.PlanGenerationResult(Outcome.UNSUPPORTED_PROBLEM, None, name, log_messages=[message])


def convert_verdict(verdict: Verdict, plan: Any, incoming: AnyIncoming, name: str) -> up.ValidationResult:
    """Return the verdict on `plan`, with the value of the metric if it is valid; unknown if a limit ended the check."""
    if verdict.valid:
        value = value_of_metric(incoming.problem, verdict.cost) if incoming.source.quality_metrics else 0
        metrics = dict.fromkeys(incoming.source.quality_metrics, value)
        return up.ValidationResult(up.ValidationResultStatus.VALID, name, [], metrics or None)
    if verdict.stopped_by is not None:
        return leave_undecided(verdict.reason, name)
    failing, reasons = verdict.failing_step, up.FailedValidationReason
    return up.ValidationResult(
        up.ValidationResultStatus.INVALID,
        name,
        [up.LogMessage(up.LogLevel.INFO, verdict.reason)],
        reason=reasons.UNSATISFIED_GOALS if failing is None else reasons.INAPPLICABLE_ACTION,
        inapplicable_action=None if failing is None else _instances_of(plan)[failing - 1],
    )


def _instances_of(plan: Any) -> list[Any]:
    """Return the actions of `plan` in the order in which its steps are numbered."""
    if plan.kind is PlanKind.TIME_TRIGGERED_PLAN:
        return [instance for _, instance, _ in sorted(plan.timed_actions, key=lambda each: each[0])]
    found: list[Any] = getattr(plan, "action_plan", plan).actions
    return found


def value_of_metric(problem: AnyProblem, cost: Number) -> Fraction:
    """Return the value of the metric of `problem` after a plan of this `cost`, which is its change by the plan."""
    classical = classical_of(problem)
    if not isinstance(classical.metric, NumericMetric) or is_temporal(classical):
        return Fraction(cost)
    start = Fraction(Values.of(classical).evaluate(classical.metric.expression) or 0)
    return start - Fraction(cost) if classical.metric.maximize else start + Fraction(cost)


def leave_undecided(reason: str, name: str) -> up.ValidationResult:
    """Return that the engine `name` cannot say whether a plan is valid, and why."""
    return up.ValidationResult(up.ValidationResultStatus.UNKNOWN, name, [up.LogMessage(up.LogLevel.ERROR, reason)])


PATIENCE: Final = 10.0
"""Seconds after which a planner without a timeout returns the best plan that it has."""

CREDITS: Final = up.Credits(
    "Forethought",
    "the developers of Forethought",
    "",
    "",
    "Apache-2.0",
    "Plans that are proved before they run.",
    "A planner for classical, numeric, temporal and hierarchical problems that says what it has proved: optimal, "
    "solved with a stated gap, unsolvable, or unknown.",
)


class ForethoughtEngine(up.Engine, OneshotPlannerMixin, AnytimePlannerMixin, PlanValidatorMixin):  # type: ignore[misc]
    """Finds plans, improves them, and checks plans of others.

    `mode` is that of `planner.solve`: by default `optimal` where a guarantee is demanded, `first` for problems without
    a metric, and else `anytime`. Without a timeout, `anytime` improves a plan until `patience` seconds have passed.
    `search` and `heuristic` name a configuration; `memory_limit` is in GiB. Up to `jobs` searches are at work at once.
    """

    def __init__(
        self,
        mode: str | None = None,
        search: str | None = None,
        heuristic: str | None = None,
        memory_limit: float | None = None,
        patience: float = PATIENCE,
        *,
        jobs: int = 1,
    ) -> None:
        up.Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)
        AnytimePlannerMixin.__init__(self)
        self._mode = mode
        limits = {"memory_limit": memory_limit, "jobs": jobs}
        self._options: dict[str, Any] = {"search": search, "heuristic": heuristic, **limits}
        self._patience = patience

    @property
    def name(self) -> str:
        """The name under which unified-planning knows this engine."""
        return "forethought"

    @staticmethod
    def get_credits(**_: Any) -> up.Credits:
        """Return the credits of the engine."""
        return CREDITS

    @staticmethod
    def supported_kind() -> ProblemKind:
        """Return the features of problems that the engine takes."""
        return ProblemKind(SUPPORTED | TIME | SCHEDULES | other_features(), version=2)

    @staticmethod
    def supports(problem_kind: ProblemKind) -> bool:
        """Return whether the engine takes problems of `problem_kind`."""
        return bool(problem_kind <= ForethoughtEngine.supported_kind())

    @staticmethod
    def satisfies(_: up.OptimalityGuarantee) -> bool:
        """Return True: plans are optimal where that is demanded."""
        return True

    @staticmethod
    def ensures(anytime_guarantee: up.AnytimeGuarantee) -> bool:
        """Return whether the engine gives this guarantee: it only promises that each plan is better than the last."""
        return bool(anytime_guarantee is up.AnytimeGuarantee.INCREASING_QUALITY)

    @staticmethod
    def supports_plan(plan_kind: PlanKind) -> bool:
        """Return whether the engine checks plans of `plan_kind`: sequences, plans with times, hierarchical ones."""
        return plan_kind in {PlanKind.SEQUENTIAL_PLAN, PlanKind.TIME_TRIGGERED_PLAN, PlanKind.HIERARCHICAL_PLAN}

    def _solve(
        self,
        problem: model.Problem,
        heuristic: Callable[..., Any] | None = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
    ) -> up.PlanGenerationResult:
        if heuristic is not None:
            warnings.warn("Forethought takes no heuristic that is a function; name one of its own", stacklevel=3)
        try:
            if isinstance(problem, SchedulingProblem):
                return solve_scheduling(problem, self.name, timeout)
            incoming, left = _convert_in_time(problem, timeout)
            result = self._run_search(incoming, left)
        except UnsupportedError as error:
            return refuse_problem(error, self.name)
        except InputError as error:
            raise UPProblemDefinitionError(str(error)) from error
        if output_stream is not None:
            output_stream.write(f"{result.describe()}\n")
        return convert_result(result, incoming, self.name)

    def _run_search(self, incoming: AnyIncoming, timeout: float | None) -> Result:
        mode = self._mode or self._default_mode(incoming)
        if timeout is not None or mode != "anytime":
            return solve(incoming.problem, mode=mode, time_limit=timeout, **self._options)
        with _Patience(self._patience) as patience:
            options = {"time_limit": None, "on_progress": patience, "cancel": patience.over, **self._options}
            return solve(incoming.problem, mode=mode, **options)

    def _default_mode(self, incoming: AnyIncoming) -> str:
        if self.optimality_metric_required:
            return "optimal"
        return "anytime" if incoming.source.quality_metrics else "first"

    def _get_solutions(
        self, problem: model.Problem, timeout: float | None = None, output_stream: IO[str] | None = None
    ) -> Iterator[up.PlanGenerationResult]:
        if isinstance(problem, SchedulingProblem):
            yield self._solve(problem, None, timeout, output_stream)
            return
        try:
            incoming, left = _convert_in_time(problem, timeout)
        except UnsupportedError as error:
            yield refuse_problem(error, self.name)
            return
        for found in self._improve(incoming, left):
            if output_stream is not None:
                output_stream.write(f"{found}\n")
            yield found

    def _improve(self, incoming: AnyIncoming, timeout: float | None) -> Iterator[up.PlanGenerationResult]:
        """Search in a thread; yield each better plan, then the result. The thread ends with the iteration."""
        reports: SimpleQueue[Progress | Result | Exception] = SimpleQueue()
        cancel = threading.Event()

        def work() -> None:
            try:
                options = {"time_limit": timeout, "on_progress": reports.put, "cancel": cancel, **self._options}
                reports.put(solve(incoming.problem, mode="anytime", **options))
            except Exception as error:  # noqa: BLE001 - raised where the iteration is
                reports.put(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            yield from self._convert_reports(reports, incoming)
        finally:
            cancel.set()
            thread.join()

    def _convert_reports(
        self, reports: SimpleQueue[Progress | Result | Exception], incoming: AnyIncoming
    ) -> Iterator[up.PlanGenerationResult]:
        best = None
        while True:
            match reports.get():
                case Progress(plan=plan) if plan is not None and (best is None or plan.cost < best):
                    best = plan.cost
                    yield convert_plan(plan, incoming, self.name)
                case Result() as result:
                    yield convert_result(result, incoming, self.name)
                    return
                case UnsupportedError() as error:
                    yield refuse_problem(error, self.name)
                    return
                case InputError() as error:
                    raise UPProblemDefinitionError(str(error)) from error
                case Exception() as error:
                    raise error

    def _validate(self, problem: model.Problem, plan: ForeignPlan) -> up.ValidationResult:
        try:
            incoming = from_unified_planning(problem)
            verdict = incoming.verdict(plan)
        except UnsupportedError as error:
            return leave_undecided(str(error), self.name)
        return convert_verdict(verdict, plan, incoming, self.name)


class ForethoughtOptimalEngine(ForethoughtEngine):
    """The engine in mode `optimal`, which searches for a proof only."""

    def __init__(self, mode: str | None = "optimal", **options: Any) -> None:
        super().__init__(mode, **options)

    @property
    def name(self) -> str:
        """The name under which unified-planning knows this engine."""
        return "forethought-opt"


class _Patience:
    """Sets `over` when `seconds` have passed and there is a plan."""

    def __init__(self, seconds: float) -> None:
        self.over = threading.Event()
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._ended = False
        self._has_plan = False

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def __call__(self, progress: Progress) -> None:
        self._has_plan = progress.plan is not None
        self._set_if_done()

    def _end(self) -> None:
        self._ended = True
        self._set_if_done()

    def _set_if_done(self) -> None:
        if self._ended and self._has_plan:
            self.over.set()
