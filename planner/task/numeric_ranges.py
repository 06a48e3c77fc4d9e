"""Intervals of the values that numeric variables may take, and bounds of linear forms where an action is applied.

A fixpoint over all effects, regardless of facts: each interval grows until no effect leads out of it, and has no bound
on a side where it keeps growing (interval analysis with widening: Cousot and Cousot, 1977). What an action requires of
the variables tightens the bounds of what it does to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil

from planner.lightweight import Final, dataclass
from planner.limits import under_limits
from planner.task.numeric_task import LinearEffect, NumericEffects, NumericTask, Terms

PATIENCE: Final = 3
"""How often a side of an interval may grow before it counts as without bound."""
Form = tuple[Mapping[int, Fraction | int], Fraction | int]
"""Variables with their weights, and a constant."""


def form_of(terms: Terms, constant: int) -> Form:
    """Return the form of terms, each of another variable."""
    return dict(terms), constant


def add(one: Form, other: Form, factor: Fraction | int = 1) -> Form:
    """Return `one` plus `factor` times `other`."""
    weights = dict(one[0])
    for variable, weight in other[0].items():
        weights[variable] = weights.get(variable, 0) + factor * weight
    return {variable: weight for variable, weight in weights.items() if weight}, one[1] + factor * other[1]


def negate(form: Form) -> Form:
    """Return `form` times -1."""
    return add(({}, 0), form, -1)


@dataclass(slots=True)
class Ranges:
    """The least and greatest value of each variable; None without a bound."""

    low: list[int | None]
    high: list[int | None]

    def greatest(self, form: Form, known: Iterable[Form] = ()) -> Fraction | int | None:
        """Return an upper bound of `form` where the forms `known` are not negative; None without a bound."""
        bounds = [self._greatest(form)]
        for other in known:
            for variable, weight in other[0].items():
                own = form[0].get(variable, 0)
                if own * weight < 0:
                    bounds.append(self._greatest(add(form, other, Fraction(-own) / weight)))
        return min([bound for bound in bounds if bound is not None], default=None)

    def least(self, form: Form, known: Iterable[Form] = ()) -> Fraction | int | None:
        """Return a lower bound of `form` where the forms `known` are not negative; None without a bound."""
        bound = self.greatest(negate(form), known)
        return None if bound is None else -bound

    def _greatest(self, form: Form) -> Fraction | int | None:
        weights, total = form
        for variable, weight in weights.items():
            bound = self.high[variable] if weight > 0 else self.low[variable]
            if bound is None:
                return None
            total += weight * bound
        return total


def change_of(effect: LinearEffect) -> Form:
    """Return what an effect adds to its variable."""
    form = form_of(effect.terms, effect.constant)
    return form if effect.additive else add(form, ({effect.variable: 1}, 0), -1)


def forms_by_fact(source: NumericTask) -> dict[int, Form]:
    """Return the forms of the linear conditions by their facts."""
    return {each.fact: form_of(each.terms, each.constant) for each in source.conditions}


def known_forms(forms: Mapping[int, Form], needed: Iterable[int]) -> list[Form]:
    """Return the `forms`, by fact, that are not negative where an action is applied that needs these facts."""
    return [forms[fact] for fact in needed if fact in forms]


def bound_change(
    ranges: Ranges, changes: tuple[NumericEffects, ...], known: list[Form], target: Mapping[int, int | Fraction]
) -> Fraction | int | None:
    """Return an upper bound of what an action with these `changes` adds to the sum of `target`; None without one."""
    sure: Form = ({}, 0)
    total: Fraction | int = 0
    for each in changes:
        for effect in each.effects:
            weight = target.get(effect.variable, 0)
            if not weight:
                continue
            if () in each.conditions:
                sure = add(sure, change_of(effect), weight)
            else:
                bound = ranges.greatest(add(({}, 0), change_of(effect), weight), known)
                if bound is None:
                    return None
                total += max(bound, 0)
    bound = ranges.greatest(sure, known)
    return None if bound is None else total + bound


def find_ranges(source: NumericTask) -> Ranges:
    """Return intervals that no plan's values leave."""
    growth, forms = _Growth(source), forms_by_fact(source)
    steps = [(each, known_forms(forms, each.needed)) for each in _list_steps(source, forms)]
    while sum([growth.take(step, known) for step, known in under_limits(steps)]):
        pass
    return growth.ranges


