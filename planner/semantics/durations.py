"""How long steps last: the values of declared durations.

Times of plans are finite decimals. A duration that is none, such as a third of a second, is rounded to thousandths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from planner.errors import PlanError
from planner.lightweight import Final, dataclass
from planner.model.actions import DURATION, Action, DurationRange
from planner.model.arithmetic import Exact, as_number
from planner.model.domain import DomainModel, numeric_effects
from planner.model.formulas import Arithmetic, Atom, Expression, Number, functions_in, substitute_expression
from planner.model.problem import Problem
from planner.plan import Step
from planner.semantics.numeric_state import Values

SEPARATION: Final = Decimal("0.001")
"""Seconds that lie at least between two happenings of which one writes what the other reads or writes."""

_TICKS: Final = 1000


def as_seconds(value: Exact) -> Number:
    """Return `value` as a finite decimal: exact, or rounded to thousandths where it is none."""
    number = as_number(value)
    if number is not None:
        return number
    ticks = round(Fraction(value) * _TICKS)
    return ticks // _TICKS if ticks % _TICKS == 0 else Decimal(ticks) / _TICKS


@dataclass(frozen=True, slots=True)
class Lasting:
    """The least and the greatest duration of one step in seconds; without `high`, it may last for ever."""

    low: Number
    high: Number | None

    @property
    def is_fixed(self) -> bool:
        """Whether there is only one."""
        return self.low == self.high

    def allows(self, duration: Number) -> bool:
        """Return whether a step may have this `duration`, up to a thousandth of a second."""
        return self.low - SEPARATION <= duration and (self.high is None or duration <= self.high + SEPARATION)

    def fix(self, duration: Number) -> Lasting:
        """Return the `duration`, or the bound that it is beyond, as the only one."""
        nearest = max(self.low, duration)
        if self.high is not None:
            nearest = min(self.high, nearest)
        return Lasting(nearest, nearest)

    def __str__(self) -> str:
        if self.is_fixed:
            return f"{self.low} s"
        return f"at least {self.low} s" if self.high is None else f"{self.low} to {self.high} s"


def duration_of(action: Action, values: Values, binding: Mapping[str, str]) -> Lasting:
    """Return how long a step of `action` lasts that starts where functions have `values`.

    Raises `PlanError` where a duration has no value there, or is negative.
    """
    match action.duration:
        case None:
            return Lasting(0, 0)
        case DurationRange(low, high):
            least = _evaluate(action, low, values, binding)
            return Lasting(max(least, 0), None if high is None else _evaluate(action, high, values, binding))
        case fixed:
            seconds = _evaluate(action, fixed, values, binding)
            if seconds < 0:
                raise PlanError(f"its duration {fixed} is {seconds} s, and no step lasts less than 0 s")
            return Lasting(seconds, seconds)


def effects_depend_on_choice(action: Action) -> bool:
    """Return whether effects of `action` depend on its duration, which a plan chooses from a range."""
    return isinstance(action.duration, DurationRange) and any(
        DURATION in functions_in(effect.value) for effect in numeric_effects(action)
    )


def has_chosen_durations(domain: DomainModel) -> bool:
    """Return whether effects of some action depend on its duration, which a plan chooses from a range."""
    return any(map(effects_depend_on_choice, domain.actions.values()))


def chosen_durations(problem: Problem, steps: Sequence[Step], durations: Sequence[Number]) -> dict[int, Number]:
    """Return those of the `durations` of `steps` on which effects depend, by the places of the steps."""
    actions = problem.domain.actions
    pairs = zip(steps, durations, strict=True)
    return {
        number: seconds
        for number, (step, seconds) in enumerate(pairs)
        if effects_depend_on_choice(actions[step.action])
    }


def least_term(action: Action) -> Expression:
    """Return the expression of the least duration of a step of `action`; 0 without a duration."""
    return (action.duration.low if isinstance(action.duration, DurationRange) else action.duration) or 0


def least_duration(problem: Problem, step: Step) -> Number:
    """Return how long `step` lasts at least, by the functions' values in the initial state; 0 without a duration.

    Raises `PlanError` where the duration has no value there, or is negative.
    """
    action = problem.domain.actions[step.action]
    if not isinstance(action.duration, Atom | Arithmetic | DurationRange):
        return action.duration or 0
    binding = dict(zip([each.name for each in action.parameters], step.arguments, strict=False))
    return duration_of(action, Values.of(problem), binding).low


def _evaluate(action: Action, expression: Expression, values: Values, binding: Mapping[str, str]) -> Number:
    value = values.evaluate(expression, binding)
    if value is None:
        raise PlanError(
            f"its duration {substitute_expression(expression, binding)} has no value",
            hint=f"give the functions in it values; see '{action.name}'",
        )
    return as_seconds(value)
