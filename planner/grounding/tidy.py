"""What `simplify` does to actions one by one, done to tables of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from operator import invert

from planner.grounding.literals import Literal
from planner.grounding.tables import ActionTable, Column, Mask, either, members, same
from planner.model import Atom


def tidied(table: ActionTable, atoms: Sequence[Atom]) -> Iterator[ActionTable]:
    """Yield `table` without actions that contradict themselves and without effects that change nothing.

    An effect changes nothing where the condition says that it holds, or another effect; adding wins over deleting.
    """
    condition, columns = table.condition, table.columns
    places = range(len(columns))
    added, deleted = len(condition), len(condition) + len(table.adds)
    kinds = [_predicate(column, atoms) for column in columns]
    dead: list[Mask] = []
    holes: dict[int, list[Mask]] = {}
    for one, other in combinations(places, 2):
        if kinds[one] != kinds[other]:
            continue
        opposite = one < added and columns[one][0] < 0
        if other < added and (columns[other][0] < 0) is not opposite:
            dead.append(_opposite(columns[one], columns[other]))
        elif opposite and other >= deleted:
            holes.setdefault(other, []).append(_opposite(columns[one], columns[other]))
        elif opposite is (other < added and columns[other][0] < 0) and not (one < added and other >= deleted):
            holes.setdefault(other, []).append(same(columns[one], columns[other]))
    found = {place: mask for place, masks in holes.items() if (mask := either(masks)) is not None}
    return _changing(table.cut(found, either(dead)))


def _predicate(column: Column, atoms: Sequence[Atom]) -> str:
    literal = column[0]
    return atoms[literal if literal >= 0 else ~literal].predicate


def _opposite(one: Column, other: Column) -> Mask:
    return same(one, list(map(invert, other)))


def without_constants(
    table: ActionTable, constant: set[Literal], impossible: set[Literal], fixed: set[Literal]
) -> Iterator[ActionTable]:
    """Yield `table` without what always holds and without actions that can never apply.

    `impossible` are the opposites of `constant`, `fixed` are both.
    """
    dead: list[Mask] = []
    holes: dict[int, Mask] = {}
    deleted = len(table.condition) + len(table.adds)
    for place, column in enumerate(table.columns):
        if not fixed.isdisjoint(column):
            gone = members(column, impossible if place >= deleted else constant)
            if True in gone:
                holes[place] = gone
            if place < len(table.condition):
                dead.append(members(column, impossible))
    return _changing(table.cut(holes, either(dead)))


def _changing(tables: Iterator[ActionTable]) -> Iterator[ActionTable]:
    return (table for table in tables if table.adds or table.deletes)
