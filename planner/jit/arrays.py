"""Makes, lengthens and fills the arrays that kernels work on, and lists of lists in flat arrays."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import Any, Final, TypeAlias, get_type_hints

from planner.jit.common_kernel import NOTHING
from planner.jit.containers_kernel import Lists
from planner.limits import under_limits
from planner.task.packed_facts_kernel import Changes, Conditions, Places

PIECE: Final = 1 << 16


def index(numbers: Iterable[int]) -> array[int]:
    """Return an `Index`; look at the limits in force while an iterator gives the numbers."""
    return array("I", under_limits(numbers) if isinstance(numbers, Iterator) else numbers)


def words(numbers: Iterable[int]) -> array[int]:
    """Return `Words`; look at the limits in force while an iterator gives the numbers."""
    return array("q", under_limits(numbers) if isinstance(numbers, Iterator) else numbers)


def reals(numbers: Iterable[float]) -> array[float]:
    """Return `Reals`."""
    return array("d", numbers)


def empty_index(length: int) -> array[int]:
    """Return an `Index` full of `NOTHING`."""
    return array("I", [NOTHING]) * length


def zeros(length: int) -> array[int]:
    """Return `Words` full of 0."""
    return array("q", [0]) * length


def flatten(lists: Sequence[Sequence[int]]) -> tuple[array[int], array[int]]:
    """Return where each list starts (and the last one ends), and the elements of all, as two `Index`."""
    return index(accumulate(map(len, lists), initial=0)), index(chain.from_iterable(lists))


def lengthen(old: array[int], length: int) -> array[int]:
    """Lengthen `old` in place to at least `length` elements, by a quarter at least, and return it.

    New elements of an `Index` are `NOTHING`, of `Words` 0. The array grows by pieces, and so is never in memory twice.
    """
    missing = max(length - len(old), len(old) // 4)
    piece = array(old.typecode, [NOTHING if old.typecode == "I" else 0]) * min(missing, PIECE)
    while missing > 0:
        old.extend(piece[:missing])
        missing -= len(piece)
    return old


def double_used(record: Any, used: dict[str, int]) -> None:
    """Double the arrays of `record` that are half `used` or more, by field; if none is, double all of these fields."""
    short = [name for name, many in used.items() if 2 * many >= len(getattr(record, name))]
    for name in short or used:
        lengthen(getattr(record, name), 2 * len(getattr(record, name)))


@cache
def _kinds(record: Any) -> list[Any]:
    return list(get_type_hints(record, include_extras=True).values())


def make_hollow(record: Any, length: int = 1) -> Any:
    """Return a record whose arrays have one element each, or `length`, for kernels that do not read them."""
    return record(
        *[
            array(each.__metadata__[0], [0]) * length if hasattr(each, "__metadata__") else make_hollow(each, length)
            for each in _kinds(record)
        ]
    )


def count_bytes(*records: Any) -> int:
    """Return the number of bytes of all arrays in these records."""
    arrays = [each for record in records for each in record]
    return sum([count_bytes(each) if isinstance(each, tuple) else len(each) * each.itemsize for each in arrays])


Entries: TypeAlias = Mapping[str, Callable[..., int]]


def zip_columns(rows: int, columns: Sequence[Iterable[int]]) -> Lists:
    """Return `rows` lists, each with one item from each of the `columns`."""
    many = len(columns)
    item = array("I", bytes(4 * rows * many))
    for place, column in enumerate(columns):
        item[place::many] = array("I", column)
    return Lists(index(range(0, many * rows + 1, many)) if many else index([0]) * (rows + 1), item)


def make_lists(lists: int, items: int) -> Lists:
    """Return so many empty `lists`, with room for `items` in all of them."""
    return Lists(index([0]) * (lists + 1), index([0]) * items)


def join_lists(parts: Iterable[Lists]) -> Lists:
    """Return the lists of all `parts`, in this order."""
    made = Lists(index([0]), index([]))
    for part in parts:
        extend_lists(made, part)
    return made


def extend_lists(lists: Lists, more: Lists) -> None:
    """Add `more` lists, in place."""
    before = len(lists.item)
    lists.start.extend(index([before + end for end in more.start[1:]]) if before else more.start[1:])
    lists.item.extend(more.item)


def invert(lists: Lists, many: int, entries: Entries) -> Lists:
    """Return for each number below `many` the lists that have it."""
    made = make_lists(many, len(lists.item))
    entries["invert_lists"](lists, made)
    return made


def wrap_items(items: array[int]) -> Lists:
    """Return lists of one item each."""
    return Lists(index(range(len(items) + 1)), items)


def select(lists: Lists, which: array[int], name: array[int], entries: Entries) -> Lists:
    """Return the lists numbered `which`, each item replaced by its `name`, or left out where that is `NOTHING`."""
    start = lists.start
    made = make_lists(len(which), sum([start[each + 1] - start[each] for each in which]))
    del made.item[entries["select_lists"](lists, which, name, made) :]
    return made


def list_of(lists: Lists, number: int) -> array[int]:
    """Return one of the lists."""
    return lists.item[lists.start[number] : lists.start[number + 1]]


def pack_conditions(lists: Lists, places: Places, entries: Entries) -> Conditions:
    """Return one conjunction for each list: all of its facts hold."""
    most = len(lists.item)
    made = Conditions(index([0]) * len(lists.start), index([0]) * most, words([0]) * most, words([0]) * most)
    count = entries["pack_conditions"](lists, places, made)
    return Conditions(made.start, made.word[:count], made.mask[:count], made.bits[:count])


def pack_assignments(
    needs: Lists, adds: Lists, deletes: Lists, places: Places, entries: Entries
) -> tuple[Changes, Lists]:
    """Return the unconditional assignments of actions, and by action the deletes that depend on the state."""
    actions, most = len(adds.start) - 1, len(adds.item) + len(deletes.item)
    made = Changes(index([0]) * (actions + 1), index([0]) * most, words([0]) * most, words([0]) * most)
    unsure = make_lists(actions, len(deletes.item))
    count = entries["pack_assignments"](needs, adds, deletes, places, made, unsure)
    del unsure.item[unsure.start[-1] :]
    return Changes(made.start, made.word[:count], made.keep[:count], made.put[:count]), unsure
