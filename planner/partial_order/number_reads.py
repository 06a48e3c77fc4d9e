"""What steps read and write of numbers, in the states of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.errors import UnsupportedError
from planner.lightweight import Final
from planner.model.actions import NumericEffect
from planner.model.arithmetic import Exact, Key, as_number, exact_value
from planner.model.domain import numeric_fluents
from planner.model.formulas import Arithmetic, Atom, Comparison, Expression, Not, functions_in
from planner.model.problem import TOTAL_COST, NumericMetric, Problem
from planner.partial_order.number_order import Condition, Need, NumberAccess
from planner.semantics.linear_forms import LinearForm, Undefined, linear_form
from planner.semantics.numeric_state import Values, compute_numbers

SCALES: Final = ("*=", "/=")
"""Operators of effects that read the value which they change, so that their order matters."""


class NumberReader:
    """Finds what steps of a plan for `problem` read and write of numbers."""

    def __init__(self, problem: Problem) -> None:
        self._domain = problem.domain
        self._fluents = numeric_fluents(problem.domain)
        self._priced: tuple[Atom, ...] = ()
        """The functions of a metric that is not linear, whose changes have their price in one state only."""
        metric = problem.metric
        if isinstance(metric, NumericMetric):
            try:
                form = self._find_form(metric.expression, Values.of(problem))
            except Undefined:
                form = None
            self._priced = () if form else tuple(functions_in(metric.expression))

    def read(
        self, values: Values, comparisons: Iterable[tuple[Comparison, bool]], effects: Sequence[NumericEffect]
    ) -> NumberAccess:
        """Return the access of a step that needs ground `comparisons` to hold or not, and has the ground `effects`."""
        needs: list[Need] = []
        compared: set[Key] = set()
        read: dict[Key, Condition | None] = {}
        for comparison, holds in comparisons:
            terms = [(term.predicate, term.args) for term in comparison.functions]
            fluents = [key for key in terms if key[0] in self._fluents]
            compared.update(fluents)
            if all(values.get(key) is not None for key in terms):
                found = self._find_needs(values, comparison, holds=holds)
                if found is None:
                    read |= self._read_values(values, comparison.functions)
                else:
                    needs += found
        added: dict[Key, Exact] = {}
        assigned: set[Key] = set()
        for change in compute_numbers(values, effects, self._domain):
            key = change.fluent.predicate, change.fluent.args
            own = [effect for effect in effects if effect.fluent == change.fluent]
            scaled = [change.fluent] if own[0].operator in SCALES else []
            read |= self._read_values(values, [*scaled, *[x for effect in own for x in functions_in(effect.value)]])
            if own[0].is_additive:
                assert change.before is not None
                assert change.after is not None
                added[key] = exact_value(change.after - change.before)
                needs += [
                    each for each in self._find_bounds(key, change.after, added[key]) if not _follows(each, needs)
                ]
            else:
                assigned.add(key)
        if TOTAL_COST in self._priced or any(Atom(*key) in self._priced for key in (*added, *assigned)):
            read = dict.fromkeys(self._read_values(values, self._priced)) | read
        return NumberAccess(tuple(needs), frozenset(compared), read, added, frozenset(assigned))

    def _find_needs(self, values: Values, comparison: Comparison, *, holds: bool) -> list[Need] | None:
        """Return what keeps a `comparison` of defined values as it is; None where it is not linear."""
        try:
            form = self._find_form(Arithmetic("-", (comparison.left, comparison.right)), values)
        except Undefined:  # it divides by 0 in every state
            return []
        if form is None:
            return None
        if form.is_constant:
            return []
        excess, relation = exact_value(form.evaluate(values.fluents)), comparison.relation
        about = comparison if holds else Not(comparison)
        if relation == "=":
            strict = not holds
            signs = [1, -1] if holds else [1 if excess > 0 else -1]
        else:
            strict = (relation in ("<", ">")) is holds
            signs = [1 if (relation in (">", ">=")) is holds else -1]
        return [
            Need({key: sign * weight for key, weight in form.weights.items()}, sign * excess, strict, about)
            for sign in signs
        ]

    def _find_form(self, expression: Expression, values: Values) -> LinearForm | None:
        """Return the linear form of `expression`; None where it is not linear."""
        try:
            return linear_form(expression, {}, lambda key: self._value_of(key, values))
        except UnsupportedError:
            return None

    def _value_of(self, key: Key, values: Values) -> Exact | bool | None:
        if key[0] in self._fluents:
            return True
        return 0 if key[0] == TOTAL_COST.predicate and key not in values.statics else values.statics.get(key)

    def _find_bounds(self, key: Key, after: Exact, amount: Exact) -> list[Need]:
        """Return what keeps a fluent, which is increased by `amount`, inside its bounds."""
        function = self._domain.functions.get(key[0])
        needs = []
        for sign, relation, end in () if function is None else ((1, ">=", function.low), (-1, "<=", function.high)):
            if end is not None and sign * amount < 0:
                bound = exact_value(end)
                about = Comparison(Atom(*key), relation, _as_expression(exact_value(bound - amount)))
                needs.append(Need({key: sign}, sign * (after - bound), False, about))
        return needs

    def _read_values(self, values: Values, terms: Iterable[Atom]) -> dict[Key, Condition]:
        """Return the fluents among `terms` that have values, with comparisons that say the values."""
        found: dict[Key, Condition] = {}
        for term in terms:
            key = term.predicate, term.args
            value = values.get(key)
            if key[0] in self._fluents and value is not None:
                found[key] = Comparison(term, "=", _as_expression(value))
        return found


def _follows(need: Need, others: Iterable[Need]) -> bool:
    """Return whether one of the `others` allows less than `need`."""
    return any(need.weights == each.weights and each.slack <= need.slack for each in others)


def _as_expression(value: Exact) -> Expression:
    number = as_number(value)
    return Arithmetic("/", (value.numerator, value.denominator)) if number is None else number
