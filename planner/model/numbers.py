"""Exact numbers: costs and utilities are ints where integral and decimals elsewhere, never floats."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

from planner.annotations import Any, Final

Number = int | Decimal

LIMIT: Final = 10**18
"""Numbers stay below this, so that sums of costs fit into 64 bits."""
DIGITS: Final = 28
"""Significant digits that decimal arithmetic keeps exactly."""


def exact_number(value: Any, resolution: Decimal | None = None) -> Number:
    """Return `value` exactly: an int where it is integral, else a `Decimal`; a multiple of `resolution` if given.

    A float is taken only with a resolution, since what it stands for is rarely what was meant. Raises `ValueError`
    with the reason for anything that is no finite number, is 10^18 or more, or has more than 28 digits.
    """
    if type(value) is int and resolution is None and -LIMIT < value < LIMIT:
        return value
    if isinstance(value, float) and resolution is None:
        raise ValueError(f"{value!r} is a float, which is not exact: write Decimal('{value!r}'), or give a resolution")
    number = exact_decimal(value)
    if resolution is not None:
        number = (number / resolution).to_integral_value(ROUND_HALF_EVEN) * resolution
    return int(number) if number == number.to_integral_value() else number.normalize()


def exact_resolution(value: Any) -> Decimal:
    """Return a resolution (`0.01`, `"0.01"`, …) as a positive decimal, or raise `ValueError`."""
    resolution = exact_decimal(value)
    if resolution <= 0:
        raise ValueError(f"a resolution is positive, not {value!r}")
    return resolution


def exact_decimal(value: Any) -> Decimal:
    """Return `value` as a decimal; a float as the shortest decimal that it prints as. Raises `ValueError`."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise ValueError(f"{value!r} is not a number")  # noqa: TRY004 - one kind of error for all bad numbers
    if isinstance(value, int) and abs(value) >= LIMIT:
        raise ValueError("a number of 10^18 or more is out of range")
    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        raise ValueError(f"{value!r} is not a number") from None
    if not number.is_finite():
        raise ValueError(f"{value} is not a finite number")
    if number and number.adjusted() >= 18:
        raise ValueError("a number of 10^18 or more is out of range")
    if number and (number.adjusted() < -DIGITS or len(number.as_tuple().digits) > DIGITS):
        raise ValueError(f"a number has at most {DIGITS} digits")
    return number
