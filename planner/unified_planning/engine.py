"""Forethought as an engine of unified-planning: one plan, better and better plans, and a checker of plans.

What planning and checking gave, in the words of unified-planning.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Final, Self

from unified_planning.engines import (
    AnytimeGuarantee,
    Credits,
    Engine,
    FailedValidationReason,
    LogLevel,
    LogMessage,
    PlanGenerationResult,
    ValidationResult,
    ValidationResultStatus,
)
from unified_planning.engines import PlanGenerationResultStatus as Outcome
from unified_planning.engines.mixins import AnytimePlannerMixin, OneshotPlannerMixin, PlanValidatorMixin
from unified_planning.exceptions import UPProblemDefinitionError
from unified_planning.model import ProblemKind
from unified_planning.plans import PlanKind

from planner.errors import InputError, UnsupportedError
from planner.plan import Plan as Plan_outcomes
from planner.plan import Progress, Result, Status, StoppedBy
from planner.solve import solve
from planner.unified_planning.problem_features import SUPPORTED, features
from planner.unified_planning.problem_reader import AnyIncoming, from_unified_planning
from planner.validation.verdict import Verdict

if TYPE_CHECKING:
    from unified_planning.engines import OptimalityGuarantee, ValidationResult
    from unified_planning.model import Problem
    from unified_planning.plans import Plan

    from planner.unified_planning.problem_reader import AnyIncoming

_WITHOUT_PLAN: Final = {
    StoppedBy.TIME: Outcome.TIMEOUT,
    StoppedBy.CANCELLED: Outcome.TIMEOUT,
    StoppedBy.MEMORY: Outcome.MEMOUT,
}


def generated(result: Result, incoming: AnyIncoming, name: str) -> PlanGenerationResult:
    """Return the final result of a planner. "Optimal" needs a metric: without one, no plan is better than another."""
    figures = result.statistics.to_dict() | {"cost": result.cost, "lower_bound": result.lower_bound}
    return PlanGenerationResult(
        _status(result, has_metric=bool(incoming.source.quality_metrics)),
        None if result.plan is None else incoming.plan(result.plan),
        name,
        metrics={key: str(value) for key, value in figures.items() if value is not None},
        log_messages=[LogMessage(LogLevel.INFO, result.describe())],
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


def intermediate(plan: Plan_outcomes, incoming: AnyIncoming, name: str) -> PlanGenerationResult:
    """Return a plan that may be followed by a better one."""
    return PlanGenerationResult(Outcome.INTERMEDIATE, incoming.plan(plan), name, metrics={"cost": str(plan.cost)})


def unsupported(error: UnsupportedError, name: str) -> PlanGenerationResult:
    """Return that the problem is not taken, and why."""
    return PlanGenerationResult(
        Outcome.UNSUPPORTED_PROBLEM, None, name, log_messages=[LogMessage(LogLevel.ERROR, str(error))]
    )


def validated(verdict: Verdict, plan: Any, incoming: AnyIncoming, name: str) -> ValidationResult:
    """Return the verdict on `plan`, with the value of the metric where it is valid; a limit leaves it unknown."""
    if verdict.valid:
        metrics = {metric: Fraction(verdict.cost) for metric in incoming.source.quality_metrics}
        return ValidationResult(ValidationResultStatus.VALID, name, [], metrics or None)
    if verdict.stopped_by is not None:
        return _undecided(verdict.reason, name)
    failing = verdict.failing_step
    return ValidationResult(
        ValidationResultStatus.INVALID,
        name,
        [LogMessage(LogLevel.INFO, verdict.reason)],
        reason=(
            FailedValidationReason.UNSATISFIED_GOALS if failing is None else FailedValidationReason.INAPPLICABLE_ACTION
        ),
        inapplicable_action=None if failing is None else getattr(plan, "action_plan", plan).actions[failing - 1],
    )


def unvalidated(error: UnsupportedError, name: str) -> ValidationResult:
    """Return that nothing can be said about plans for a problem that is not taken."""
    return _undecided(str(error), name)


def _undecided(reason: str, name: str) -> ValidationResult:
    return ValidationResult(ValidationResultStatus.UNKNOWN, name, [LogMessage(LogLevel.ERROR, reason)])


PATIENCE: Final = 10.0
"""Seconds after which a planner without a timeout is content with the best plan that it has."""

CREDITS: Final = Credits(
    "Forethought",
    "the developers of Forethought",
    "",
    "",
    "Apache-2.0",
    "Plans that are proved before they run.",
    "A classical and hierarchical planner that says what it has proved: optimal, solved with a stated gap, unsolvable, "
    "or unknown.",
)


class ForethoughtEngine(Engine, OneshotPlannerMixin, AnytimePlannerMixin, PlanValidatorMixin):  # type: ignore[misc]
    """Finds plans, improves them, and checks those of others.

    `mode` is that of `planner.solve`: by default `optimal` where a guarantee is asked for, `first` for problems
    without a metric, and else `anytime`; then, without a timeout, a plan is improved until `patience` seconds have
    gone by. `search` and `heuristic` name a configuration; `memory_limit` is in GiB.
    """

    def __init__(
        self,
        mode: str | None = None,
        search: str | None = None,
        heuristic: str | None = None,
        memory_limit: float | None = None,
        patience: float = PATIENCE,
    ) -> None:
        Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)
        AnytimePlannerMixin.__init__(self)
        self._mode = mode
        self._options: dict[str, Any] = {"search": search, "heuristic": heuristic, "memory_limit": memory_limit}
        self._patience = patience

    @property
    def name(self) -> str:
        """The name under which unified-planning knows this engine."""
        return "forethought"

    @staticmethod
    def get_credits(**_: Any) -> Credits:
        """Return who made this."""
        return CREDITS

    @staticmethod
    def supported_kind() -> ProblemKind:
        """Return the features of problems that are taken."""
        return ProblemKind(SUPPORTED | features(), version=2)

    @staticmethod
    def supports(problem_kind: ProblemKind) -> bool:
        """Return whether problems of `problem_kind` are taken."""
        return bool(problem_kind <= ForethoughtEngine.supported_kind())

    @staticmethod
    def satisfies(_: OptimalityGuarantee) -> bool:
        """Return True: plans are optimal where that is asked for."""
        return True

    @staticmethod
    def ensures(anytime_guarantee: AnytimeGuarantee) -> bool:
        """Return whether plans come as promised: each better than the one before, but not each of them optimal."""
        return bool(anytime_guarantee is AnytimeGuarantee.INCREASING_QUALITY)

    @staticmethod
    def supports_plan(plan_kind: PlanKind) -> bool:
        """Return whether plans of `plan_kind` can be checked: sequences, and those that come of tasks."""
        return plan_kind in {PlanKind.SEQUENTIAL_PLAN, PlanKind.HIERARCHICAL_PLAN}

    def _solve(
        self,
        problem: Problem,
        heuristic: Callable[..., Any] | None = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
    ) -> PlanGenerationResult:
        if heuristic is not None:
            warnings.warn("Forethought takes no heuristic that is a function; name one of its own", stacklevel=3)
        try:
            incoming = from_unified_planning(problem)
            result = self._planned(incoming, timeout)
        except UnsupportedError as error:
            return unsupported(error, self.name)
        except InputError as error:
            raise UPProblemDefinitionError(str(error)) from error
        if output_stream is not None:
            output_stream.write(f"{result.describe()}\n")
        return generated(result, incoming, self.name)

    def _planned(self, incoming: AnyIncoming, timeout: float | None) -> Result:
        mode = self._mode or self._default_mode(incoming)
        if timeout is not None or mode != "anytime":
            return solve(incoming.problem, mode=mode, time_limit=timeout, **self._options)
        with _Patience(self._patience) as patience:
            return solve(
                incoming.problem,
                mode=mode,
                time_limit=None,
                on_progress=patience,
                cancel=patience.over,
                **self._options,
            )

    def _default_mode(self, incoming: AnyIncoming) -> str:
        if self.optimality_metric_required:
            return "optimal"
        return "anytime" if incoming.source.quality_metrics else "first"

    def _get_solutions(
        self, problem: Problem, timeout: float | None = None, output_stream: IO[str] | None = None
    ) -> Iterator[PlanGenerationResult]:
        try:
            incoming = from_unified_planning(problem)
        except UnsupportedError as error:
            yield unsupported(error, self.name)
            return
        for found in self._improving(incoming, timeout):
            if output_stream is not None:
                output_stream.write(f"{found}\n")
            yield found

    def _improving(self, incoming: AnyIncoming, timeout: float | None) -> Iterator[PlanGenerationResult]:
        """Yield each better plan as it is found by a thread, then the result; the thread ends with the iteration."""
        reports: SimpleQueue[Progress | Result | Exception] = SimpleQueue()
        cancel = threading.Event()

        def work() -> None:
            try:
                reports.put(
                    solve(
                        incoming.problem,
                        mode="anytime",
                        time_limit=timeout,
                        on_progress=reports.put,
                        cancel=cancel,
                        **self._options,
                    )
                )
            except Exception as error:  # noqa: BLE001 - raised where the iteration is
                reports.put(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            yield from self._reported(reports, incoming)
        finally:
            cancel.set()
            thread.join()

    def _reported(
        self, reports: SimpleQueue[Progress | Result | Exception], incoming: AnyIncoming
    ) -> Iterator[PlanGenerationResult]:
        best = None
        while True:
            match reports.get():
                case Progress(plan=plan) if plan is not None and (best is None or plan.cost < best):
                    best = plan.cost
                    yield intermediate(plan, incoming, self.name)
                case Result() as result:
                    yield generated(result, incoming, self.name)
                    return
                case UnsupportedError() as error:
                    yield unsupported(error, self.name)
                    return
                case InputError() as error:
                    raise UPProblemDefinitionError(str(error)) from error
                case Exception() as error:
                    raise error

    def _validate(self, problem: Problem, plan: Plan) -> ValidationResult:
        try:
            incoming = from_unified_planning(problem)
            verdict = incoming.verdict(plan)
        except UnsupportedError as error:
            return unvalidated(error, self.name)
        return validated(verdict, plan, incoming, self.name)


class ForethoughtOptimalEngine(ForethoughtEngine):
    """The same, going straight for the proof."""

    def __init__(self, mode: str | None = "optimal", **options: Any) -> None:
        super().__init__(mode, **options)

    @property
    def name(self) -> str:
        """The name under which unified-planning knows this engine."""
        return "forethought-opt"


class _Patience:
    """Sets `over` when `seconds` have gone by and there is a plan."""

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
        self._decide()

    def _end(self) -> None:
        self._ended = True
        self._decide()

    def _decide(self) -> None:
        if self._ended and self._has_plan:
            self.over.set()
