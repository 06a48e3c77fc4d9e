"""What actions do to variables, as arrays."""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import Final

from planner.abstractions.moves import Moves
from planner.compiled.arrays import flat, index
from planner.kernels import projections as kernel
from planner.kernels.data import NOTHING
from planner.task import Task

MOST_VALUES: Final = 20_000
"""Values of all variables up to which pairs of them are looked at: they take 50 MB then."""


def packed_moves(task: Task, moves: Moves) -> kernel.Moves:
    """Return `moves` as arrays."""
    touches = [options for touched in moves.touches for options in touched.values()]
    options = [option for each in touches for option in each]
    condition_start, condition = flat([[variable for variable, _ in option.conditions] for option in options])
    affecting_start, affecting = flat(moves.affecting)
    return kernel.Moves(
        flat([range(len(touched)) for touched in moves.touches])[0],
        index(variable for touched in moves.touches for variable in touched),
        index(accumulate(map(len, touches), initial=0)),
        index(NOTHING if option.origin is None else option.origin for option in options),
        index(NOTHING if option.target is None else option.target for option in options),
        condition_start,
        condition,
        index(value for option in options for _, value in option.conditions),
        affecting_start,
        affecting,
        index(moves.sizes),
        index(accumulate(moves.sizes, initial=0)),
        _excluded(task, moves),
    )


def _excluded(task: Task, moves: Moves) -> array[int]:
    """Return which values are never together, a row of bits for each; nothing if there are too many."""
    first = list(accumulate(moves.sizes, initial=0))
    if first[-1] > MOST_VALUES:
        return index([])
    rows = [0] * first[-1]
    for group in task.mutexes:
        numbers = [first[place[0]] + place[1] for fact in group if (place := moves.places[fact]) is not None]
        together = sum([1 << number for number in numbers])
        for number in numbers:
            rows[number] |= together & ~(1 << number)
    width = 4 * ((first[-1] + 31) >> 5)
    found = array("I")
    found.frombytes(b"".join([row.to_bytes(width, "little") for row in rows]))
    return found
