"""Ranges of the values that functions may take in reachable states, whatever the facts are.

Interval analysis with widening (Cousot and Cousot, 1977): each interval grows until no effect leads out of it. An
interval that keeps growing ends at the declared bound, or has none. Where all changes of a fluent are multiples of one
amount, so are its distances from its initial value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import gcd, lcm

from planner.lightweight import Any, Final, dataclass
from planner.model.actions import NumericEffect
from planner.model.arithmetic import TESTS, Exact, Key, as_fraction, exact_value, show_number
from planner.model.domain import TypeHierarchy, numeric_effects, numeric_fluents
from planner.model.formulas import Arithmetic, Atom, Comparison, Expression, Term, Variable, functions_in, is_variable
from planner.model.problem import Problem

UNBOUNDED: Final[Any] = float("inf")
"""The end of an interval without a bound; it compares exactly with ints and fractions."""
PATIENCE: Final = 3
"""How often a side of an interval may grow before it ends at its bound."""
AMOUNTS: Final = 200
"""Most amounts of one effect that are looked at one by one."""


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers from `low` to `high`; infinite ends stand for no bound, and are the only floats."""

    low: Exact
    high: Exact

    def __str__(self) -> str:
        low, high = (None if abs(end) == UNBOUNDED else show_number(end) for end in (self.low, self.high))
        if low == high:
            return "any number" if low is None else low
        if high is None:
            return f"{low} or more"
        return f"{high} or less" if low is None else f"{low} to {high}"

    def hull(self, other: Interval) -> Interval:
        """Return the least interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def may(self, relation: str, other: Interval) -> bool:
        """Return whether some number of this interval is in `relation` to some number of the other."""
        match relation:
            case "<" | "<=":
                return TESTS[relation](self.low, other.high)
            case ">" | ">=":
                return TESTS[relation](self.high, other.low)
            case _:
                return self.low <= other.high and other.low <= self.high

    def must(self, relation: str, other: Interval) -> bool:
        """Return whether all numbers of this interval are in `relation` to all numbers of the other."""
        match relation:
            case "<" | "<=":
                return TESTS[relation](self.high, other.low)
            case ">" | ">=":
                return TESTS[relation](self.low, other.high)
            case _:
                return self.low == self.high == other.low == other.high


ANY: Final = Interval(-UNBOUNDED, UNBOUNDED)


def _times(one: Exact, other: Exact) -> Exact:
    return one * other if one and other else 0  # also where the other is infinite


def _combine(operator: str, one: Interval, other: Interval) -> Interval:
    match operator:
        case "+":
            return Interval(one.low + other.low, one.high + other.high)
        case "-":
            return Interval(one.low - other.high, one.high - other.low)
        case "/" if other.low <= 0 <= other.high:
            return ANY
        case "/":
            inverse = [0 if abs(end) == UNBOUNDED else 1 / as_fraction(end) for end in (other.high, other.low)]
            return _combine("*", one, Interval(*inverse))
    corners = [_times(a, b) for a in (one.low, one.high) for b in (other.low, other.high)]
    return Interval(min(corners), max(corners))


def combine(operator: str, operands: Iterable[Interval]) -> Interval:
    """Return the interval of `operator` applied to numbers of `operands`."""
    result, *others = operands
    if operator == "-" and not others:
        return Interval(-result.high, -result.low)
    for other in others:
        result = _combine(operator, result, other)
    return result


class ValueRanges:
    """The intervals of all functions of `problem`; effects of other `actions` than these count as impossible."""

    def __init__(self, problem: Problem, actions: Collection[str] | None = None) -> None:
        self._problem = problem
        self._changing = numeric_fluents(problem.domain)
        self._intervals: dict[Key, Interval] = {}
        for term, number in problem.values.items():
            value = exact_value(number)
            self._intervals[term.predicate, term.args] = Interval(value, value)
        self._initial = {key: each.low for key, each in self._intervals.items()}
        domain = problem.domain
        self._effects: dict[str, list[NumericEffect]] = {}
        types = TypeHierarchy(domain.types).objects_by_type(problem.all_objects)
        for name, action in domain.actions.items():
            if actions is not None and name not in actions:
                continue
            kinds = [*action.parameters, *[each for when in action.when for each in when.variables]]
            for effect in numeric_effects(action):
                self._effects.setdefault(effect.fluent.predicate, []).append(effect)
                if effect.operator == ":=":
                    self._assigned(effect, kinds, types)
        self._keys: dict[str, list[Key]] = {}
        for key in self._intervals:
            self._keys.setdefault(key[0], []).append(key)
        self._steps = {key: self._find_step(key) for key in self._initial if key[0] in self._changing}
        self._grow()

    def _assigned(self, effect: NumericEffect, kinds: Iterable[Variable], types: Mapping[str, list[str]]) -> None:
        """Give the fluents that only `effect` gives a value the empty interval."""
        members = {each.name: [name for kind in each.types for name in types.get(kind, ())] for each in kinds}
        fluent = effect.fluent
        for args in product(*[members.get(arg, [arg]) for arg in fluent.args]):
            self._intervals.setdefault((fluent.predicate, args), Interval(UNBOUNDED, -UNBOUNDED))

    def keys(self, function: str) -> list[Key]:
        """Return the instances of `function` that may have a value."""
        return self._keys.get(function, [])

    def get(self, key: Key) -> Interval | None:
        """Return the interval of a function; None where it never has a value."""
        found = self._intervals.get(key)
        return found if found is not None and found.low <= found.high else None

    def bindings(self, terms: Iterable[Atom]) -> Iterator[dict[Term, Term]]:
        """Yield the bindings of the variables in `terms` under which all of them may have values."""
        found: list[dict[Term, Term]] = [{}]
        for term in sorted(dict.fromkeys(terms), key=lambda each: -len(each.args)):
            found = [
                more
                for binding in found
                for _, args in self.keys(term.predicate)
                if (more := unify(term.args, args, binding)) is not None
            ]
        yield from found

    def evaluate(self, expression: Expression, binding: Mapping[Term, Term] = {}) -> Interval | None:
        """Return the interval of `expression` over all values of variables that are not bound; None: undefined."""
        match expression:
            case Atom(function, args):
                bound = tuple([binding.get(arg, arg) for arg in args])
                if not any(map(is_variable, bound)):
                    return self.get((function, bound))
                fits = [self.get(key) for key in self.keys(function) if unify(bound, key[1], {}) is not None]
                known = [each for each in fits if each is not None]
                result = known[0] if known else None
                for each in known[1:]:
                    result = each.hull(result) if result is not None else each
                return result
            case Arithmetic(operator, operands):
                parts = [self.evaluate(each, binding) for each in operands]
                known = [each for each in parts if each is not None]
                return combine(operator, known) if len(known) == len(parts) else None
            case _:
                value = exact_value(expression)
                return Interval(value, value)

    def may(self, comparison: Comparison, binding: Mapping[Term, Term] = {}) -> bool:
        """Return whether `comparison` may hold in some reachable state."""
        left, right = self.evaluate(comparison.left, binding), self.evaluate(comparison.right, binding)
        if left is None or right is None or not left.may(comparison.relation, right):
            return False
        sides = ((comparison.left, right), (comparison.right, left))
        return comparison.relation != "=" or all(self._fits(side, other, binding) for side, other in sides)

    def must(self, comparison: Comparison, binding: Mapping[Term, Term] = {}) -> bool:
        """Return whether `comparison` holds in all reachable states in which its functions have values."""
        left, right = self.evaluate(comparison.left, binding), self.evaluate(comparison.right, binding)
        return left is not None and right is not None and left.must(comparison.relation, right)

    def _fits(self, side: Expression, other: Interval, binding: Mapping[Term, Term]) -> bool:
        """Return whether the changes of the fluent `side` may add up to the one number in `other`."""
        if not isinstance(side, Atom) or other.low != other.high:
            return True
        key = side.predicate, tuple([binding.get(arg, arg) for arg in side.args])
        step, start = self._steps.get(key), self._initial.get(key)
        if step is None or start is None:
            return True
        return start == other.low if not step else (as_fraction(other.low) - start) % step == 0

    def step(self, key: Key) -> Fraction | None:
        """Return the amount of which all changes of a fluent are multiples; None where there is none, 0: no changes."""
        return self._steps.get(key)

    def _effects_on(self, key: Key) -> Iterator[tuple[NumericEffect, dict[Term, Term]]]:
        for effect in self._effects.get(key[0], ()):
            binding = unify(effect.fluent.args, key[1], {})
            if binding is not None:
                yield effect, binding

    def _find_step(self, key: Key) -> Fraction | None:
        found: set[Fraction] = set()
        for effect, binding in self._effects_on(key):
            terms = [each.substitute(binding) for each in functions_in(effect.value)]
            if not effect.is_additive or any(each.predicate in self._changing for each in terms):
                return None
            for count, more in enumerate(self.bindings(terms)):
                interval = self.evaluate(effect.value, {**binding, **more})
                if (
                    count >= AMOUNTS
                    or interval is None
                    or interval.low != interval.high
                    or abs(interval.low) == UNBOUNDED
                ):
                    return None
                found.add(as_fraction(interval.low))
        scale = lcm(*[each.denominator for each in found])
        return Fraction(gcd(*[int(each * scale) for each in found]), scale)

    def _grow(self) -> None:
        grown: dict[tuple[Key, bool], int] = {}
        fluents = [key for key in self._intervals if key[0] in self._changing]
        changed = True
        while changed:
            changed = False
            for key in fluents:
                for effect, binding in self._effects_on(key):
                    changed |= self._take(key, effect, binding, grown)

    def _take(
        self, key: Key, effect: NumericEffect, binding: Mapping[Term, Term], grown: dict[tuple[Key, bool], int]
    ) -> bool:
        """Let an interval take what `effect` makes of it; return whether it has grown."""
        now, amount = self._intervals[key], self.evaluate(effect.value, binding)
        if amount is None or (now.low > now.high and effect.operator != ":="):
            return False
        after = amount if effect.operator == ":=" else _combine(effect.operator[0], now, amount)
        ends = self._bounds(key)
        if after.high < ends.low or after.low > ends.high:
            return False
        low, high = now.low, now.high
        if after.low < low:
            grown[key, False] = count = grown.get((key, False), 0) + 1
            low = ends.low if effect.is_additive or count > PATIENCE else max(after.low, ends.low)
        if after.high > high:
            grown[key, True] = count = grown.get((key, True), 0) + 1
            high = ends.high if effect.is_additive or count > PATIENCE else min(after.high, ends.high)
        self._intervals[key] = Interval(low, high)
        return (low, high) != (now.low, now.high)

    def _bounds(self, key: Key) -> Interval:
        """Return the bounds of a fluent, moved to values that its changes lead to."""
        function = self._problem.domain.functions.get(key[0])
        low = -UNBOUNDED if function is None or function.low is None else exact_value(function.low)
        high = UNBOUNDED if function is None or function.high is None else exact_value(function.high)
        step, start = self._steps.get(key), self._initial.get(key)
        if step and start is not None:
            low = low if low == -UNBOUNDED else start - (as_fraction(start) - low) // step * step
            high = high if high == UNBOUNDED else start + (as_fraction(high) - start) // step * step
        return Interval(low, high)


def unify(pattern: Iterable[Term], args: Iterable[Term], known: Mapping[Term, Term]) -> dict[Term, Term] | None:
    """Return `known` with the bindings of variables that make `pattern` the ground `args`; None where none do."""
    binding = dict(known)
    for mine, other in zip(pattern, args, strict=True):
        expected = binding.setdefault(mine, other) if is_variable(mine) else mine
        if expected != other:
            return None
    return binding
