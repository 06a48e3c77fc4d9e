"""Linear forms of ground expressions: exact weights of numeric fluents, and a constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from planner.errors import UnsupportedError
from planner.lightweight import dataclass
from planner.model.arithmetic import Exact, Key, exact_value
from planner.model.formulas import Arithmetic, Atom, Expression


class Undefined(Exception):
    """An expression has no value in any state: a function in it is undefined, or it divides by 0."""


@dataclass(frozen=True, slots=True)
class LinearForm:
    """The sum of fluents times their `weights`, none of them 0, plus `constant`."""

    weights: Mapping[Key, Fraction]
    constant: Fraction

    @property
    def identity(self) -> tuple[tuple[tuple[Key, Fraction], ...], Fraction]:
        """The weights in the order of the fluents, and the constant: equal for equal forms."""
        return tuple(sorted(self.weights.items())), self.constant

    def evaluate(self, values: Mapping[Key, Exact]) -> Fraction:
        """Return the value of the form where the fluents have these `values`."""
        return sum((weight * values[key] for key, weight in self.weights.items()), self.constant)

    @property
    def is_constant(self) -> bool:
        """Whether no fluent occurs in it."""
        return not self.weights

    def plus(self, other: LinearForm, factor: Fraction | int = 1) -> LinearForm:
        """Return this form plus `factor` times the other one."""
        weights = dict(self.weights)
        for key, weight in other.weights.items():
            weights[key] = weights.get(key, Fraction(0)) + factor * weight
        return LinearForm(
            {key: weight for key, weight in weights.items() if weight}, self.constant + factor * other.constant
        )

    def times(self, factor: Fraction) -> LinearForm:
        """Return this form times `factor`."""
        return ZERO.plus(self, factor)


ZERO = LinearForm({}, Fraction(0))


def linear_form(
    expression: Expression, binding: Mapping[str, str], value_of: Callable[[Key], Exact | bool | None]
) -> LinearForm:
    """Return the linear form of `expression` with its variables bound.

    `value_of` gives the values of static functions, True for numeric fluents, and None for what is undefined. Raises
    `Undefined`, and `UnsupportedError` for a term that is not linear.
    """
    match expression:
        case Atom(function, args):
            key = function, tuple([binding.get(arg, arg) for arg in args])
            value = value_of(key)
            if value is True:
                return LinearForm({key: Fraction(1)}, Fraction(0))
            if value is None:
                raise Undefined
            return LinearForm({}, Fraction(value))
        case Arithmetic(operator, operands):
            parts = [linear_form(each, binding, value_of) for each in operands]
            return _combine(operator, parts, expression)
        case _:
            return LinearForm({}, Fraction(exact_value(expression)))


def _combine(operator: str, parts: list[LinearForm], source: Arithmetic) -> LinearForm:
    result, *others = parts
    if operator == "-" and not others:
        return result.times(Fraction(-1))
    for part in others:
        match operator:
            case "+":
                result = result.plus(part)
            case "-":
                result = result.plus(part, -1)
            case "*" if part.is_constant:
                result = result.times(part.constant)
            case "*" if result.is_constant:
                result = part.times(result.constant)
            case "/" if part.is_constant:
                if part.constant == 0:
                    raise Undefined
                result = result.times(1 / part.constant)
            case _:
                raise UnsupportedError(f"the term {source}, which is not linear", "search takes linear terms only")
    return result
