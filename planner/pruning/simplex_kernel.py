"""The simplex algorithm (Dantzig, 1951), its first phase: whether numbers that are not negative solve an equation.

At first, each row is satisfied by an artificial number of its own; what they come to in all is made less, column by
column. If that ends above 0, the prices of the rows show why: no column is worth anything at them, but the right side
is.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import Index, Reals, entry, kernel

OPTIMAL: Final = 0
BUSY: Final = 1
TINY: Final = 1e-9
"""What is less than this is taken to be nothing."""


class Columns(NamedTuple):
    """Column c adds `amount[k]` to row `row[k]` for k from `start[c]` up to `start[c + 1]`."""

    start: Index
    row: Index
    amount: Reals


class Basis(NamedTuple):
    """A solution of the rows by as many columns.

    `inverse` is the inverse of the matrix that these are, row by row; `value` has how often each is taken, `price`
    what a row is worth. `left`, of one element, is what the artificial numbers come to.
    """

    inverse: Reals
    value: Reals
    price: Reals
    left: Reals


class Room(NamedTuple):
    """Room for a column as the basis makes it, and for the places in a row that are not 0."""

    made: Reals
    place: Index


@entry
@kernel
def step_simplex(work: int, enough: int, columns: Columns, basis: Basis, room: Room) -> int:
    """Exchange columns until what is left, in millionths, is not more than `enough`, or cannot be less.

    Returns `OPTIMAL`, or `BUSY` after so much `work`.
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
    """Return what a column is worth."""
    worth = 0.0
    for place in range(columns.start[column], columns.start[column + 1]):
        worth += price[columns.row[place]] * columns.amount[place]
    return worth


@kernel
def _choose_column(columns: Columns, price: Reals) -> int:
    """Return the column that is worth most; -1 where none is worth anything."""
    best, most = -1, TINY
    for column in range(len(columns.start) - 1):
        worth = _price_column(column, columns, price)
        if worth > most:
            best, most = column, worth
    return best


@kernel
def _transform_column(column: int, columns: Columns, basis: Basis, made: Reals) -> int:
    """Make `made` the column as the basis makes it; return how much work that was."""
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
    """Return the row whose column is at 0 first when `made` is taken; -1 where none is."""
    best, least = -1, 0.0
    for row in range(len(made)):
        if made[row] > TINY and (best < 0 or value[row] < least * made[row]):
            best, least = row, value[row] / made[row]
    return best


@kernel
def _exchange_column(row: int, worth: float, basis: Basis, room: Room) -> int:
    """Take the column `room.made`, which is `worth` so much, in place of that of `row`; return how much work it was."""
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
