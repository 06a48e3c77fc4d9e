"""Read what an action says of time: how long its steps last, what holds in between, and which capacities they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from planner.errors import did_you_mean
from planner.language.declare.atom_syntax import abbreviate, explain_bad_name
from planner.language.declare.fields import Place, check_decimal
from planner.model.actions import Action, CostFunction, CostTerm, Duration, DurationRange
from planner.model.arithmetic import as_number, evaluate
from planner.model.formulas import TRUE, Arithmetic, Atom, Expression
from planner.model.object_names import is_name

if TYPE_CHECKING:
    from planner.language.declare.action_builder import Amounts

AT_LEAST: Final = "at_least"
AT_MOST: Final = "at_most"
_RANGE: Final = ".."
_EXAMPLES: Final = "write seconds, an expression such as 'distance(a, b) / speed(r)', or a range such as '1..5'"


def read_duration(value: Any, amounts: Amounts, place: Place) -> Duration | None:
    """Read a duration: a number, an expression, or a range (`"1..5"`, `{"at_least": 1, "at_most": 5}`).

    Raises an error at `place` for negative durations, and for ranges whose least duration is above the greatest one.
    """
    match value:
        case None:
            return None
        case DurationRange(low, high):
            return _make_range(low, high, amounts, place)
        case Mapping():
            for key in value:
                if key not in (AT_LEAST, AT_MOST):
                    near = did_you_mean(str(key), (AT_LEAST, AT_MOST)) or f"its keys are {AT_LEAST} and {AT_MOST}"
                    raise place.error(f"a duration has no key {abbreviate(key)}", near)
            if all(value.get(key) is None for key in (AT_LEAST, AT_MOST)):
                raise place.error("a duration has no bounds", f"say {{{AT_LEAST!r}: 1, {AT_MOST!r}: 5}}")
            return _make_range(value.get(AT_LEAST), value.get(AT_MOST), amounts, place)
        case str() if _RANGE in value:
            first, _, last = value.partition(_RANGE)
            if _RANGE in last or not (first.strip() or last.strip()):
                raise place.error(f"{abbreviate(value)} is no range of durations", "write '1..5', '1..' or '..5'")
            return _make_range(first.strip() or None, last.strip() or None, amounts, place)
    return _read_length(value, "the duration", amounts, place)


def _make_range(low: Any, high: Any, amounts: Amounts, place: Place) -> DurationRange:
    least = 0 if low is None else _read_length(low, "the least duration", amounts, place)
    most = None if high is None else _read_length(high, "the greatest duration", amounts, place)
    one, other = _constant(least), None if most is None else _constant(most)
    if one is not None and other is not None and one > other:
        raise place.error(f"a step lasts at least {least} and at most {most} seconds, which no step does")
    return DurationRange(least, most)


def _read_length(value: Any, what: str, amounts: Amounts, place: Place) -> Expression:
    if isinstance(value, CostFunction) or callable(value):
        raise place.error(f"{what} is computed by Python, and plans in time need numbers", _EXAMPLES)
    if isinstance(value, str | Atom | Arithmetic):
        terms = amounts.terms(value, what, place)
        found = terms[0]
        assert not isinstance(found, CostFunction)
        constant = _constant(found)
        if constant is not None and constant < 0:
            raise place.error(f"{what} is {abbreviate(str(value))}, and no step lasts less than 0 seconds", _EXAMPLES)
        number = None if constant is None else as_number(constant)
        return found if number is None else number
    if value is None or isinstance(value, list | tuple):
        raise place.error(f"{what} is {abbreviate(value)}", _EXAMPLES)
    return check_decimal(value, what, place)


def _constant(expression: Expression) -> Any:
    """Return the value of an expression without functions; None where it has any."""
    return evaluate(expression, lambda _: None, {})


def read_holds(value: Any, amounts: Amounts, place: Place) -> dict[str, tuple[CostTerm, ...]]:
    """Read the capacities that a step holds: names with amounts, or names alone, of which it holds 1 each."""
    if isinstance(value, str):
        value = {value: 1}
    if isinstance(value, Mapping):
        amounts_of = list(value.items())
    elif isinstance(value, list | tuple):
        amounts_of = [(name, 1) for name in value]
    else:
        raise place.error(f"{abbreviate(value)} are no capacities", "write holds={'worker': 1}")
    found = {}
    for name, amount in amounts_of:
        here = place.within(name) if isinstance(name, str) else place
        if not is_name(name):
            raise here.error(*explain_bad_name(name, "a capacity"))
        terms = amounts.terms(amount, f"what a step holds of {name}", here)
        if any(isinstance(term, CostFunction) for term in terms):
            message = f"what a step holds of {name} is computed by Python, and plans in time need numbers"
            raise here.error(message, "write a number or an expression over functions")
        found[name] = terms
    return found


def check_timed_fields(action: Action, place: Place) -> None:
    """Raise an error where `action` has no duration and says what only lasting steps have."""
    if action.duration is not None:
        return
    says = {
        "throughout": action.throughout != TRUE,
        "at_start": not action.at_start.is_empty,
        "at_end": not action.at_end.is_empty,
        "holds": bool(action.holds),
    }
    for field, there in says.items():
        if there:
            message = f"action {action.name!r} has '{field}', and no duration: its steps take no time"
            raise place.within(field).error(message, "say how many seconds they take, such as duration=5")
