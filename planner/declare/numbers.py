"""Numbers of a declaration: errors of `planner.model.numbers`, told at the place of declaration."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from planner.declare.places import Place
from planner.model import Number
from planner.model.numbers import exact_decimal, exact_number, exact_resolution

_ROUNDING: Final = Decimal("1e-9")
"""How far the sum of probabilities written as floats may be from 1."""
_NEVER: Final = Decimal(0)


def number(value: Any, what: str, place: Place, resolution: Decimal | None = None) -> Number:
    """Return `value` exactly, and never negative."""
    try:
        found = exact_number(value, resolution)
    except ValueError as error:
        raise place.error(f"{what}: {error}") from None
    if found < 0:
        raise place.error(f"{what} is {found}, but may not be negative")
    return found


def resolution_of(value: Any, place: Place) -> Decimal | None:
    """Return a resolution as a decimal; None stays None."""
    try:
        return None if value is None else exact_resolution(value)
    except ValueError as error:
        raise place.error(str(error)) from None


def decimal(value: Any, what: str, place: Place) -> Decimal:
    """Return `value` as a decimal that is not negative; floats are taken as they print."""
    try:
        found = exact_decimal(value)
    except ValueError as error:
        raise place.error(f"{what}: {error}") from None
    if found < 0:
        raise place.error(f"{what} is {found}, but may not be negative")
    return found


def risk(value: Any, place: Place) -> Decimal:
    """Return a probability below 1."""
    if type(value) is int and value == 0:
        return _NEVER
    found = decimal(value, "the risk", place)
    if found >= 1:
        raise place.error(f"the risk is {found}; it must be below 1, or the action never works")
    return found


def check_distribution(probabilities: Iterable[Decimal], place: Place) -> None:
    """Raise an error unless `probabilities` are positive and sum to 1."""
    found = tuple(probabilities)
    if any(not 0 < each <= 1 for each in found):
        wrong = next(each for each in found if not 0 < each <= 1)
        raise place.error(f"the probability of an outcome is {wrong}; it must be above 0 and at most 1")
    if found and abs(sum(found, Decimal(-1))) > _ROUNDING:
        raise place.error(f"the probabilities of the outcomes sum to {sum(found, Decimal(0))}, not to 1")
