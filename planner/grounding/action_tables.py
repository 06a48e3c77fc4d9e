"""Ground actions in tables: the instances of one schema are rows, and each of their literals is a column.

Grounding tests whole columns at a time, in built-in functions of Python, for constant literals or mutex groups. A table
has no holes: where some rows lose a literal and others keep it, the table is split. Costs and uses are exact numbers,
computed once for each instance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from decimal import Decimal
from itertools import compress, repeat
from operator import eq, itemgetter, not_, or_

from planner.errors import InputError
from planner.grounding.joins import Row, projector
from planner.lightweight import Final, NoReturn, dataclass
from planner.model import Action, Arithmetic, Atom, CostFunction, CostTerm, Metric, Number, Problem
from planner.model.arithmetic import evaluate_static
from planner.semantics.undefined_values import UndefinedValue, describe_missing

Column = Sequence[int]
"""A literal of each row."""
Mask = list[bool]
"""A truth value for each row."""

LEAST_ROWS: Final = 12
"""Rows from which on a table is faster than single actions."""


def are_few(rows: Sized) -> bool:
    """Return whether single actions are faster than a table of so few rows."""
    return len(rows) < LEAST_ROWS


@dataclass(slots=True, eq=False)
class ActionTable:
    """Actions without conditional effects; `numbers` are their places among all instances of all schemas.

    An atom that occurs in several parts of the schema has the same column object in all of them.
    """

    action: Action
    numbers: Sequence[int]
    arguments: Sequence[Row]
    costs: Sequence[Number]
    condition: list[Column]
    adds: list[Column]
    deletes: list[Column]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def columns(self) -> list[Column]:
        """The columns of the condition, the adds and the deletes, in this order."""
        return [*self.condition, *self.adds, *self.deletes]

    def select(self, rows: Sequence[int]) -> ActionTable:
        """Return the table of the rows with these places in this one."""
        pick = _picker(rows)
        picked = {id(column): pick(column) for column in self.columns}
        return ActionTable(
            self.action,
            pick(self.numbers),
            pick(self.arguments),
            pick(self.costs),
            [picked[id(column)] for column in self.condition],
            [picked[id(column)] for column in self.adds],
            [picked[id(column)] for column in self.deletes],
        )

    def split(self, masks: Sequence[Mask]) -> Iterator[tuple[tuple[bool, ...], ActionTable]]:
        """Group the rows by their values in `masks`; yield the values and the table of each group."""
        places: dict[tuple[bool, ...], list[int]] = defaultdict(list)
        for row, values in enumerate(zip(*masks, strict=True)):
            places[values].append(row)
        for values, rows in places.items():
            yield values, self if len(places) == 1 else self.select(rows)

    def cut(self, holes: Mapping[int, Mask], dead: Mask | None = None) -> Iterator[ActionTable]:
        """Remove the `dead` rows, and the literals that `holes` mark, by the place of their column in `columns`."""
        if dead is not None:
            alive = list(map(not_, dead))
            table = self.select(list(compress(range(len(self)), alive)))
            holes = {place: list(compress(mask, alive)) for place, mask in holes.items()}
        else:
            table = self
        if not len(table):
            return
        if not holes:
            yield table
            return
        if all(map(all, holes.values())):
            yield table.without(holes.keys())
            return
        for values, part in table.split(list(holes.values())):
            yield part.without(set(compress(holes, values)))

    def without(self, gone: Collection[int]) -> ActionTable:
        """Return this table without the columns at the places `gone` in `columns`."""
        kept = [column for place, column in enumerate(self.columns) if place not in gone]
        first, second = len(self.condition), len(self.condition) + len(self.adds)
        held = sum(place not in gone for place in range(first))
        added = held + sum(place not in gone for place in range(first, second))
        parts = kept[:held], kept[held:added], kept[added:]
        return ActionTable(self.action, self.numbers, self.arguments, self.costs, *parts)

    def rows(self, columns: Sequence[Column]) -> Iterator[tuple[int, ...]]:
        """Return the literals of each row in `columns`."""
        return zip(*columns, strict=True) if columns else repeat((), len(self))


def _picker(rows: Sequence[int]) -> Callable[[Sequence[object]], tuple]:  # type: ignore[type-arg]
    """Return a function that picks `rows` out of a column."""
    if len(rows) > 1:
        return itemgetter(*rows)
    return lambda column: tuple([column[row] for row in rows])


def members(column: Column, wanted: Collection[int]) -> Mask:
    """Return the rows whose literal is in `wanted`, as a mask."""
    return list(map(wanted.__contains__, column))


def same(one: Column, other: Column) -> Mask:
    """Return the rows in which two columns have the same literal, as a mask."""
    return list(map(eq, one, other))


def either(masks: Iterable[Mask]) -> Mask | None:
    """Return the disjunction of `masks`; None where it is false in all rows."""
    found: Mask | None = None
    for mask in masks:
        if True in mask:
            found = mask if found is None else list(map(or_, found, mask))
    return found


def make_cost_function(action: Action, problem: Problem) -> Callable[[Row], Number]:
    """Return a function from the arguments of `action` to its cost in units of the problem."""
    if problem.metric is Metric.LENGTH:
        return lambda _row: 1
    return _sum_picker(action.cost, action, problem, "cost")


def make_price(action: Action, problem: Problem) -> Callable[[Row], Number]:
    """Return the function of `make_cost_function`, which is 0 for steps that lack a value, and never apply."""
    cost = make_cost_function(action, problem)

    def price(row: Row) -> Number:
        try:
            return cost(row)
        except UndefinedValue:
            return 0

    return price


def make_use_function(resource: str, action: Action, problem: Problem) -> Callable[[Row], Number]:
    """Return a function from the arguments of `action` to the amount of `resource` that it uses."""
    return _sum_picker(action.uses.get(resource, ()), action, problem, f"use of {resource}")


def _expression_picker(term: Arithmetic, action: Action, problem: Problem, what: str) -> Callable[[Row], Number]:
    names = [parameter.name for parameter in action.parameters]

    def pick(row: Row) -> Number:
        binding = dict(zip(names, row, strict=True))
        missing = describe_missing(term, f"the {what}", problem, binding)
        if missing:
            raise UndefinedValue(missing)
        number = evaluate_static(term, problem.values, binding, f"the {what}", problem.name)
        return number if number >= 0 else _refuse(number, term, action, row, what)

    return pick


def _sum_picker(terms: tuple[CostTerm, ...], action: Action, problem: Problem, what: str) -> Callable[[Row], Number]:
    constant = sum(term for term in terms if isinstance(term, int | Decimal))
    parts = [
        term.value
        if isinstance(term, CostFunction)
        else _expression_picker(term, action, problem, what)
        if isinstance(term, Arithmetic)
        else _table_picker(term, action, problem, what)
        for term in terms
        if not isinstance(term, int | Decimal)
    ]
    if not parts:
        return lambda _row: constant
    return lambda row: constant + sum(part(row) for part in parts)


def _table_picker(term: Atom, action: Action, problem: Problem, what: str) -> Callable[[Row], Number]:
    project = projector(term.args, [parameter.name for parameter in action.parameters])

    def pick(row: Row) -> Number:
        key = Atom(term.predicate, project(row))
        if key not in problem.values:
            raise UndefinedValue(
                f"the {what} of {action.name}({', '.join(row)}) needs {key}, which '{problem.name}' gives no value",
                hint=f"state it, for example {key} = 1",
            )
        number = problem.values[key]
        return number if number >= 0 else _refuse(number, key, action, row, what)

    return pick


def _refuse(number: Number, source: Atom | Arithmetic, action: Action, row: Row, what: str) -> NoReturn:
    raise InputError(
        f"the {what} of {action.name}({', '.join(row)}) is {number}, by {source}; it is never negative",
        hint="state 0 or more; what a step yields is a soft goal, or part of the metric",
    )


def common_resolution(costs: set[Number]) -> int:
    """Return the smallest power of ten that makes every cost an integer when multiplied with it."""
    places = [-int(cost.normalize().as_tuple().exponent) for cost in costs if isinstance(cost, Decimal)]
    return int(10 ** max([0, *places]))
