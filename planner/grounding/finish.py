"""Raw actions become those of the task: facts have their final numbers, costs are exact and integral."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, repeat
from operator import itemgetter, lt

from planner.budget import Budget
from planner.grounding.costs import common_resolution
from planner.grounding.instantiate import RawAction
from planner.grounding.joins import batches
from planner.grounding.literals import Literal
from planner.grounding.simplify import RawTask
from planner.grounding.tables import ActionTable, Column
from planner.plan import Step, exact
from planner.records import dataclass
from planner.task import ConditionalEffect, GroundAction


@dataclass(frozen=True, slots=True)
class Numbering:
    """The final numbers: `literals` maps raw literals, positive and negative, to facts of the task."""

    literals: dict[Literal, int]

    @classmethod
    def of(cls, ordered: Iterable[int], negation: dict[int, int]) -> Numbering:
        """Return the numbering of the facts in this order; `negation` maps facts to the facts for their negations."""
        number = {fact: place for place, fact in enumerate(ordered)}
        return cls(number | {~fact: number[opposite] for fact, opposite in negation.items()})

    def __call__(self, literals: Iterable[Literal]) -> tuple[int, ...]:
        """Return the numbers of `literals`, ascending."""
        return tuple(sorted(map(self.literals.__getitem__, literals)))

    def rows(self, table: ActionTable, columns: Sequence[Column]) -> Iterator[tuple[int, ...]]:
        """Return the numbers of each row of `table` in `columns`, ascending."""
        found = [list(map(self.literals.__getitem__, column)) for column in columns]
        found.sort(key=itemgetter(0))
        rows = table.rows(found)
        if all(all(map(lt, one, other)) for one, other in pairwise(found)):
            return rows
        return map(tuple, map(sorted, rows))


class Finisher:
    """Makes the actions of a task; equal costs are made exact and integral once."""

    def __init__(self, numbers: Numbering, task: RawTask) -> None:
        self._numbers = numbers
        self._task = task
        costs = {action.cost for action in task.actions}.union(*[table.costs for table in task.tables])
        self.resolution = common_resolution(costs)
        self._costs = {cost: (exact(cost), int(cost * self.resolution)) for cost in costs}

    def actions(self, budget: Budget) -> tuple[GroundAction, ...]:
        """Return the ground actions in the order of the instances."""
        places: list[int] = []
        found: list[GroundAction] = []
        for batch in batches(self._task.actions):
            budget.check()
            places += [action.number for action in batch]
            found += map(self._action, batch)
        for table in self._task.tables:
            budget.check()
            places += table.numbers
            found += self._of_table(table)
        if all(map(lt, places, places[1:])):
            return tuple(found)
        return tuple([found[place] for place in sorted(range(len(found)), key=places.__getitem__)])

    def _of_table(self, table: ActionTable) -> Iterator[GroundAction]:
        costs = list(map(self._costs.__getitem__, table.costs))
        return map(
            GroundAction,
            map(Step, repeat(table.action.name), table.arguments, map(itemgetter(0), costs)),
            self._numbers.rows(table, table.condition),
            self._numbers.rows(table, table.adds),
            self._numbers.rows(table, table.deletes),
            repeat(()),
            map(itemgetter(1), costs),
        )

    def _action(self, raw: RawAction) -> GroundAction:
        numbers, (cost, units) = self._numbers, self._costs[raw.cost]
        effects = [ConditionalEffect(numbers(e.condition), numbers(e.adds), numbers(e.deletes)) for e in raw.effects]
        return GroundAction(
            Step(raw.action.name, raw.arguments, cost),
            numbers(raw.condition),
            numbers(raw.adds),
            numbers(raw.deletes),
            tuple(effects),
            units,
        )
