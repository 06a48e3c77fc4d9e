"""The state equation (van den Briel, Benton, Kambhampati and Vossen, 2007; Bonet, 2013).

A state is a column of numbers: 1 for each value that a variable has, else 0. What an action adds to that is a column,
too, and the columns of a plan add up to what the goal has more than the initial state. A variable of which it is not
known what it was, or does not matter what it will be, goes by way of one more value, "any". Where it depends on the
state what an action does to a variable, it leaves a mark, and something that may be done takes the mark away.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from planner.annotations import Final
from planner.mutexes.values import BATCH, Assignments, Operator
from planner.records import dataclass

Column = tuple[tuple[int, int], ...]
"""Rows and what is added there, never 0, by row."""
MOST: Final = 5_000
"""Values or columns with more of which no equation is made: so many take 0.1 s."""


@dataclass(frozen=True, slots=True)
class Equation:
    """Any plan adds up `columns`, each as often as it likes, to `right`; there are so many `rows`."""

    rows: int
    columns: tuple[Column, ...]
    right: Column


def equation(
    task: Assignments, needed: Callable[[int], tuple[int, ...]], possible: Callable[[int], bool]
) -> Generator[None, None, Equation | None]:
    """Return the equation of a task; None where it would be too large.

    `needed` has the values that must hold where an action is applied, none where no plan does; `possible` says whether
    a value holds anywhere on a plan.
    """
    if task.size > MOST:
        return None
    writer = _Writer(task, needed, possible)
    for number, operator in enumerate(task.operators):
        if not number % BATCH:
            yield
        if operator is not None:
            writer.take(number, operator)
        if len(writer.columns) > MOST:
            return None
    return writer.equation()


class _Writer:
    """Collects columns; "any" value of variable v has row `size` + v, and marks have the rows after these."""

    def __init__(
        self, task: Assignments, needed: Callable[[int], tuple[int, ...]], possible: Callable[[int], bool]
    ) -> None:
        self._task, self._needed = task, needed
        self._values = [[value for value in values if possible(value)] for values in task.variables]
        self._rows = task.size + len(task.variables)
        self.columns = dict[Column, None]()

    def _any(self, variable: int) -> int:
        return self._task.size + variable

    def take(self, number: int, operator: Operator) -> None:
        """Take an action."""
        held = {self._task.variable_of[value]: value for value in self._needed(number)}
        if not held:
            return
        added: dict[int, int] = {}
        for variable in {self._task.variable_of[change.after]: None for change in operator.changes}:
            ways = list(self._ways(operator, variable, held.get(variable)))
            if len(ways) == 1:
                added |= _step(ways[0])
            elif ways:
                mark, self._rows = self._rows, self._rows + 1
                added[mark] = 1
                for way in ways:
                    self._keep(_step(way) | {mark: -1})
        self._keep(added)

    def _ways(self, operator: Operator, variable: int, held: int | None) -> Iterator[tuple[int, ...]]:
        """Yield what may become of a variable: values before and after, or nothing if it may stay as it is."""
        befores = self._values[variable] if held is None else [held]
        staying = {value for value in befores if value not in operator.gone}
        for change in operator.changes:
            if change.after not in self._values[variable]:
                continue
            if change.before is not None:
                if change.before in befores:
                    yield change.before, change.after
            else:
                staying.discard(change.after)
                yield held if held is not None else self._any(variable), change.after
        if staying:
            yield ()

    def _keep(self, added: dict[int, int]) -> None:
        column = tuple(sorted((row, amount) for row, amount in added.items() if amount))
        if column:
            self.columns[column] = None

    def equation(self) -> Equation:
        """Return what was collected."""
        task = self._task
        goal = {task.variable_of[value]: value for value in task.goal}
        right: dict[int, int] = {}
        for variable, value in enumerate(task.initial):
            right |= _step((value, goal.get(variable, self._any(variable))))
        used = {row for column in self.columns for row, _ in column} | right.keys()
        for variable, values in enumerate(self._values):
            if self._any(variable) in used:
                for value in values:
                    self._keep({value: -1, self._any(variable): 1})
        end = tuple((row, amount) for row, amount in right.items() if amount)
        return _numbered([*self.columns], end)


def _step(way: tuple[int, ...]) -> dict[int, int]:
    """Return what is added where one value becomes another one; nothing where nothing does."""
    return {way[0]: -1, way[1]: 1} if way and way[0] != way[1] else {}


def _numbered(columns: list[Column], right: Column) -> Equation:
    """Return the equation with rows that are used, by new numbers."""
    rows = {row: None for column in (*columns, right) for row, _ in column}
    number = {row: place for place, row in enumerate(rows)}
    renamed = [tuple([(number[row], amount) for row, amount in column]) for column in (*columns, right)]
    return Equation(len(rows), tuple(renamed[:-1]), renamed[-1])
