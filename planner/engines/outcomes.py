"""What planning and checking gave, in the words of unified-planning."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from unified_planning.engines import (
    FailedValidationReason,
    LogLevel,
    LogMessage,
    PlanGenerationResult,
    ValidationResult,
    ValidationResultStatus,
)
from unified_planning.engines import PlanGenerationResultStatus as Outcome

from planner.errors import UnsupportedError
from planner.plan import Plan, Result, Status, StoppedBy
from planner.validate import Verdict

if TYPE_CHECKING:
    from planner.engines.incoming import AnyIncoming

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


def intermediate(plan: Plan, incoming: AnyIncoming, name: str) -> PlanGenerationResult:
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
