"""What happens at known times, and when goals are due (Edelkamp and Hoffmann, 2004: PDDL 2.2; PDDL 3's `within`)."""

from __future__ import annotations

from planner.lightweight import Any, Final, dataclass, replace
from planner.model.actions import DURATION, Action, DurationRange, Literal, NumericEffect, Outcome, When
from planner.model.formulas import Arithmetic, Atom, Expression, Formula, Number, functions_in

TOTAL_TIME: Final = Atom("total-time")
"""The makespan in a metric: the time when the last step ends."""


@dataclass(frozen=True, slots=True)
class TimedEffect:
    """A change that comes about `time` seconds after the plan's beginning, whatever the plan does.

    Effects under a condition, `when`, are those of monitors: compiled problems alone have them.
    """

    time: Number
    provides: tuple[Literal, ...] = ()
    numbers: tuple[NumericEffect, ...] = ()
    when: tuple[When, ...] = ()

    def __str__(self) -> str:
        return f"at {self.time}: {', '.join(map(str, (*self.provides, *self.numbers)))}"


@dataclass(frozen=True, slots=True)
class GoalDeadline:
    """A part of the goal that must be reached `by` some second.

    With a `weight`, the deadline is soft: the plan pays so much for each second that `condition` is late.
    """

    condition: Formula
    by: Number
    weight: Number | None = None

    def __str__(self) -> str:
        return f"{self.condition} by {self.by}"


def fix_duration(action: Action) -> Action:
    """Return `action` with its duration in place of `?duration` in numeric effects; a range stays open."""
    duration = action.duration
    if duration is None or isinstance(duration, DurationRange):
        return action
    effects: list[When | Outcome] = [*action.effects, *action.outcomes]
    if not any(DURATION in functions_in(each.value) for effect in effects for each in effect.numbers):
        return action

    def fix(numbers: tuple[NumericEffect, ...]) -> tuple[NumericEffect, ...]:
        return tuple([replace(each, value=_replace_duration(each.value, duration)) for each in numbers])

    def fix_all(effects: Any) -> Any:
        return tuple([replace(each, numbers=fix(each.numbers)) for each in effects])

    start, end = [
        each if each.is_empty else replace(each, when=fix_all(each.when), numbers=fix(each.numbers))
        for each in (action.at_start, action.at_end)
    ]
    return replace(
        action,
        numbers=fix(action.numbers),
        when=fix_all(action.when),
        outcomes=fix_all(action.outcomes),
        at_start=start,
        at_end=end,
    )


def _replace_duration(expression: Expression, duration: Expression) -> Expression:
    """Return `expression` with `duration` in place of `?duration`."""
    if isinstance(expression, Arithmetic):
        return Arithmetic(expression.operator, tuple([_replace_duration(x, duration) for x in expression.operands]))
    return duration if expression == DURATION else expression
