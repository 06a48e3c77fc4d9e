"""What the actions of a table do to mutex groups, asked of whole columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, compress
from operator import not_

from planner.grounding.tables import ActionTable, Column, Mask, either, same
from planner.model import Atom

Typed = tuple[str, Column]
"""A column with the predicate of its facts."""


class TableChanges:
    """The actions of a table, each of which deletes the same columns of what it needs.

    `adds`, `held` and `swapped` are columns: what is added, what the condition says holds, and what of that is deleted.
    """

    __slots__ = ("adds", "held", "swapped", "table")

    def __init__(self, table: ActionTable, swapped: Sequence[Column], atoms: Sequence[Atom]) -> None:
        self.table = table
        self.adds = [(atoms[column[0]].predicate, column) for column in table.adds]
        self.held = [(atoms[column[0]].predicate, column) for column in table.condition if column[0] >= 0]
        self.swapped = [(atoms[column[0]].predicate, column) for column in swapped]

    @classmethod
    def of(cls, table: ActionTable, atoms: Sequence[Atom]) -> Iterator[TableChanges]:
        """Yield the parts of `table`, split where only some rows need what they delete."""
        if not table.adds:
            return
        if all(any(column is one for one in table.condition) for column in table.deletes):
            yield cls(table, table.deletes, atoms)
            return
        masks = [_held(column, table, atoms) for column in table.deletes]
        for values, part in table.split(masks):
            yield cls(part, list(compress(part.deletes, values)), atoms)

    def suspects(self, predicates: Collection[str], group_of: Mapping[int, int]) -> Iterator[int]:
        """Yield the rows that may leave two facts in a group: those that do not swap one fact of a group for another.

        `group_of` maps each fact of `predicates` to its group.
        """
        added, swapped = _groups(self.adds, predicates, group_of), _groups(self.swapped, predicates, group_of)
        wrong = [same(one, other) for one, other in combinations(added, 2)]
        for groups in added:
            if groups in swapped:
                continue
            right = either([same(groups, other) for other in swapped])
            wrong.append([True] * len(groups) if right is None else list(map(not_, right)))
        found = either(wrong)
        if found is not None:
            yield from compress(range(len(found)), found)


def _held(column: Column, table: ActionTable, atoms: Sequence[Atom]) -> Mask:
    """Return in which rows the condition asks for the fact in `column`."""
    predicate = atoms[column[0]].predicate
    held = [one for one in table.condition if one[0] >= 0 and atoms[one[0]].predicate == predicate]
    if any(one is column for one in held):
        return [True] * len(table)
    return either([same(one, column) for one in held]) or [False] * len(table)


def clashes(
    table: ActionTable, predicates: Collection[str], group_of: Mapping[int, int], atoms: Sequence[Atom]
) -> list[list[bool]]:
    """Return masks of the rows that need two facts of a group; `group_of` is as in `suspects`."""
    held = [(atoms[column[0]].predicate, column) for column in table.condition if column[0] >= 0]
    return [same(one, other) for one, other in combinations(_groups(held, predicates, group_of), 2)]


def _groups(columns: Sequence[Typed], predicates: Collection[str], group_of: Mapping[int, int]) -> list[list[int]]:
    return [list(map(group_of.__getitem__, column)) for predicate, column in columns if predicate in predicates]
