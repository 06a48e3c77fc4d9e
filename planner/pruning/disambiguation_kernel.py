"""Disambiguation (Alcázar and Torralba, 2015): if mutexes exclude all values of a variable but one, that one holds."""

from __future__ import annotations

from typing import NamedTuple

from planner.jit.common_kernel import NOTHING, Index, Words, entry, kernel
from planner.jit.containers_kernel import Lists
from planner.pruning.h2_kernel import (
    BUSY,
    DONE,
    FULL,
    POSITION,
    Around,
    Domains,
    Gains,
    fill_row,
    is_inside,
    narrow_row,
)


class Margin(NamedTuple):
    """Knowledge about one end of an operator.

    `fitting` is the row of values compatible with the known ones. The value of a variable is known if `known` holds the
    operator's number.
    """

    fitting: Words
    known: Index


class Margins(NamedTuple):
    """Knowledge about both ends of an operator; it may change a variable if `touched` holds the operator's number."""

    here: Margin
    there: Margin
    touched: Index


@entry
@kernel
def sharpen_pairs(
    work: int,
    number: Words,
    domains: Domains,
    old: Around,
    new: Around,
    gains: Gains,
    possible: Words,
    margins: Margins,
) -> int:
    """Extend the values that must hold around each operator from `old` to `new`; `gains` are the forward ones.

    Returns `DONE`, `BUSY` after `work` steps, or `FULL` if the arrays of `new` are too short.
    """
    variables = len(domains.first) - 1
    if number[POSITION] == 0:
        for variable in range(variables):
            margins.here.known[variable] = margins.there.known[variable] = margins.touched[variable] = NOTHING
    while number[POSITION] < len(gains.start) - 1:
        operator = number[POSITION]
        least = max(new.here.start[operator], new.there.start[operator]) + variables
        if least > min(len(new.here.item), len(new.there.item)):
            return FULL
        if work < 0:
            return BUSY
        _sharpen_operator(operator, domains, old, new, gains, possible, margins)
        work -= 4 * len(domains.word)
        number[POSITION] = operator + 1
    number[POSITION] = 0
    return DONE


@kernel
def _sharpen_operator(
    operator: int, domains: Domains, old: Around, new: Around, gains: Gains, possible: Words, margins: Margins
) -> None:
    """Extend the values that must hold before and after one operator."""
    here, there = new.here.start[operator] + 0, new.there.start[operator] + 0
    new.here.start[operator + 1], new.there.start[operator + 1] = here, there
    if old.here.start[operator] == old.here.start[operator + 1]:
        return
    for gain in range(gains.start[operator], gains.start[operator + 1]):
        margins.touched[domains.variable[gains.value[gain]]] = operator
    fill_row(margins.here.fitting)
    fill_row(margins.there.fitting)
    end_here = _take_list(operator, domains, old.here, possible, margins.here, new.here, here)
    end_there = _take_list(operator, domains, old.there, possible, margins.there, new.there, there)
    # a forced value at one end also holds at the other unless the operator changes it: repeat to the fixed point
    seen_here, seen_there, before = here, there, -1
    while max(end_here, end_there) != NOTHING and before != end_here + end_there:
        before = end_here + end_there
        end_here = _take_forced(operator, domains, possible, margins.here, new.here, end_here)
        end_there = _take_kept(
            operator,
            domains,
            possible,
            margins.touched,
            new.here,
            seen_here,
            end_here,
            margins.there,
            new.there,
            end_there,
        )
        seen_here = end_here
        end_there = _take_forced(operator, domains, possible, margins.there, new.there, end_there)
        end_here = _take_kept(
            operator,
            domains,
            possible,
            margins.touched,
            new.there,
            seen_there,
            end_there,
            margins.here,
            new.here,
            end_here,
        )
        seen_there = end_there
    if max(end_here, end_there) != NOTHING:
        new.here.start[operator + 1], new.there.start[operator + 1] = end_here, end_there


@kernel
def _take_list(
    operator: int, domains: Domains, old: Lists, possible: Words, margin: Margin, new: Lists, end: int
) -> int:
    """Add all values of the `old` list; return the new end of `new`, or `NOTHING` on a contradiction."""
    for at in range(old.start[operator], old.start[operator + 1]):
        end = _take_value(old.item[at] + 0, operator, domains, possible, margin, new, end)
    return end


@kernel
def _take_kept(
    operator: int,
    domains: Domains,
    possible: Words,
    touched: Index,
    other: Lists,
    seen: int,
    until: int,
    margin: Margin,
    new: Lists,
    end: int,
) -> int:
    """Add the values at the other end that the operator keeps; return as `_take_list` does."""
    if until == NOTHING:
        return NOTHING
    for at in range(seen, until):
        value = other.item[at] + 0
        if touched[domains.variable[value]] != operator:
            end = _take_value(value, operator, domains, possible, margin, new, end)
    return end


@kernel
def _take_value(
    value: int, operator: int, domains: Domains, possible: Words, margin: Margin, new: Lists, end: int
) -> int:
    """Add a value that must hold; return as `_take_list` does."""
    if end == NOTHING or not is_inside(value, domains, margin.fitting):
        return NOTHING
    variable = domains.variable[value]
    if margin.known[variable] == operator:
        return end
    margin.known[variable] = operator
    new.item[end] = value
    narrow_row(margin.fitting, value, possible)
    return end + 1 if is_inside(value, domains, margin.fitting) else NOTHING


@kernel
def _take_forced(operator: int, domains: Domains, possible: Words, margin: Margin, new: Lists, end: int) -> int:
    """Add the only compatible values of their variables; return as `_take_list` does."""
    for variable in range(len(domains.first) - 1):
        if end == NOTHING:
            return NOTHING
        if margin.known[variable] == operator:
            continue
        last, many = 0, 0
        for value in range(domains.first[variable] + 0, domains.first[variable + 1] + 0):
            if is_inside(value, domains, margin.fitting):
                last = value
                many += 1
                if many > 1:
                    break
        if many == 0:
            return NOTHING
        if many == 1:
            end = _take_value(last, operator, domains, possible, margin, new, end)
    return end
