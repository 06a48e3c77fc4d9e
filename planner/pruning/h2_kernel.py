"""h² (Haslum and Geffner, 2000): the pairs of values that may hold together, as rows of bits.

Row w of a table is `table[w * width:(w + 1) * width]`. In a row, value v is bit `bit[v]` of word `word[v]`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import Index, Words, entry, kernel
from planner.jit.containers_kernel import Lists

DONE: Final = 0
BUSY: Final = 1
FULL: Final = 2

POSITION: Final = 0
"""Index into `number`: the operator to continue with."""
CLOCK: Final = 1
"""Index into `number`: how many times rows have grown."""
BEGAN: Final = 2
"""Index into `number`: the clock at the start of the present round."""
COUNT: Final = 3
"""Index into `number`: the number of possible pairs."""
HOW_MANY: Final = 4

LOW: Final = (1 << 63) - 1
BYTE: Final = 255


class Domains(NamedTuple):
    """The values: their places in rows, and their variables.

    Variable v has the values `first[v]` to `first[v + 1] - 1`.
    """

    word: Index
    bit: Words
    variable: Index
    first: Index


class Around(NamedTuple):
    """The values that must hold before (`here`) and after (`there`) each operator; none for a useless operator."""

    here: Lists
    there: Lists


class Gains(NamedTuple):
    """The values that operators may add: the gains `start[o]` to `start[o + 1] - 1` belong to operator o.

    Gain g adds `value[g]`. It requires list g of `here` before the operator and list g of `there` after it. List o of
    `gone` holds the values that operator o always ends.
    """

    start: Index
    value: Index
    here: Lists
    there: Lists
    gone: Lists


class Table(NamedTuple):
    """Rows by value: the `possible` and the `reached` partners; `grown` is the time at which a row last grew.

    `seen` is the time at which each operator was last applied.
    """

    possible: Words
    reached: Words
    grown: Words
    seen: Words


class Room(NamedTuple):
    """Working memory: three rows, and a mark for each gain of an operator."""

    here: Words
    there: Words
    together: Words
    valid: Index


@entry
@kernel
def init_pairs(domains: Domains, groups: Lists, table: Table) -> int:
    """Make all pairs possible except those within a variable or a mutex group; return 0."""
    word, bit, possible = domains.word, domains.bit, table.possible
    width = len(possible) // len(word)
    for value in range(len(word)):
        for other in range(len(word)):
            if value == other or domains.variable[value] != domains.variable[other]:
                possible[value * width + word[other]] |= bit[other]
    for group in range(len(groups.start) - 1):
        for at in range(groups.start[group], groups.start[group + 1]):
            value = groups.item[at] + 0
            for place in range(groups.start[group], groups.start[group + 1]):
                other = groups.item[place] + 0
                if other != value:
                    possible[value * width + word[other]] &= ~bit[other]
    return 0


@entry
@kernel
def begin_spread(start: int, number: Words, domains: Domains, around: Around, table: Table, room: Room) -> int:
    """Reach only the pairs of the states in which list `start` of `around.here` holds; return 0."""
    fitting, width = room.here, len(room.here)
    fill_row(fitting)
    for at in range(around.here.start[start], around.here.start[start + 1]):
        narrow_row(fitting, around.here.item[at] + 0, table.possible)
    for value in range(len(domains.word)):
        begins = is_inside(value, domains, fitting)
        for place in range(width):
            table.reached[value * width + place] = (
                table.possible[value * width + place] & fitting[place] if begins else 0
            )
        table.grown[value] = 0
    for operator in range(len(table.seen)):
        table.seen[operator] = -1
    number[POSITION] = number[CLOCK] = number[BEGAN] = 0
    return 0


@entry
@kernel
def spread_pairs(
    work: int, number: Words, domains: Domains, around: Around, gains: Gains, table: Table, room: Room
) -> int:
    """Apply operators to reached pairs in rounds up to a fixed point; return `DONE`, or `BUSY` after `work` steps."""
    width = len(room.here)
    operators = len(gains.start) - 1
    while True:
        while number[POSITION] < operators:
            if work < 0:
                return BUSY
            operator = number[POSITION]
            number[POSITION] = operator + 1
            work -= around.here.start[operator + 1] - around.here.start[operator] + 1
            if _is_due(operator, around, gains, table):
                table.seen[operator] = number[CLOCK]
                lists = around.here.start[operator + 1] - around.here.start[operator]
                lists += around.there.start[operator + 1] - around.there.start[operator]
                work -= width * (lists + 2 * (gains.start[operator + 1] - gains.start[operator]))
                _follow_operator(operator, number, domains, around, gains, table, room)
        if number[BEGAN] == number[CLOCK]:  # no row has grown in this round
            return DONE
        number[POSITION], number[BEGAN] = 0, number[CLOCK]


@kernel
def _is_due(operator: int, around: Around, gains: Gains, table: Table) -> bool:
    """Return whether a row that `operator` depends on has grown since its last application."""
    seen = table.seen[operator]
    for at in range(around.here.start[operator], around.here.start[operator + 1]):
        if table.grown[around.here.item[at]] > seen:
            return True
    if around.here.start[operator] == around.here.start[operator + 1]:
        return False
    first, last = gains.start[operator], gains.start[operator + 1]
    for at in range(gains.here.start[first], gains.here.start[last]):
        if table.grown[gains.here.item[at]] > seen:
            return True
    return False


@kernel
def _follow_operator(
    operator: int, number: Words, domains: Domains, around: Around, gains: Gains, table: Table, room: Room
) -> None:
    """Reach the pairs that one operator adds."""
    if not _narrow_to_list(operator, around.here, domains, table.reached, room.here):
        return
    if not _narrow_to_list(operator, around.there, domains, table.possible, room.there):
        return
    first, last = gains.start[operator] + 0, gains.start[operator + 1] + 0
    for gain in range(first, last):
        room.valid[gain - first] = 1 if _is_valid(gain, domains, gains, table, room) else 0
    for gain in range(first, last):
        if room.valid[gain - first]:
            _gather_row(operator, gain, domains, gains, table, room)
            for other in range(first, last):
                if room.valid[other - first] and _may_hold_together(gain, other, len(room.here), domains, gains, table):
                    second = gains.value[other] + 0
                    room.together[domains.word[second]] |= domains.bit[second]
            _reach_pairs(gains.value[gain] + 0, number, domains, table, room.together)


@kernel
def _gather_row(operator: int, gain: int, domains: Domains, gains: Gains, table: Table, room: Room) -> None:
    """Set `room.together` to the gain and the values that may hold after the operator together with it."""
    together, width, value = room.together, len(room.here), gains.value[gain] + 0
    for place in range(width):
        together[place] = room.here[place] & room.there[place]
    narrow_row(together, value, table.possible)
    for at in range(gains.here.start[gain], gains.here.start[gain + 1]):
        narrow_row(together, gains.here.item[at] + 0, table.reached)
    for at in range(gains.there.start[gain], gains.there.start[gain + 1]):
        narrow_row(together, gains.there.item[at] + 0, table.possible)
    for at in range(gains.gone.start[operator], gains.gone.start[operator + 1]):
        gone = gains.gone.item[at] + 0
        together[domains.word[gone]] &= ~domains.bit[gone]
    together[domains.word[value]] |= domains.bit[value]


@kernel
def narrow_row(row: Words, value: int, rows: Words) -> None:
    """Restrict `row` to values compatible with `value`."""
    width = len(row)
    for place in range(width):
        row[place] &= rows[value * width + place]


@kernel
def _narrow_to_list(operator: int, lists: Lists, domains: Domains, rows: Words, fitting: Words) -> bool:
    """Set `fitting` to the values compatible with a list of `operator`; return False if it is empty or inconsistent."""
    fill_row(fitting)
    for at in range(lists.start[operator], lists.start[operator + 1]):
        narrow_row(fitting, lists.item[at] + 0, rows)
    return lists.start[operator] != lists.start[operator + 1] and _are_inside(lists, operator, domains, fitting)


@kernel
def fill_row(row: Words) -> None:
    """Set all bits of `row`."""
    for place in range(len(row)):
        row[place] = LOW


@kernel
def _is_valid(gain: int, domains: Domains, gains: Gains, table: Table, room: Room) -> bool:
    """Return whether the requirements of a gain at both ends are compatible with each other and with the operator's."""
    value, width = gains.value[gain] + 0, len(room.here)
    return (
        is_inside(value, domains, room.there)
        and _are_inside(gains.here, gain, domains, room.here)
        and _are_inside(gains.there, gain, domains, room.there)
        and _together(value, value, width, domains, table.possible)
        and _together_with_all(value, gains.there, gain, width, domains, table.possible)
        and _all_together(gains.here, gain, gain, width, domains, table.reached)
        and _all_together(gains.there, gain, gain, width, domains, table.possible)
    )


