"""Values of numeric fluents as facts: `fuel(r2) = 41.7` holds or does not, as `at(r2, hall)` does.

So the beliefs of a run, its observations, reports, events and questions treat numbers as they treat facts: a fluent is
an item that has one value at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any, Final

from planner.language.declare.atom_syntax import NotationError, parse_atom, reading_quoted
from planner.model import OPEN, Atom, DomainModel, Number, Variable
from planner.model.arithmetic import Exact, Key, exact_value, show_number
from planner.model.domain import numeric_fluents

_DECIMAL: Final = re.compile(r"[+-]?\d{1,400}(\.\d{1,400})?\Z")
UNDEFINED: Final = "undefined"
"""The last argument of a fluent that has no value."""


class FluentValue(Atom):
    """The fact that a numeric fluent has a value: the last argument, as text; `_` stands for any value."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return FluentValue, (self.predicate, self.args)

    @property
    def key(self) -> Key:
        """The function and its arguments."""
        return self.predicate, self.args[:-1]

    @property
    def fluent(self) -> Atom:
        """The fluent."""
        return Atom(*self.key)

    @property
    def value(self) -> Exact | None:
        """The value; None where it is undefined or open."""
        text = self.args[-1]
        return None if text in (UNDEFINED, OPEN) else exact_value(Fraction(text))

    def is_near(self, other: FluentValue, tolerance: Number) -> bool:
        """Return whether this value and that of `other` differ by at most `tolerance`; undefined is near nothing."""
        if self.value is None or other.value is None:
            return False
        limit = Fraction(tolerance)
        return -limit <= self.value - other.value <= limit

    @property
    def any(self) -> FluentValue:
        """The pattern of all values of the fluent."""
        return FluentValue(self.predicate, (*self.args[:-1], OPEN))

    def substitute(self, binding: Any) -> FluentValue:
        """Return the fact with its terms replaced where `binding` has them; the value stays."""
        return FluentValue(self.predicate, (*[binding.get(arg, arg) for arg in self.args[:-1]], self.args[-1]))

    def matches(self, fact: Atom) -> bool:
        """Return whether this pattern covers `fact`, which is a value, too."""
        return isinstance(fact, FluentValue) and Atom.matches(self, fact)

    def __str__(self) -> str:
        return f"{self.fluent} = {self.args[-1]}"


def value_of(key: Key, value: Exact | None) -> FluentValue:
    """Return the fact that the fluent `key` has this value; None is undefined."""
    return FluentValue(key[0], (*key[1], show_number(value)))


def pattern_of(fluent: Atom) -> FluentValue:
    """Return the pattern of all values of `fluent`."""
    return FluentValue(fluent.predicate, (*fluent.args, OPEN))


def read_number(value: Any) -> Exact | None:
    """Return a number that came from outside, exactly: a float as its shortest decimal; None for anything else.

    Texts of decimals are numbers, since databases and JSON give exact ones so.
    """
    match value:
        case bool():
            return None
        case int():
            return value
        case Decimal() if value.is_finite():
            return exact_value(value)
        case Fraction():
            return exact_value(value)
        case float() if isfinite(value):
            return exact_value(Fraction(repr(value)))
        case str() if _DECIMAL.match(value):
            return exact_value(Fraction(value))
        case _:
            return None


@reading_quoted
def parse_fact(text: str) -> Atom:
    """Parse `at(r1, hall)` or `fuel(r2) = 41.7`; raises `NotationError`."""
    name, equals, number = text.partition("=")
    if not equals or ")" in number:
        return parse_atom(text)
    atom = parse_atom(name.strip())
    try:
        return value_of((atom.predicate, atom.args), exact_value(Fraction(number.strip())))
    except (ValueError, ZeroDivisionError):
        problem = f"{number.strip()!r} is no number"
        raise NotationError(problem, "a value is written fuel(r2) = 41.7") from None


def places_of(fact: Atom, domain: DomainModel) -> Iterator[tuple[str, Variable]]:
    """Yield the arguments of `fact` that are objects, with their declared parameters."""
    if isinstance(fact, FluentValue):
        return zip(fact.args[:-1], domain.functions[fact.predicate].parameters, strict=True)
    return zip(fact.args, domain.predicates[fact.predicate].parameters, strict=True)


def item_of(fact: Atom) -> Atom:
    """Return what `fact` says something about: the pattern of all values of a fluent, any other fact itself."""
    return fact.any if isinstance(fact, FluentValue) else fact


def is_numeric_fluent(name: str, domain: DomainModel) -> bool:
    """Return whether `name` is a function that some action changes."""
    return name in domain.functions and name in numeric_fluents(domain)
