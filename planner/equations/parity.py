"""Whether whole numbers may solve an equation: even and odd ones are all that is looked at."""

from __future__ import annotations

from planner.equations.columns import Column, Equation


def is_odd(equation: Equation) -> bool:
    """Return whether no whole numbers, negative ones included, solve the equation modulo 2 (elimination by Gauss)."""
    leading: dict[int, int] = {}
    for column in equation.columns:
        left = _reduced(_bits(column), leading)
        if left:
            leading[left.bit_length()] = left
    return _reduced(_bits(equation.right), leading) != 0


def _bits(column: Column) -> int:
    return sum([1 << row for row, amount in column if amount % 2])


def _reduced(bits: int, leading: dict[int, int]) -> int:
    """Return what is left of `bits` when `leading` columns, by their lengths, are added where they are as long."""
    while bits and (other := leading.get(bits.bit_length())):
        bits ^= other
    return bits
