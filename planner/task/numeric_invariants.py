"""Bounds of numeric variables by weighted sums that no action raises.

What is taken from a store is put into a tray: no interval of the tray alone shows that it never holds more than there
is. If no action raises the sum of a variable and of weights times facts and other variables that have bounds, then the
sum's initial value bounds the variable. The weights are found by repair, as mutex groups are (Helmert, 2009): an
action that raises the sum must lower some other part of it, which gets the weight that makes up for the rise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction
from math import floor

from planner.lightweight import Final, dataclass, replace
from planner.limits import look, under_limits
from planner.task.numeric_ranges import Ranges, bound_change, find_ranges, forms_by_fact, known_forms
from planner.task.numeric_task import NumericTask

MOST_REPAIRS: Final = 200
"""Most weights that are raised for one bound; each takes some microseconds for each action that has to do with it."""
GREATEST_WEIGHT: Final = 10**6
"""Weights above this are taken to grow without end."""

Part = tuple[bool, int, int]
"""Of a sum: whether it is a variable, its number or that of a fact, and its sign; it has a known least value."""
Amount = int | Fraction


def bound_variables(source: NumericTask, needed: Collection[int]) -> NumericTask:
    """Return `source` with those bounds of the variables `needed` that are found; no reachable value is outside."""
    ranges = find_ranges(source)
    changed = True
    while changed:
        changed, sums = False, _Sums(source, ranges)
        for variable in needed:
            for sign, side in ((1, ranges.high), (-1, ranges.low)):
                if side[variable] is None:
                    bound = sums.bound(variable, sign)
                    side[variable] = None if bound is None else sign * bound
                    changed |= bound is not None
    return replace(
        source,
        variables=tuple(
            [
                replace(each, low=ranges.low[number], high=ranges.high[number]) if number in needed else each
                for number, each in enumerate(source.variables)
            ]
        ),
    )


@dataclass(slots=True)
class _Rises:
    """By how much each action may raise a part, if it may change it; None where there is no bound of that."""

    by_action: dict[int, Amount | None]

    @property
    def raising(self) -> int:
        """The number of actions that may raise the part."""
        return sum([amount is None or amount > 0 for amount in self.by_action.values()])


class _Sums:
    """Sums over the facts and variables of a task, whose values stay in `ranges`."""

    def __init__(self, source: NumericTask, ranges: Ranges) -> None:
        self._source, self._ranges = source, ranges
        self._rises: dict[Part, _Rises] = {}
        self._lowered: list[list[Part]] = [[] for _ in source.task.actions]
        """The parts that each action lowers for sure."""
        self._known = [
            known_forms(forms, action.precondition)
            for forms in [forms_by_fact(source)]
            for action in under_limits(source.task.actions)
        ]
        self._touched: list[list[int]] = [[] for _ in source.variables]
        for number, changes in enumerate(under_limits(source.changes)):
            for variable in {effect.variable for each in changes for effect in each.effects}:
                self._touched[variable].append(number)
        for part in self._find_parts():
            for action, amount in self._rises[part].by_action.items():
                if amount is not None and amount < 0:
                    self._lowered[action].append(part)

    def _find_parts(self) -> Iterable[Part]:
        """Return the facts and bounded variables, after their rises were noted."""
        task, ranges = self._source.task, self._ranges
        facts: dict[int, dict[int, Amount | None]] = {}
        for number, action in enumerate(under_limits(task.actions)):
            needed = {*action.precondition}
            added = {*action.adds, *[fact for effect in action.conditional for fact in effect.adds]}
            for fact in added - needed:
                facts.setdefault(fact, {})[number] = 1
            for fact in needed.intersection(action.deletes) - added:
                facts.setdefault(fact, {})[number] = -1
        for fact, by_action in facts.items():
            self._rises[False, fact, 1] = _Rises(by_action)
        for variable in range(len(self._source.variables)):
            for sign, side in ((1, ranges.low), (-1, ranges.high)):
                if side[variable] is not None:
                    self._rises[True, variable, sign] = self._find_rises(variable, sign)
        return list(self._rises)

    def _find_rises(self, variable: int, sign: int) -> _Rises:
        found = {}
        for action in self._touched[variable]:
            look()
            found[action] = bound_change(
                self._ranges, self._source.changes[action], self._known[action], {variable: sign}
            )
        return _Rises(found)

    def bound(self, variable: int, sign: int) -> int | None:
        """Return an upper bound of `variable` times `sign` in reachable states; None where none is found."""
        start: Part = (True, variable, sign)
        rises = self._rises.get(start) or self._find_rises(variable, sign)
        if any(amount is None for amount in rises.by_action.values()):
            return None
        weights: dict[Part, Amount] = {start: 1}
        total = {action: amount for action, amount in rises.by_action.items() if amount is not None}
        raised = [action for action, amount in total.items() if amount > 0]
        for _ in range(MOST_REPAIRS):
            look()
            while raised and total[raised[-1]] <= 0:
                raised.pop()
            if not raised:
                return floor(self._start_value(weights, start))
            action = raised[-1]
            part = self._choose_part(action, total, variable)
            if part is None:
                return None
            by_action = self._rises[part].by_action
            more = Fraction(-total[action]) / (by_action[action] or 1)
            weights[part] = weights.get(part, 0) + more
            if weights[part] > GREATEST_WEIGHT:
                return None
            for other, amount in by_action.items():
                total[other] = total.get(other, 0) + more * (amount or 0)
                if total[other] > 0 and (amount or 0) > 0:
                    raised.append(other)
        return None

    def _choose_part(self, action: int, total: dict[int, Amount], variable: int) -> Part | None:
        """Return the part that makes up for what `action` raises: the one that fewest other actions then raise."""
        best: tuple[int, Part] | None = None
        for part in self._lowered[action]:
            by_action = self._rises[part].by_action
            if part[:2] == (True, variable) or None in by_action.values():
                continue
            raised = sum([amount > 0 and total.get(other, 0) >= 0 for other, amount in by_action.items() if amount])
            if best is None or (raised, part) < best:
                best = raised, part
        return None if best is None else best[1]

    def _start_value(self, weights: dict[Part, Amount], start: Part) -> Amount:
        """Return the initial value of the sum, less what all parts but `start` are worth at least."""
        initial, total = {*self._source.task.initial}, Fraction(0)
        for part, weight in weights.items():
            is_variable, number, sign = part
            if not is_variable:
                total += weight * (number in initial)
                continue
            total += weight * sign * self._source.variables[number].initial
            if part != start:
                bound = self._ranges.low[number] if sign > 0 else self._ranges.high[number]
                assert bound is not None
                total -= weight * sign * bound
        return total
