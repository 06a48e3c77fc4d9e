"""The state equation: if no combination of action counts adds up to the goal, there is no plan.

A state is a column vector: 1 for each value of a variable that holds, else 0. The effect of an action is a column
vector, too. The columns of a plan add up to the goal minus the initial state (van den Briel et al., 2007; Bonet, 2013).
An additional value, "any", stands for an unknown or irrelevant value. If the effect of an action depends on the state,
the action leaves a mark, and an optional column removes the mark.

Two proofs show that the equation has no solution: parity, which considers the equation modulo 2; and weights of the
rows under which no column is positive although the right side is (Farkas, 1902). The weights come from a linear
program, are rounded to whole numbers, and are checked exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from fractions import Fraction
from random import Random

from planner.jit.arrays import Entries, flatten, index, reals
from planner.jit.common_kernel import ENTRIES
from planner.lightweight import Final, dataclass
from planner.limits import work_seconds
from planner.pruning import simplex_kernel as kernel
from planner.pruning.h2 import PLAIN_WORK, Pairs
from planner.task.finite_domain import BATCH, Assignments, Operator

Column = tuple[tuple[int, int], ...]
"""The nonzero entries of a column, as (row, amount), by row."""
MOST: Final = 5_000
"""Maximum number of values or of columns: writing the equation then takes 0.1 s."""


@dataclass(frozen=True, slots=True)
class Equation:
    """The equation: `columns`, each used a non-negative number of times, add up to `right`."""

    rows: int
    columns: tuple[Column, ...]
    right: Column


def write_equation(
    task: Assignments, needed: Callable[[int], tuple[int, ...]], possible: Callable[[int], bool]
) -> Generator[None, None, Equation | None]:
    """Write the state equation of a task; return None if it would be too large.

    `needed` returns the values that must hold before an action, or none if no plan uses it. `possible` tells whether a
    value holds in any state on a plan.
    """
    if task.size > MOST:
        return None
    writer = _Writer(task, needed, possible)
    written = BATCH
    for number, operator in enumerate(task.operators):
        if written >= BATCH:
            yield
            written = 0
        if operator is not None:
            writer.write_columns(number, operator)
        written += 1 if operator is None else 1 + len(operator.changes)
        if len(writer.columns) > MOST:
            return None
    return writer.finish()


class _Writer:
    """Collects columns; value "any" of variable v has row `size` + v, and marks have the rows after these."""

    def __init__(
        self, task: Assignments, needed: Callable[[int], tuple[int, ...]], possible: Callable[[int], bool]
    ) -> None:
        self._task, self._needed = task, needed
        self._values = [[value for value in values if possible(value)] for values in task.variables]
        self._rows = task.size + len(task.variables)
        self.columns = dict[Column, None]()

    def _any(self, variable: int) -> int:
        return self._task.size + variable

    def write_columns(self, number: int, operator: Operator) -> None:
        """Write the columns of an action."""
        held = {self._task.variable_of[value]: value for value in self._needed(number)}
        if not held:
            return
        added: dict[int, int] = {}
        for variable in {self._task.variable_of[change.after]: None for change in operator.changes}:
            ways = list(self._find_ways(operator, variable, held.get(variable)))
            if len(ways) == 1:
                added |= _step_of(ways[0])
            elif ways:
                mark, self._rows = self._rows, self._rows + 1
                added[mark] = 1
                for way in ways:
                    self._add_column(_step_of(way) | {mark: -1})
        self._add_column(added)

    def _find_ways(self, operator: Operator, variable: int, held: int | None) -> Iterator[tuple[int, ...]]:
        """Yield each change of a variable as (value before, value after), and `()` if it may stay unchanged."""
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

    def _add_column(self, added: dict[int, int]) -> None:
        column = tuple(sorted((row, amount) for row, amount in added.items() if amount))
        if column:
            self.columns[column] = None

    def finish(self) -> Equation:
        """Return the collected equation."""
        task = self._task
        goal = {task.variable_of[value]: value for value in task.goal}
        right: dict[int, int] = {}
        for variable, value in enumerate(task.initial):
            right |= _step_of((value, goal.get(variable, self._any(variable))))
        used = {row for column in self.columns for row, _ in column} | right.keys()
        for variable, values in enumerate(self._values):
            if self._any(variable) in used:
                for value in values:
                    self._add_column({value: -1, self._any(variable): 1})
        end = tuple((row, amount) for row, amount in right.items() if amount)
        return _renumber([*self.columns], end)


def _step_of(way: tuple[int, ...]) -> dict[int, int]:
    """Return the entries of a column for a change from one value to another; none for no change."""
    return {way[0]: -1, way[1]: 1} if way and way[0] != way[1] else {}


def _renumber(columns: list[Column], right: Column) -> Equation:
    """Return the equation with its used rows renumbered."""
    rows = {row: None for column in (*columns, right) for row, _ in column}
    number = {row: place for place, row in enumerate(rows)}
    renamed = [tuple([(number[row], amount) for row, amount in column]) for column in (*columns, right)]
    return Equation(len(rows), tuple(renamed[:-1]), renamed[-1])


MOST_ROWS: Final = 1_000
"""Maximum number of rows for the search for weights: the basis then takes 8 MB."""
WORK: Final = 5_000_000
"""Steps of inner loops between two pauses: about 10 ms."""
SHIFT: Final = 1e-7
"""Random perturbation of each row, against degenerate pivots."""
ENOUGH: Final = 1_000
"""Residue in millionths that counts as a solution; it exceeds the sum of all perturbations."""
MOST_PARTS: Final = 1_000
"""Maximum denominator of a weight."""


def find_weights(
    equation: Equation, entries: Entries, seconds: float, *, work: int = WORK, seed: int = 0
) -> Generator[None, None, list[int] | None]:
    """Return weights of the rows that prove the equation unsolvable; None if none are found in `seconds`."""
    if not equation.right or not 0 < equation.rows <= MOST_ROWS:
        return None
    signs = [1.0] * equation.rows
    for row, amount in equation.right:
        signs[row] = -1.0 if amount < 0 else 1.0
    columns, basis, room = _pack_columns(equation, signs), _make_basis(equation, seed), _make_room(equation.rows)
    until = work_seconds() + seconds
    while entries["step_simplex"](work, ENOUGH, columns, basis, room) == kernel.BUSY:
        if work_seconds() > until:
            return None
        yield
    found = _round_weights([price * sign for price, sign in zip(basis.price, signs, strict=True)])
    return found if is_proof(equation, found) else None


def is_proof(equation: Equation, weights: Sequence[int]) -> bool:
    """Return whether `weights` prove that the equation has no solution."""
    return _weigh(equation.right, weights) > 0 and all(_weigh(each, weights) <= 0 for each in equation.columns)


def _weigh(column: Column, weights: Sequence[int]) -> int:
    return sum([weights[row] * amount for row, amount in column])


def _round_weights(found: Sequence[float]) -> list[int]:
    """Round weights to fractions, and return them as integers."""
    parts = [Fraction(each).limit_denominator(MOST_PARTS) for each in found]
    scale = math.lcm(*[each.denominator for each in parts])
    return [int(each * scale) for each in parts]


def _pack_columns(equation: Equation, signs: Sequence[float]) -> kernel.Columns:
    start, rows = flatten([[row for row, _ in column] for column in equation.columns])
    amounts = reals([amount * signs[row] for column in equation.columns for row, amount in column])
    return kernel.Columns(start, rows, amounts)


def _make_basis(equation: Equation, seed: int) -> kernel.Basis:
    """Return the basis of artificial columns only."""
    rows, rng = equation.rows, Random(seed)
    value = reals([SHIFT * (1 + rng.random()) for _ in range(rows)])
    for row, amount in equation.right:
        value[row] += abs(amount)
    inverse = reals([0.0]) * (rows * rows)
    for row in range(rows):
        inverse[row * rows + row] = 1.0
    return kernel.Basis(inverse, value, reals([1.0]) * rows, reals([sum(value)]))


def _make_room(rows: int) -> kernel.Room:
    return kernel.Room(reals([0.0]) * rows, index([0]) * rows)


def is_odd(equation: Equation) -> bool:
    """Return whether no whole numbers, negative ones included, solve the equation modulo 2 (elimination by Gauss)."""
    leading: dict[int, int] = {}
    for column in equation.columns:
        left = _reduce(_odd_bits_of(column), leading)
        if left:
            leading[left.bit_length()] = left
    return _reduce(_odd_bits_of(equation.right), leading) != 0


def _odd_bits_of(column: Column) -> int:
    return sum([1 << row for row, amount in column if amount % 2])


def _reduce(bits: int, leading: dict[int, int]) -> int:
    """Eliminate the leading bits of `bits` by the `leading` columns, by length; return the remainder."""
    while bits and (other := leading.get(bits.bit_length())):
        bits ^= other
    return bits


SECONDS: Final = 0.3
"""Limit of processor time for weights, in seconds: most existing weights are found in a few milliseconds."""


def disprove(
    task: Assignments, pairs: Pairs, entries: Entries | None, seconds: float = SECONDS, *, seed: int = 0
) -> Generator[None, None, str]:
    """Return the name of a proof that no plan solves the state equation: "parity", "weights", or "" for none.

    `pairs` are those that h² has not excluded; perturbations are drawn from `seed`. The kernels are `entries`, or run
    as plain Python.
    """
    rows = pairs.copy()
    found = yield from write_equation(task, pairs.needed, lambda value: rows(value) >> value & 1 == 1)
    if found is None:
        return ""
    if is_odd(found):
        return "parity"
    work = PLAIN_WORK if entries is None else WORK
    return "weights" if (yield from find_weights(found, entries or ENTRIES, seconds, work=work, seed=seed)) else ""
