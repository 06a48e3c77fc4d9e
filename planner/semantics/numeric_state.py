"""Values of functions in a state, and the effects of steps on them (Fox and Long, 2003: PDDL 2.1, level 2).

All arithmetic is exact: values are ints where integral and fractions elsewhere. A function without a value is
undefined. A comparison with something undefined is false; an effect that needs it makes the step inapplicable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.errors import PlanError
from planner.lightweight import dataclass
from planner.model import (
    TOTAL_COST,
    Arithmetic,
    Atom,
    Comparison,
    DomainModel,
    Expression,
    Number,
    NumericMetric,
    Problem,
)
from planner.model.actions import NumericEffect
from planner.model.arithmetic import TESTS, Exact, Key, as_number, compute, evaluate, exact_value, show_number
from planner.model.domain import numeric_fluents
from planner.model.formulas import functions_in
from planner.model.timing import TOTAL_TIME


class Values:
    """The values of functions in one state; all states of a problem share those of static functions."""

    __slots__ = ("fluents", "statics")

    def __init__(self, statics: Mapping[Key, Exact], fluents: dict[Key, Exact]) -> None:
        self.statics = statics
        self.fluents = fluents

    @classmethod
    def of(cls, problem: Problem) -> Values:
        """Return the values in the initial state of `problem`."""
        changing = numeric_fluents(problem.domain)
        statics: dict[Key, Exact] = {}
        fluents: dict[Key, Exact] = {}
        for term, number in problem.values.items():
            (fluents if term.predicate in changing else statics)[term.predicate, term.args] = exact_value(number)
        return cls(statics, fluents)

    def get(self, key: Key) -> Exact | None:
        """Return the value of a function; None where it is undefined."""
        value = self.fluents.get(key)
        return self.statics.get(key) if value is None else value

    def copy(self) -> Values:
        """Return values whose fluents change independently."""
        return Values(self.statics, self.fluents.copy())

    def update(self, changes: Iterable[NumberChange]) -> None:
        """Take over the values after `changes`."""
        for change in changes:
            key = change.fluent.predicate, change.fluent.args
            if change.after is None:
                self.fluents.pop(key, None)
            else:
                self.fluents[key] = change.after

    def evaluate(self, expression: Expression, binding: Mapping[str, str] = {}) -> Exact | None:
        """Return the value of `expression` with its variables bound; None where it is undefined."""
        return evaluate(expression, self.get, binding)

    def compare(self, comparison: Comparison, binding: Mapping[str, str] = {}) -> bool:
        """Return whether `comparison` holds with its variables bound."""
        left, right = self.evaluate(comparison.left, binding), self.evaluate(comparison.right, binding)
        return left is not None and right is not None and TESTS[comparison.relation](left, right)


@dataclass(frozen=True, slots=True)
class NumberChange:
    """The value of `fluent` changes from `before` to `after`; None is undefined, which no step makes it."""

    fluent: Atom
    before: Exact | None
    after: Exact | None

    def __str__(self) -> str:
        return f"{self.fluent} {show_number(self.before)} → {show_number(self.after)}"


class NumericObjection(ValueError):
    """Why the numeric effects of a step cannot be applied: a `condition` that fails, or what is wrong with them."""

    def __init__(self, problem: str, condition: Comparison | None = None) -> None:
        super().__init__(problem)
        self.condition = condition


def compute_numbers(values: Values, effects: Iterable[NumericEffect], domain: DomainModel) -> tuple[NumberChange, ...]:
    """Return the changes by ground `effects` that happen together; each reads the values before all of them.

    Raises `NumericObjection` where a value is undefined, a change would leave the fluent's bounds, or the effects on
    one fluent exclude each other.
    """
    by_fluent: dict[Atom, list[NumericEffect]] = {}
    for effect in effects:
        by_fluent.setdefault(effect.fluent, []).append(effect)
    return tuple([_change(values, fluent, found, domain) for fluent, found in by_fluent.items()])


def _change(values: Values, fluent: Atom, effects: list[NumericEffect], domain: DomainModel) -> NumberChange:
    is_repeated_assignment = len(set(effects)) == 1 and effects[0].operator == ":="
    if len(effects) > 1 and not is_repeated_assignment and not all(each.is_additive for each in effects):
        both = " and ".join(f"'{each}'" for each in effects)
        raise NumericObjection(f"its effects {both} on one fluent exclude each other")
    before = after = values.get((fluent.predicate, fluent.args))
    for effect in effects if effects[0].is_additive else effects[:1]:
        amount = values.evaluate(effect.value)
        if amount is None:
            raise NumericObjection(f"its effect '{effect}' needs {_describe_undefined(values, effect.value)}")
        if effect.operator != ":=":
            if after is None:
                raise NumericObjection(f"its effect '{effect}' needs the value of {fluent}, which is undefined")
            amount = compute(effect.operator[0], [after, amount])
            if amount is None:
                raise NumericObjection(f"its effect '{effect}' divides by 0")
        after = amount
    assert after is not None
    for condition in bounds_on(fluent, effects, domain):
        bound = condition.right
        assert not isinstance(bound, Atom | Arithmetic)
        if not TESTS[condition.relation](after, exact_value(bound)):
            raise NumericObjection("", condition)
    return NumberChange(fluent, before, after)


def _describe_undefined(values: Values, expression: Expression) -> str:
    missing = [term for term in functions_in(expression) if values.evaluate(term) is None]
    return (
        f"the value of {missing[0]}, which is undefined"
        if missing
        else f"the value of {expression}, which divides by 0"
    )


def bounds_on(fluent: Atom, effects: Iterable[NumericEffect], domain: DomainModel) -> Iterator[Comparison]:
    """Yield what has to hold before `effects` on `fluent` happen together, so that they keep its bounds."""
    function = domain.functions.get(fluent.predicate)
    for relation, bound in () if function is None else ((">=", function.low), ("<=", function.high)):
        if bound is not None:
            yield Comparison(_result_of(fluent, effects), relation, bound)


def _result_of(fluent: Atom, effects: Iterable[NumericEffect]) -> Expression:
    """Return the value of `fluent` after `effects`, as an expression over the state before them."""
    result: Expression = fluent
    for effect in effects:
        result = effect.value if effect.operator == ":=" else Arithmetic(effect.operator[0], (result, effect.value))
    return result


def describe_values(comparison: Comparison, values: Values) -> Iterator[tuple[Atom, str]]:
    """Yield each function in the ground `comparison` once, with "function is value"."""
    for term in dict.fromkeys(comparison.functions):
        yield term, f"{term} is {show_number(values.evaluate(term))}"


def change_of_metric(metric: NumericMetric, values: Values, changes: Iterable[NumberChange], cost: Number) -> Number:
    """Return the change of `metric` by a step of this `cost`, negated where the greatest value is best.

    Raises `PlanError` where the value is undefined or no finite decimal.
    """
    later = values.copy()
    later.update(changes)
    return change_between(metric, values, later, cost)


def change_between(metric: NumericMetric, values: Values, later: Values, cost: Number) -> Number:
    """Return the change of `metric` from `values` to `later` by a step of this `cost`, as `change_of_metric` does."""
    total = (TOTAL_COST.predicate, TOTAL_COST.args)
    spent = {} if values.get(total) is not None else {total: exact_value(cost)}
    now = evaluate(metric.expression, lambda key: 0 if key in spent else values.get(key), {})
    then = evaluate(metric.expression, lambda key: spent[key] if key in spent else later.get(key), {})
    if now is None or then is None:
        missing = next(
            (
                each
                for each in functions_in(metric.expression)
                if later.get((each.predicate, each.args)) is None and each != TOTAL_COST
            ),
            None,
        )
        raise PlanError(
            f"the metric '{metric}' has no value" + ("" if missing is None else f": {missing} is undefined")
        )
    number = as_number(exact_value(now - then if metric.maximize else then - now))
    if number is None:
        raise PlanError(f"the metric '{metric}' changes by {then - now}, and that is no finite decimal")
    return number


def charge_time(metric: NumericMetric, values: Values, makespan: Number) -> Number:
    """Return what a plan in time pays by `metric` for its `makespan`, where functions have `values` at its end."""
    key = (TOTAL_TIME.predicate, TOTAL_TIME.args)

    def price(time: Exact) -> Exact | None:
        return evaluate(metric.expression, lambda each: time if each == key else values.get(each) or 0, {})

    without, whole = price(0), price(exact_value(makespan))
    number = None if without is None or whole is None else as_number(exact_value(whole - without))
    if number is None:
        raise PlanError(f"the metric '{metric}' has no value at the time {makespan}")
    return -number if metric.maximize else number
