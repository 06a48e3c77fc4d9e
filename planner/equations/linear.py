"""Whether numbers that are not negative may solve an equation: weights of its rows show that none do.

If no column weighs more than nothing, and the right side does, no columns add up to it (Farkas, 1902). The weights are
found with floating-point numbers, made whole numbers, and checked as such.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Sequence
from fractions import Fraction
from random import Random

from planner.annotations import Final
from planner.compiled.arrays import flat, index, reals
from planner.compiled.lists import Entries
from planner.equations.columns import Column, Equation
from planner.kernels import simplex as kernel

MOST_ROWS: Final = 1_000
"""Rows up to which it is tried: they take 8 MB then."""
WORK: Final = 5_000_000
"""Steps of inner loops between two pauses: about 10 ms."""
SHIFT: Final = 1e-7
"""By about so much each row is changed at random, so that no two of them are satisfied at once."""
ENOUGH: Final = 1_000
"""Millionths that may be left of a solution: those changes come to less."""
MOST_PARTS: Final = 1_000
"""Weights are taken to be of no more parts of one than so many."""


def weights(
    equation: Equation, entries: Entries, seconds: float, *, work: int = WORK
) -> Generator[None, None, list[int] | None]:
    """Return weights of the rows that show that nothing solves the equation; None where none were found in time."""
    if not equation.right or not 0 < equation.rows <= MOST_ROWS:
        return None
    signs = [1.0] * equation.rows
    for row, amount in equation.right:
        signs[row] = -1.0 if amount < 0 else 1.0
    columns, basis, room = _columns(equation, signs), _basis(equation), _room(equation.rows)
    until = time.thread_time() + seconds
    while entries["simplex_step"](work, ENOUGH, columns, basis, room) == kernel.BUSY:
        if time.thread_time() > until:
            return None
        yield
    found = _whole([price * sign for price, sign in zip(basis.price, signs, strict=True)])
    return found if shows(equation, found) else None


def shows(equation: Equation, weights: Sequence[int]) -> bool:
    """Return whether `weights` show that nothing solves the equation."""
    return _weight(equation.right, weights) > 0 and all(_weight(each, weights) <= 0 for each in equation.columns)


def _weight(column: Column, weights: Sequence[int]) -> int:
    return sum([weights[row] * amount for row, amount in column])


def _whole(found: Sequence[float]) -> list[int]:
    """Return weights as whole numbers."""
    parts = [Fraction(each).limit_denominator(MOST_PARTS) for each in found]
    scale = math.lcm(*[each.denominator for each in parts])
    return [int(each * scale) for each in parts]


def _columns(equation: Equation, signs: Sequence[float]) -> kernel.Columns:
    start, rows = flat([[row for row, _ in column] for column in equation.columns])
    amounts = reals([amount * signs[row] for column in equation.columns for row, amount in column])
    return kernel.Columns(start, rows, amounts)


def _basis(equation: Equation) -> kernel.Basis:
    """Return the basis of artificial columns only."""
    rows, rng = equation.rows, Random(0)  # noqa: S311 - nothing is to be kept secret
    value = reals([SHIFT * (1 + rng.random()) for _ in range(rows)])
    for row, amount in equation.right:
        value[row] += abs(amount)
    inverse = reals([0.0]) * (rows * rows)
    for row in range(rows):
        inverse[row * rows + row] = 1.0
    return kernel.Basis(inverse, value, reals([1.0]) * rows, reals([sum(value)]))


def _room(rows: int) -> kernel.Room:
    return kernel.Room(reals([0.0]) * rows, index([0]) * rows)
