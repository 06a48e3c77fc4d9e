"""Exact arithmetic: the values of expressions, and whether comparisons hold.

Values are ints where integral and fractions elsewhere, never floats. None stands for an undefined value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from operator import eq, ge, gt, le, lt

from planner.errors import PlanError
from planner.lightweight import TYPE_CHECKING, Any, Final
from planner.model.formulas import Arithmetic, Atom, Expression, Number, functions_in

if TYPE_CHECKING:
    from fractions import Fraction

    Exact = int | Fraction
    """An exact number: an int where it is integral."""
else:
    Exact = Any  # fractions take long to import, and most problems have none

MOST_DIGITS: Final = 4_000
"""Most digits of a number, zeros that an exponent stands for included; Python prints integers of about as many."""
_TOO_GREAT: Final = 10**MOST_DIGITS

Key = tuple[str, tuple[str, ...]]
"""A function and its arguments."""


def as_fraction(number: Number | Fraction) -> Fraction:
    """Return `number` as a fraction."""
    from fractions import Fraction

    return Fraction(number)


def exact_value(number: Number | Fraction) -> Exact:
    """Return `number` as an int where it is integral, else as a fraction."""
    if isinstance(number, int):
        return number
    fraction = as_fraction(number)
    return fraction.numerator if fraction.denominator == 1 else fraction


def as_number(value: Exact) -> Number | None:
    """Return `value` as an int or a decimal; None where it is no finite decimal."""
    if isinstance(value, int):
        return value
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return None
    places = max(twos, fives)
    digits = _write_digits(abs(value.numerator) * 10**places // value.denominator)
    return Decimal((int(value < 0), tuple(map(int, digits)), -places))


def _write_digits(value: int) -> str:
    """Return `value` as text, also where it has more digits than Python prints of integers."""
    return str(value) if value.bit_length() < 3 * MOST_DIGITS else f"{Decimal(value):f}"


def parse_number(value: int | str | Decimal) -> Number:
    """Return the number `value`, or the one that it writes, exactly: an int where it is integral, else a decimal.

    Raises `ValueError` with the reason for what is no finite number, or has more than `MOST_DIGITS` digits.
    """
    if isinstance(value, int):
        if abs(value) >= _TOO_GREAT:
            raise ValueError(f"a number has at most {MOST_DIGITS} digits")
        return value
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise ValueError(f"{value!r} is not a number") from None
    if not number.is_finite():
        raise ValueError(f"{value} is no finite number")
    _, digits, exponent = number.as_tuple()
    if len(digits) + abs(int(exponent)) > MOST_DIGITS:
        raise ValueError(f"a number has at most {MOST_DIGITS} digits")
    found = as_number(exact_value(number))
    assert found is not None
    return found


def show_number(value: Exact | None) -> str:
    """Return `value` as text: as a decimal where it is one, else as a fraction like `1/3`."""
    if value is None:
        return "undefined"
    if isinstance(value, int):
        return _write_digits(value)
    number = as_number(value)
    if number is None:
        return f"{_write_digits(value.numerator)}/{_write_digits(value.denominator)}"
    return f"{number:f}"


def evaluate(
    expression: Expression, value_of: Callable[[Key], Exact | None], binding: Mapping[str, str]
) -> Exact | None:
    """Return the value of `expression` with its variables bound, and `value_of` its functions; None: undefined."""
    match expression:
        case Atom(function, args):
            return value_of((function, tuple([binding.get(arg, arg) for arg in args])))
        case Arithmetic(operator, operands):
            numbers = [evaluate(each, value_of, binding) for each in operands]
            known = [number for number in numbers if number is not None]
            return compute(operator, known) if len(known) == len(numbers) else None
        case _:
            return exact_value(expression)


def compute(operator: str, operands: list[Exact]) -> Exact | None:
    """Apply an operator of `Arithmetic` to the values of its operands; None where the divisor is 0."""
    result, *others = operands
    if operator == "-" and not others:
        return -result
    for operand in others:
        match operator:
            case "+":
                result += operand
            case "-":
                result -= operand
            case "*":
                result *= operand
            case _:
                if operand == 0:
                    return None
                result = as_fraction(result) / operand
    return exact_value(result)


TESTS: Final[Mapping[str, Callable[[Exact, Exact], bool]]] = {"<": lt, "<=": le, "=": eq, ">=": ge, ">": gt}
"""The relations of comparisons as functions."""


def evaluate_static(
    expression: Expression, values: Mapping[Atom, Number], binding: Mapping[str, str], what: str, problem: str
) -> Number:
    """Return the value of `expression`, whose variables are bound, from the `values` of a problem.

    Raises `PlanError` where it is undefined or no finite decimal; the message names `what` and the `problem`.
    """
    terms = [each.substitute(binding) for each in functions_in(expression)]
    missing = next((each for each in terms if each not in values), None)
    if missing is not None:
        raise PlanError(f"{what} {expression} needs {missing}, which has no value in problem '{problem}'")
    known = {(each.predicate, each.args): exact_value(values[each]) for each in terms}
    value = evaluate(expression, known.get, binding)
    if value is None:
        raise PlanError(f"{what} {expression} divides by 0 in problem '{problem}'")
    number = as_number(value)
    if number is None:
        raise PlanError(f"{what} is {value}, and that is no finite decimal")
    return number
