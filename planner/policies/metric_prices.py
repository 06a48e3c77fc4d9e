"""The metric of numbers in a decision process: prices of steps, and prices of ends.

What a step adds to the metric may depend on the state and on the outcome, and be negative. The sum over an execution is
the value of the metric at its end less the value at its beginning, so the process charges that value where an execution
ends. A fluent that only the metric reads, and that no step brings nearer to its best value, needs no place in the
state: its changes are prices of the outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from planner.lightweight import dataclass, replace
from planner.task.numeric_ranges import Ranges, bound_change, find_ranges, forms_by_fact, known_forms
from planner.task.numeric_task import NumericEffects, NumericTask


@dataclass(frozen=True, slots=True)
class EndPrices:
    """The share of the metric that the final values of variables have, as `weights` of variables.

    The price of an end is that share less `base`, in units of the task's resolution: `base` is the least value that the
    ranges of the fluents allow, where `is_bounded`. `offset` is `base` less the initial value. `bounds` has for each
    variable of `weights` the least share that it ever has, None for one whose share no step lowers.
    """

    weights: tuple[tuple[int, Fraction], ...]
    bounds: tuple[Fraction | None, ...]
    base: Fraction
    offset: Fraction
    is_bounded: bool

    @classmethod
    def of(cls, numeric: NumericTask) -> EndPrices | None:
        """Return the prices of ends by the metric of `numeric`; None without a metric of variables."""
        weights = tuple([(variable, weight * numeric.task.resolution) for variable, weight in numeric.metric])
        if not weights:
            return None
        ranges = find_ranges(numeric)
        own = [weight * numeric.variables[variable].initial for variable, weight in weights]
        rising = [_is_rising(variable, weight, numeric, ranges) for variable, weight in weights]
        least = [ranges.least(({variable: weight}, 0)) for variable, weight in weights]
        known = [now if up else bound for now, up, bound in zip(own, rising, least, strict=True)]
        is_bounded = None not in known
        base = sum(
            [now if bound is None else Fraction(bound) for now, bound in zip(own, known, strict=True)], Fraction(0)
        )
        bounds = [None if up or bound is None else Fraction(bound) for up, bound in zip(rising, least, strict=True)]
        return cls(weights, tuple(bounds), base, base - sum(own), is_bounded)

    def price(self, values: Sequence[int]) -> Fraction:
        """Return the price of an end where the variables have these `values`."""
        return sum([weight * values[variable] for variable, weight in self.weights], -self.base)

    def least(self, values: Sequence[int]) -> Fraction:
        """Return a lower bound of the prices of all ends after a state with these `values`, if they have bounds."""
        pairs = zip(self.weights, self.bounds, strict=True)
        shares = [weight * values[variable] if bound is None else bound for (variable, weight), bound in pairs]
        return sum(shares, -self.base)


def _is_rising(variable: int, weight: Fraction, numeric: NumericTask, ranges: Ranges) -> bool:
    """Return whether no action lowers the value of `variable` times `weight`."""
    forms = forms_by_fact(numeric)
    for action, changes in zip(numeric.task.actions, numeric.changes, strict=True):
        most = bound_change(ranges, changes, known_forms(forms, action.precondition), {variable: -weight})
        if most is None or most > 0:
            return False
    return True


def move_prices(numeric: NumericTask) -> NumericTask:
    """Return `numeric` without the variables that only its metric reads and no action brings nearer to the best value.

    What the actions add to the metric by these variables is part of their costs.
    """
    moved = {variable: weight for variable, weight in numeric.metric if _is_price(variable, weight, numeric)}
    if not moved:
        return numeric
    task = numeric.task
    resolution = lcm(task.resolution, *[weight.denominator for weight in moved.values()])
    factor = resolution // task.resolution
    actions = [
        replace(action, cost=action.cost * factor + int(resolution * _added(changes, moved)))
        for action, changes in zip(task.actions, numeric.changes, strict=True)
    ]
    return _without_variables(
        replace(numeric, task=replace(task, actions=tuple(actions), resolution=resolution)), moved
    )


def _is_price(variable: int, weight: Fraction, numeric: NumericTask) -> bool:
    own = numeric.variables[variable]
    if own.low is not None or own.high is not None:
        return False
    if any(variable == read for condition in numeric.conditions for read, _ in condition.terms):
        return False
    for each in [each for changes in numeric.changes for each in changes]:
        for effect in each.effects:
            if any(read == variable for read, _ in effect.terms):
                return False
            if effect.variable == variable and not (
                effect.additive and not effect.terms and each.conditions == ((),) and weight * effect.constant >= 0
            ):
                return False
    return True


def _added(changes: Sequence[NumericEffects], moved: dict[int, Fraction]) -> Fraction:
    effects = [effect for each in changes for effect in each.effects if effect.variable in moved]
    return sum([moved[effect.variable] * effect.constant for effect in effects], Fraction(0))


def _without_variables(numeric: NumericTask, moved: dict[int, Fraction]) -> NumericTask:
    kept = [number for number in range(len(numeric.variables)) if number not in moved]
    new = {number: place for place, number in enumerate(kept)}

    def renumber(terms: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        return tuple([(new[variable], weight) for variable, weight in terms])

    def rest(each: NumericEffects) -> NumericEffects:
        effects = [
            replace(effect, variable=new[effect.variable], terms=renumber(effect.terms))
            for effect in each.effects
            if effect.variable in new
        ]
        return replace(each, effects=tuple(effects))

    return replace(
        numeric,
        variables=tuple([numeric.variables[number] for number in kept]),
        conditions=tuple([replace(each, terms=renumber(each.terms)) for each in numeric.conditions]),
        changes=[tuple([made for made in map(rest, changes) if made.effects]) for changes in numeric.changes],
        metric=tuple([(new[variable], weight) for variable, weight in numeric.metric if variable in new]),
    )
