"""Making arrays, and lengthening them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import Any, Final, get_type_hints

from planner.kernels.data import NOTHING

PIECE: Final = 1 << 16


def index(numbers: Iterable[int]) -> array[int]:
    """Return an `Index`."""
    return array("I", numbers)


def words(numbers: Iterable[int]) -> array[int]:
    """Return `Words`."""
    return array("q", numbers)


def reals(numbers: Iterable[float]) -> array[float]:
    """Return `Reals`."""
    return array("d", numbers)


def empty_index(length: int) -> array[int]:
    """Return an `Index` full of `NOTHING`."""
    return array("I", [NOTHING]) * length


def zeros(length: int) -> array[int]:
    """Return `Words` full of 0."""
    return array("q", [0]) * length


def flat(lists: Sequence[Sequence[int]]) -> tuple[array[int], array[int]]:
    """Return where each list starts (and the last one ends), and the elements of all, as two `Index`."""
    return index(accumulate(map(len, lists), initial=0)), index(chain.from_iterable(lists))


def lengthened(old: array[int], length: int) -> array[int]:
    """Return `old` itself, grown to at least `length` elements, and by a quarter at least.

    What is new in an `Index` is `NOTHING`, in `Words` 0. It grows by pieces, so that it is never in memory twice.
    """
    missing = max(length - len(old), len(old) // 4)
    piece = array(old.typecode, [NOTHING if old.typecode == "I" else 0]) * min(missing, PIECE)
    while missing > 0:
        old.extend(piece[:missing])
        missing -= len(piece)
    return old


@cache
def _kinds(record: Any) -> list[Any]:
    return list(get_type_hints(record, include_extras=True).values())


def hollow(record: Any) -> Any:
    """Return a record of the class `record` whose arrays have one element each: for kernels that do not read them."""
    return record(
        *[
            array(each.__metadata__[0], [0]) if hasattr(each, "__metadata__") else hollow(each)
            for each in _kinds(record)
        ]
    )


def size(*records: Any) -> int:
    """Return how many bytes the arrays of these records take."""
    arrays = [each for record in records for each in record]
    return sum([size(each) if isinstance(each, tuple) else len(each) * each.itemsize for each in arrays])
