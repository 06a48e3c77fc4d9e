"""The state equation of numeric tasks as arrays for the kernel.

Each fact that an action adds must come from somewhere, each linear condition of the goal from changes of its variables,
and what takes from a variable with a lower or upper bound must be made up for before the bound is passed. Actions count
for the most that they can do.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, gcd

from planner.heuristics.numeric_state_equation_kernel import RAY_PARTS, REFRESH, Equation, Tableau
from planner.jit.arrays import empty_index, flatten, reals, words, zeros
from planner.lightweight import Final, dataclass, field
from planner.task.numeric_ranges import bound_change, find_ranges, form_of, forms_by_fact, known_forms
from planner.task.numeric_task import NumericTask
from planner.task.numeric_task_compiled import NumericSpace, find_opposites

MOST_ROWS: Final = 700
"""Most rows: the inverse of the basis then takes 4 MB, and a pivot half a millisecond."""
MOST_ENTRIES: Final = 60_000
"""Most numbers in all columns together: pricing them takes some 0.1 ms."""
PARTS_BITS: Final = 44
"""Binary digits of the greatest cost in parts."""
LARGEST: Final = 1 << 40
"""Rows with greater numbers are left out."""


@dataclass(slots=True)
class _Rows:
    """Rows: what is demanded of the `sums` of variables, and what each action adds, by row."""

    demands: list[int] = field(default_factory=list)
    sums: list[Mapping[int, int]] = field(default_factory=list)
    grains: list[int] = field(default_factory=list)
    columns: list[dict[int, int]] = field(default_factory=list)

    def add(self, demand: int, sums: Mapping[int, int], amounts: Mapping[int, int]) -> None:
        """Add a row, to which action a adds `amounts[a]`; rows that nothing helps or hinders are left out."""
        if not amounts or max(map(abs, [demand, *amounts.values(), *sums.values()])) > LARGEST:
            return
        grain = gcd(*amounts.values())
        for action, amount in amounts.items():
            self.columns[action][len(self.demands)] = amount // grain
        self.demands.append(demand)
        self.sums.append(sums)
        self.grains.append(grain)


def write_state_equation(space: NumericSpace, costs: Sequence[int]) -> tuple[Equation, Tableau] | None:
    """Return the equation for actions that cost at least so much, and working memory; None if it would be too large."""
    source = space.source
    rows = _Rows(columns=[{} for _ in costs])
    row_of = _add_facts(source, rows)
    if len(rows.demands) > MOST_ROWS:
        return None
    _add_forms(source, rows)
    cheapest: dict[tuple[tuple[int, int], ...], int] = {}
    for column, cost in zip(rows.columns, costs, strict=True):
        entries = tuple(sorted(column.items()))
        if any(amount > 0 for _, amount in entries):
            cheapest[entries] = min(cost, cheapest.get(entries, cost))
    many = sum(map(len, cheapest))
    if not 0 < len(rows.demands) <= MOST_ROWS or not 0 < many <= MOST_ENTRIES:
        return None
    equation = _pack(rows, cheapest, row_of)
    return equation, _make_tableau(len(rows.demands), len(cheapest))


def _add_facts(source: NumericTask, rows: _Rows) -> array[int]:
    """Add a row for each fact that no linear condition and no axiom derives; return the rows by fact."""
    row_of = empty_index(len(source.task.facts))
    task, goal = source.task, set(_goals_of(source))
    opposite = find_opposites(task)
    hidden = {each.fact for each in source.conditions}
    hidden |= {opposite[fact] for fact in hidden if fact in opposite}
    amounts: dict[int, dict[int, int]] = {fact: {} for group in task.variables for fact in group if fact not in hidden}
    for number, action in enumerate(task.actions):
        needed = {*action.precondition}
        for fact in [*action.adds, *[fact for part in action.conditional for fact in part.adds]]:
            if fact in amounts and fact not in needed:
                amounts[fact][number] = 1
        added = {*action.adds, *[fact for part in action.conditional for fact in part.adds]}
        for fact in action.deletes:
            if fact in amounts and fact in needed and fact not in added:
                amounts[fact][number] = -1
    for fact, own in amounts.items():
        if own and (fact in goal or min(own.values()) < 0):
            row_of[fact] = len(rows.demands)
            rows.add(int(fact in goal), {}, own)
    return row_of


def _goals_of(source: NumericTask) -> Iterable[int]:
    """Yield the facts of the goal, and those that are all needed for a derived one with a single rule."""
    bodies: dict[int, list[tuple[int, ...]]] = {}
    for layer in source.task.axioms:
        for rule in layer.rules:
            bodies.setdefault(rule.head, []).append(rule.body)
    waiting, seen = [*source.task.goal], set[int]()
    while waiting:
        fact = waiting.pop()
        if fact not in seen:
            seen.add(fact)
            yield fact
            own = bodies.get(fact, [])
            waiting += own[0] if len(own) == 1 else ()


def _add_forms(source: NumericTask, rows: _Rows) -> None:
    """Add a row for each linear condition of the goal and each bound of a variable."""
    ranges, goal = find_ranges(source), {*_goals_of(source)}
    forms = [form_of(each.terms, each.constant) for each in source.conditions if each.fact in goal]
    for variable, (low, high) in enumerate(zip(ranges.low, ranges.high, strict=True)):
        forms += [] if low is None else [form_of(((variable, 1),), -low)]
        forms += [] if high is None else [form_of(((variable, -1),), high)]
    touched = [{effect.variable for each in changes for effect in each.effects} for changes in source.changes]
    by_variable: list[list[int]] = [[] for _ in source.variables]
    for action, variables in enumerate(touched):
        for variable in variables:
            by_variable[variable].append(action)
    by_fact, actions = forms_by_fact(source), source.task.actions
    for weights, constant in forms:
        amounts: dict[int, int] = {}
        for action in sorted({action for variable in weights for action in by_variable[variable]}):
            known = known_forms(by_fact, actions[action].precondition)
            bound = bound_change(ranges, source.changes[action], known, weights)
            if bound is None:
                break
            if bound:
                amounts[action] = ceil(bound)
        else:
            rows.add(-int(constant), {variable: int(weight) for variable, weight in weights.items()}, amounts)


def _pack(rows: _Rows, cheapest: Mapping[tuple[tuple[int, int], ...], int], row_of: array[int]) -> Equation:
    columns, size = [*cheapest], [1.0] * len(rows.demands)
    for column in columns:
        for row, amount in column:
            size[row] = max(size[row], float(abs(amount)))
    start, entries = flatten([[row for row, _ in column] for column in columns])
    term_start, term = flatten([[*sums] for sums in rows.sums])
    bits = max(0, PARTS_BITS - max(1, *cheapest.values()).bit_length() - RAY_PARTS.bit_length())
    return Equation(
        start,
        entries,
        words(amount for column in columns for _, amount in column),
        words(cheapest.values()),
        words(rows.demands),
        words(rows.grains),
        term_start,
        term,
        words(weight for sums in rows.sums for weight in sums.values()),
        row_of,
        reals(size),
        words([RAY_PARTS << bits]),
    )


def _make_tableau(rows: int, columns: int) -> Tableau:
    both = rows + columns
    return Tableau(
        basic=empty_index(rows),
        place=empty_index(both),
        inverse=reals([0.0]) * (rows * rows),
        value=reals([0.0]) * rows,
        reduced=reals([0.0]) * both,
        demand=zeros(rows),
        now=zeros(rows),
        share=reals([0.0]) * both,
        made=reals([0.0]) * rows,
        price=zeros(rows),
        parts=zeros(1),
        pivots=words([REFRESH]),
    )