@kernel
def _may_hold_together(gain: int, other: int, width: int, domains: Domains, gains: Gains, table: Table) -> bool:
    """Return whether two valid gains are compatible."""
    value, second = gains.value[gain] + 0, gains.value[other] + 0
    return (
        _together(value, second, width, domains, table.possible)
        and _together_with_all(value, gains.there, other, width, domains, table.possible)
        and _together_with_all(second, gains.there, gain, width, domains, table.possible)
        and _all_together(gains.here, gain, other, width, domains, table.reached)
        and _all_together(gains.there, gain, other, width, domains, table.possible)
    )


@kernel
def _all_together(lists: Lists, one: int, other: int, width: int, domains: Domains, rows: Words) -> bool:
    """Return whether each value of one list is compatible with each value of another."""
    for at in range(lists.start[one], lists.start[one + 1]):
        if not _together_with_all(lists.item[at] + 0, lists, other, width, domains, rows):
            return False
    return True


@kernel
def _together_with_all(value: int, lists: Lists, other: int, width: int, domains: Domains, rows: Words) -> bool:
    """Return whether `value` is compatible with each value of a list."""
    for at in range(lists.start[other], lists.start[other + 1]):
        if not _together(value, lists.item[at] + 0, width, domains, rows):
            return False
    return True