@dataclass(frozen=True, slots=True)
class _Step:
    """What an action does to one variable: `sure` effects, and others that may happen; `needed` may bound them."""

    variable: int
    sure: tuple[LinearEffect, ...]
    possible: tuple[LinearEffect, ...]
    needed: tuple[int, ...]


def _list_steps(source: NumericTask, forms: Mapping[int, Form]) -> list[_Step]:
    """Return what actions do to variables, once each; many actions do the same."""
    found: dict[_Step, None] = {}
    for action, changes in under_limits(zip(source.task.actions, source.changes, strict=True)):
        sure, possible = dict[int, list[LinearEffect]](), dict[int, list[LinearEffect]]()
        for each in changes:
            for effect in each.effects:
                (sure if () in each.conditions else possible).setdefault(effect.variable, []).append(effect)
        needed = [fact for fact in action.precondition if fact in forms] if changes else []
        for variable in {**sure, **possible}:
            own = tuple(sure.get(variable, ())), tuple(possible.get(variable, ()))
            read = {variable, *[other for effects in own for effect in effects for other, _ in effect.terms]}
            found[_Step(variable, *own, tuple([fact for fact in needed if not read.isdisjoint(forms[fact][0])]))] = None
    return [*found]


class _Growth:
    """Intervals that grow from the initial values; `_grown` counts how often each side did."""

    def __init__(self, source: NumericTask) -> None:
        initial = [each.initial for each in source.variables]
        self.ranges = Ranges([*initial], [*initial])
        self._variables = source.variables
        self._grown = [0] * (2 * len(initial))

    def take(self, step: _Step, known: list[Form]) -> bool:
        """Let the interval of a variable take what a step makes of it; return whether it has grown."""
        return sum([self._grow(sign, step, known) for sign in (1, -1)]) > 0

    def _grow(self, sign: int, step: _Step, known: list[Form]) -> bool:
        variable = step.variable
        side, declared = (self.ranges.high if sign > 0 else self.ranges.low), self._variables[variable]
        present, end = side[variable], declared.high if sign > 0 else declared.low
        if present is None:
            return False
        limit = None if end is None else sign * end
        bound = _at_most(limit, self._reach(sign, step, known))
        if bound is not None and bound <= sign * present:
            return False
        place = 2 * variable + (sign > 0)
        self._grown[place] += 1
        if self._grown[place] > PATIENCE:  # it may be what actions require that ends the growth
            side[variable] = end
            bound = _at_most(limit, self._reach(sign, step, known)) if self._grown[place] <= 3 * PATIENCE else limit
        side[variable] = None if bound is None else sign * ceil(bound)
        return side[variable] != present

    def _reach(self, sign: int, step: _Step, known: list[Form]) -> Fraction | int | None:
        """Return an upper bound of `sign` times the variable of `step` behind it; None without one."""
        after: Form = ({step.variable: sign}, 0)
        more: Fraction | int = 0
        for effect in step.sure:
            after = add(after, change_of(effect), sign)
        for effect in step.possible:
            bound = self.ranges.greatest(add(({}, 0), change_of(effect), sign), known)
            if bound is None:
                return None
            more += max(bound, 0)
        bound = self.ranges.greatest(after, known)
        return None if bound is None else bound + more


def _at_most(limit: int | None, bound: Fraction | int | None) -> Fraction | int | None:
    """Return the lesser of both, where None is without bound."""
    return min([each for each in (limit, bound) if each is not None], default=None)
