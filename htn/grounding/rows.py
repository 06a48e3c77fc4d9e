"""Ground actions and methods as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter, le

from planner.compiled.arrays import index
from planner.compiled.lists import Entries, extend, of_columns, selected
from planner.grounding.finish import Numbering
from planner.grounding.instantiate import RawAction
from planner.grounding.joins import Row
from planner.grounding.simplify import RawTask
from planner.grounding.tables import ActionTable
from planner.kernels.lists import Lists
from planner.model import Action, Number
from planner.task import ConditionalEffect


class Rows:
    """Ground actions of several schemas: `source[kind[i]]` is the schema of number i, `number[i]` that instance.

    By list i: what it `needs`, `adds` and `deletes`; those with a conditional effect have it in `conditional`.
    """

    def __init__(self, numbers: Numbering) -> None:
        self._numbers = numbers
        self.source: list[Action] = []
        self.kind, self.number = index([]), index([])
        self.arguments: list[Row] = []
        self.costs: list[Number] = []
        self.needs, self.adds, self.deletes = (Lists(index([0]), index([])) for _ in range(3))
        self.conditional: dict[int, tuple[ConditionalEffect, ...]] = {}

    def __len__(self) -> int:
        return len(self.number)

    def take(self, table: ActionTable) -> None:
        """Add the rows of `table`."""
        literals = self._numbers.literals
        for lists, columns in ((self.needs, table.condition), (self.adds, table.adds), (self.deletes, table.deletes)):
            extend(lists, of_columns(len(table), [list(map(literals.__getitem__, column)) for column in columns]))
        self.number.extend(index(table.numbers))
        self.arguments += table.arguments
        self.costs += table.costs
        self._take_source(table.action, len(table))

    def take_one(self, raw: RawAction) -> None:
        """Add one action; effects on facts that do not matter are left out."""
        known = self._numbers.literals
        if raw.effects:
            self.conditional[len(self)] = tuple(
                [
                    ConditionalEffect(
                        self._numbers(each.condition), self._mattering(each.adds), self._mattering(each.deletes)
                    )
                    for each in raw.effects
                ]
            )
        for lists, facts in ((self.needs, raw.condition), (self.adds, raw.adds), (self.deletes, raw.deletes)):
            lists.item.extend([known[fact] for fact in facts if fact in known])
            lists.start.append(len(lists.item))
        self.number.append(raw.number)
        self.arguments.append(raw.arguments)
        self.costs.append(raw.cost)
        self._take_source(raw.action, 1)

    def _mattering(self, facts: Sequence[int]) -> tuple[int, ...]:
        known = self._numbers.literals
        return self._numbers([fact for fact in facts if fact in known])

    def _take_source(self, action: Action, times: int) -> None:
        if not self.source or self.source[-1] is not action:
            self.source.append(action)
        self.kind.extend(index([len(self.source) - 1]) * times)

    def ordered(self, facts: int, entries: Entries) -> None:
        """Put them in the order of the instances."""
        number = self.number
        if all(map(le, number, number[1:])):
            return
        order = sorted(range(len(number)), key=number.__getitem__)
        which, same = index(order), index(range(facts))
        self.needs, self.adds, self.deletes = (
            selected(lists, which, same, entries) for lists in (self.needs, self.adds, self.deletes)
        )
        pick = itemgetter(*order)  # two at least, or they were in order
        self.number, self.kind = index(pick(number)), index(pick(self.kind))
        self.arguments, self.costs = list(pick(self.arguments)), list(pick(self.costs))
        place = {old: new for new, old in enumerate(order)}
        self.conditional = {place[old]: effects for old, effects in self.conditional.items()}


def rows_of(
    task: RawTask,
    is_method: Callable[[Action], bool],
    numbers: Numbering,
    entries: Entries,
    check: Callable[[], None],
) -> tuple[Rows, Rows]:
    """Return the actions of `task` and, in their order, its methods, over facts by their `numbers`.

    `check` raises when a limit is reached meanwhile.
    """
    found = Rows(numbers), Rows(numbers)
    pieces: list[tuple[int, RawAction | ActionTable]] = [(action.number, action) for action in task.actions]
    pieces += [(table.numbers[0], table) for table in task.tables]
    for _, piece in sorted(pieces, key=itemgetter(0)):
        rows = found[is_method(piece.action)]
        if isinstance(piece, RawAction):
            rows.take_one(piece)
            continue
        check()
        for part in piece.cut(_holes(piece, numbers)):
            rows.take(part)
    found[True].ordered(len(numbers.literals), entries)
    return found


def _holes(table: ActionTable, numbers: Numbering) -> dict[int, list[bool]]:
    """Return where effects are on facts that do not matter."""
    known, first = numbers.literals, len(table.condition)
    masks = {
        place: [fact not in known for fact in column]
        for place, column in enumerate([*table.adds, *table.deletes], start=first)
    }
    return {place: mask for place, mask in masks.items() if True in mask}