@kernel
def _together(one: int, other: int, width: int, domains: Domains, rows: Words) -> bool:
    """Return whether `rows` has this pair of values."""
    return rows[one * width + domains.word[other]] & domains.bit[other] != 0


@kernel
def _are_inside(lists: Lists, which: int, domains: Domains, row: Words) -> bool:
    """Return whether a row contains all values of a list."""
    for at in range(lists.start[which], lists.start[which + 1]):
        if not is_inside(lists.item[at] + 0, domains, row):
            return False
    return True


@kernel
def is_inside(value: int, domains: Domains, row: Words) -> bool:
    """Return whether a row contains a value."""
    return row[domains.word[value]] & domains.bit[value] != 0


@kernel
def _reach_pairs(value: int, number: Words, domains: Domains, table: Table, together: Words) -> None:
    """Mark the pairs of `value` and each value of `together` as reached."""
    width, clock = len(together), number[CLOCK] + 1
    for place in range(width):
        new = together[place] & ~table.reached[value * width + place]
        if new:
            number[CLOCK] = clock
            table.grown[value] = clock
            table.reached[value * width + place] |= new
            other = place * 63
            while new:
                if not new & BYTE:
                    new >>= 8
                    other += 8
                    continue
                if new & 1:
                    table.reached[other * width + domains.word[value]] |= domains.bit[value]
                    table.grown[other] = clock
                new >>= 1
                other += 1


@entry
@kernel
def finish_spread(number: Words, table: Table) -> int:
    """Keep only the reached pairs as possible, and count them; return 0."""
    count = 0
    for place in range(len(table.possible)):
        left = table.reached[place]
        table.possible[place] = left
        while left:
            left &= left - 1
            count += 1
    number[COUNT] = count
    return 0
