"""The first phase of the simplex algorithm (Dantzig, 1951): it searches a non-negative solution of an equation.

At first, an artificial variable satisfies each row. Pivots reduce the sum of the artificial variables. If the minimum
is above 0, the prices of the rows prove that there is no solution: no column has a positive value at these prices, but
the right side has.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import Index, Reals, entry, kernel

OPTIMAL: Final = 0
BUSY: Final = 1
TINY: Final = 1e-9
"""Numbers below this count as 0."""


class Columns(NamedTuple):
    """Column c adds `amount[k]` to row `row[k]` for k from `start[c]` up to `start[c + 1]`."""

    start: Index
    row: Index
    amount: Reals


class Basis(NamedTuple):
    """A basic solution: as many columns as rows.

    `inverse` is the inverse of the basis matrix, row by row; `value` holds the basic variables, and `price` the price
    of each row. `left[0]` is the sum of the artificial variables.
    """

    inverse: Reals
    value: Reals
    price: Reals
    left: Reals


class Room(NamedTuple):
    """Working memory: a column in terms of the basis, and the places of the nonzero entries of a row."""

    made: Reals
    place: Index


@entry
@kernel
def step_simplex(work: int, enough: int, columns: Columns, basis: Basis, room: Room) -> int:
    """Pivot until the sum of the artificial variables, in millionths, is at most `enough`, or minimal.

    Returns `OPTIMAL`, or `BUSY` after `work` steps.
    """
    while basis.left[0] * 1e6 > float(enough):
        if work < 0:
            return BUSY
        best = _choose_column(columns, basis.price)
        if best < 0:
            break
        work -= len(columns.row)
        used = _transform_column(best, columns, basis, room.made)
        row = _choose_row(basis.value, room.made)
        if row < 0:
            break
        work -= used + _exchange_column(row, _price_column(best, columns, basis.price), basis, room)
    return OPTIMAL


@kernel
def _price_column(column: int, columns: Columns, price: Reals) -> float:
    """Return the value of a column at the present prices."""
    worth = 0.0
    for place in range(columns.start[column], columns.start[column + 1]):
        worth += price[columns.row[place]] * columns.amount[place]
    return worth


@kernel
def _choose_column(columns: Columns, price: Reals) -> int:
    """Return the column of highest value; -1 if no column has a positive value."""
    best, most = -1, TINY
    for column in range(len(columns.start) - 1):
        worth = _price_column(column, columns, price)
        if worth > most:
            best, most = column, worth
    return best


@kernel
def _transform_column(column: int, columns: Columns, basis: Basis, made: Reals) -> int:
    """Write the column in terms of the basis to `made`; return the number of steps of this work."""
    rows = len(made)
    for row in range(rows):
        made[row] = 0.0
    for place in range(columns.start[column], columns.start[column + 1]):
        at, amount = columns.row[place] + 0, columns.amount[place]
        for row in range(rows):
            made[row] += basis.inverse[row * rows + at] * amount
    return rows * (columns.start[column + 1] - columns.start[column])


@kernel
def _choose_row(value: Reals, made: Reals) -> int:
    """Return the row whose variable reaches 0 first as the column enters (ratio test); -1 if none does."""
    best, least = -1, 0.0
    for row in range(len(made)):
        if made[row] > TINY and (best < 0 or value[row] < least * made[row]):
            best, least = row, value[row] / made[row]
    return best


@kernel
def _exchange_column(row: int, worth: float, basis: Basis, room: Room) -> int:
    """Exchange the column of `row` for `room.made`, of value `worth`; return the number of steps of this work."""
    made, inverse, rows = room.made, basis.inverse, len(room.made)
    count, first = 0, row * rows
    for at in range(rows):
        share = inverse[first + at]
        if abs(share) > TINY:
            inverse[first + at] = share / made[row]
            room.place[count] = at
            count += 1
        else:
            inverse[first + at] = 0.0
    often = basis.value[row] / made[row]
    basis.value[row] = often
    work = rows
    for other in range(rows):
        factor = made[other]
        if other != row and abs(factor) > TINY:
            basis.value[other] = max(basis.value[other] - often * factor, 0.0)
            for k in range(count):
                inverse[other * rows + room.place[k]] -= factor * inverse[first + room.place[k]]
            work += count
    for k in range(count):
        basis.price[room.place[k]] -= worth * inverse[first + room.place[k]]
    basis.left[0] -= worth * often
    return work
