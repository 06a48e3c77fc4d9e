"""Read the metric of a problem: as costs of actions where that is exact, else as an expression at the end of the plan.

`(total-time)` is the makespan where actions have durations, and without a metric it counts. Elsewhere it counts the
steps, as VAL does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.language.pddl import syntax
from planner.language.pddl.pddl_costs import Pricing, replace_by_costs
from planner.language.pddl.pddl_numbers import REWARD, read_expression
from planner.language.pddl.sections import Definition
from planner.language.pddl.syntax import TOTAL_COST as TOTAL_COST_WORD
from planner.language.pddl.syntax import Tree, quote, refuse_construct, suggest_nearest, warn
from planner.lightweight import TYPE_CHECKING, Final, dataclass, field, replace
from planner.model.actions import CostTerm
from planner.model.arithmetic import as_fraction, as_number, exact_value
from planner.model.domain import DomainModel, has_durations, numeric_effects, numeric_fluents
from planner.model.formulas import Arithmetic, Atom, Expression, Number, exact_number, functions_in
from planner.model.problem import TOTAL_COST, Metric, NumericMetric
from planner.model.timing import TOTAL_TIME

_EXAMPLE: Final = "'(:metric minimize (total-cost))'"
_VIOLATED: Final = "is-violated"
_CONSTANT: Final = Atom("")
"""The key of the constant term of a sum."""

if TYPE_CHECKING:
    from fractions import Fraction

    Terms = dict[Atom, Fraction]
    """A sum: the weight of each function."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A metric: how the cost of a plan is counted, the worth of each preference, and the domain with its costs.

    `gone` are functions that became costs.
    """

    metric: Metric | NumericMetric
    domain: DomainModel
    worth: Mapping[str, Number] = field(default_factory=dict)
    gone: frozenset[Atom] = frozenset()


def read_metric(definition: Definition, pricing: Pricing) -> Weights:
    """Read the metric of a problem for the domain of `pricing`; without one, the cost of a plan is its length.

    Raises `PddlError` for what is no metric, `UnsupportedError` where violated preferences stand beside numbers that
    are no costs.
    """
    section, domain = definition.one(":metric"), pricing.domain
    match section:
        case None:
            return Weights(NumericMetric(TOTAL_TIME) if has_durations(domain) else Metric.LENGTH, domain)
        case [_, "minimize", [str(name)] | str(name)] if name == TOTAL_COST_WORD and not _is_function(pricing):
            return Weights(Metric.COST, domain)
        case [_, "maximize", ["reward"] | "reward"] if REWARD not in pricing.words.functions:
            warn(definition.source, section, None, "the reward is left out: what counts is that the goal is reached")
            return Weights(Metric.LENGTH, domain)
        case [_, "minimize" | "maximize", _, *_]:
            if len(section) > 3:
                message = f"found {quote(section[3])} after the end of the metric"
                raise definition.source.error(message, section, 3, "join two expressions with '(+ …)'")
            return _Reader(definition, section, pricing).read()
        case [_, str(word), *_] if word not in ("minimize", "maximize"):
            hint = suggest_nearest(word, ("minimize", "maximize"))
            message = f"found {quote(word)}, expected 'minimize'"
            raise definition.source.error(message, section, 1, hint)
        case _:
            raise definition.source.error(f"found {quote(section)}, expected {_EXAMPLE}", section)


def _is_function(pricing: Pricing) -> bool:
    """Return whether `total-cost` is a function like others."""
    return pricing.words.numbers.total in numeric_fluents(pricing.domain) and not any(
        action.cost for action in pricing.domain.actions.values()
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the metric in `section`."""

    definition: Definition
    section: Tree
    pricing: Pricing

    def read(self) -> Weights:
        expression, maximize = self._read_expression(), self.section[1] == "maximize"
        self._check_values(expression)
        if has_durations(self.pricing.domain) and TOTAL_TIME in functions_in(expression):
            if any(term.predicate == _VIOLATED for term in functions_in(expression)):
                raise refuse_construct(self.definition.source, syntax.METRIC, self.section)
            return Weights(NumericMetric(expression, maximize), self.pricing.domain)
        terms = self._linear(expression)
        if terms is not None:
            signed = {term: -weight if maximize else weight for term, weight in terms.items() if weight}
            signed.pop(_CONSTANT, None)
            found = self._as_costs(signed)
            if found is not None:
                return found
        used = set(functions_in(expression))
        if any(term.predicate == _VIOLATED for term in used):
            raise refuse_construct(self.definition.source, syntax.METRIC, self.section)
        if TOTAL_TIME not in used:
            return Weights(NumericMetric(expression, maximize), self.pricing.domain)
        if TOTAL_COST in used:
            raise refuse_construct(self.definition.source, syntax.TIME_METRIC, self.section)
        domain = self.pricing.domain
        actions = {name: replace(action, cost=(1,)) for name, action in domain.actions.items()}
        counted = _replace_function(expression, TOTAL_TIME, TOTAL_COST)
        return Weights(NumericMetric(counted, maximize), replace(domain, actions=actions))

    def _read_expression(self) -> Expression:
        special: dict[str, Callable[[Tree, int], Expression]] = {_VIOLATED: self._read_violated}
        if TOTAL_TIME.predicate not in self.pricing.words.functions:
            special[TOTAL_TIME.predicate] = lambda *_: TOTAL_TIME
        if not _is_function(self.pricing):
            special[TOTAL_COST_WORD] = lambda *_: TOTAL_COST
        return read_expression(self.section, 2, self.pricing.words, {}, special)

    def _read_violated(self, tree: Tree, index: int) -> Expression:
        match tree[index]:
            case [_, str(name)]:
                return Atom(_VIOLATED, (name,))
        message = f"found {quote(tree[index])}, expected '(is-violated name)'"
        raise self.definition.source.error(message, tree, index)

    def _check_values(self, expression: Expression) -> None:
        """Raise an error for a function in the metric that never has a value."""
        domain, values = self.pricing.domain, self.pricing.values
        assigned = {
            each.fluent.predicate
            for action in domain.actions.values()
            for each in numeric_effects(action)
            if each.operator == ":="
        }
        for term in functions_in(expression):
            if term in (TOTAL_COST, TOTAL_TIME) or term.predicate == _VIOLATED:
                continue
            if term not in values and term.predicate not in assigned:
                message = f"the metric counts {quote(str(term))}, which has no value"
                hint = f"state its first value, such as '(= ({' '.join([term.predicate, *term.args])}) 0)' in (:init …)"
                raise self.definition.source.error(message, self.section, None, hint)

    def _as_costs(self, terms: Terms) -> Weights | None:
        """Return the metric of the sum `terms` to be minimized as costs and worths; None where these do not say it."""
        worth = {term.args[0]: weight for term, weight in terms.items() if term.predicate == _VIOLATED}
        numbers = {term: weight for term, weight in terms.items() if term.predicate != _VIOLATED}
        if any(weight < 0 for weight in worth.values()):
            return None
        if set(numbers) == {TOTAL_COST} and numbers[TOTAL_COST] > 0 and worth:
            share = numbers[TOTAL_COST]
            if all(as_number(exact_value(each / share)) is not None for each in worth.values()):
                worth, numbers = {name: each / share for name, each in worth.items()}, {TOTAL_COST: as_fraction(1)}
        exact = {name: _exact_cost(weight) for name, weight in worth.items()}
        known = {name: number for name, number in exact.items() if number is not None}
        if len(known) < len(exact):
            return None
        if numbers == {TOTAL_COST: 1}:
            return Weights(Metric.COST, self.pricing.domain, known)
        if numbers == {TOTAL_TIME: 1} and not known:
            return Weights(Metric.LENGTH, self.pricing.domain)
        return self._charge(numbers, known)

    def _charge(self, numbers: Terms, worth: Mapping[str, Number]) -> Weights | None:
        costs: dict[str, list[CostTerm]] = {name: [] for name in self.pricing.domain.actions}
        for term, weight in numbers.items():
            charged = (
                self.pricing.charge_total(weight)
                if term == TOTAL_COST
                else self.pricing.charge_steps(weight)
                if term == TOTAL_TIME
                else self.pricing.charge_fluent(term, weight)
            )
            if charged is None:
                return None
            for name, own in charged.items():
                costs[name] += own
        gone = frozenset(numbers) - {TOTAL_COST, TOTAL_TIME}
        return Weights(Metric.COST, replace_by_costs(self.pricing.domain, gone, costs), worth, gone)

    def _linear(self, expression: Expression) -> Terms | None:
        """Return `expression` as a sum; None where it is none. Static functions are constants."""
        match expression:
            case Atom(name):
                value = self.pricing.values.get(expression)
                if value is None or name in numeric_fluents(self.pricing.domain):
                    return {expression: as_fraction(1)}
                return {_CONSTANT: as_fraction(value)}
            case Arithmetic(operator, operands):
                parts = [self._linear(each) for each in operands]
                known = [each for each in parts if each is not None]
                return _combine(operator, known) if len(known) == len(parts) else None
            case _:
                return {_CONSTANT: as_fraction(expression)}


def _exact_cost(weight: Fraction) -> Number | None:
    number = as_number(exact_value(weight))
    try:
        return None if number is None else exact_number(number)
    except ValueError:
        return None


def _combine(operator: str, parts: list[Terms]) -> Terms | None:
    first, *others = parts
    if operator in ("+", "-"):
        sign = 1 if operator == "+" else -1
        found = dict(first) if others or sign == 1 else _scale(first, as_fraction(-1))
        for part in others:
            for term, weight in part.items():
                found[term] = found.get(term, as_fraction(0)) + sign * weight
        return found
    for part in others:
        constant, other = (first, part) if set(first) <= {_CONSTANT} and operator == "*" else (part, first)
        if not set(constant) <= {_CONSTANT}:
            return None
        factor = constant.get(_CONSTANT, as_fraction(0))
        if operator == "/" and not factor:
            return None
        first = _scale(other, factor if operator == "*" else 1 / factor)
    return first


def _scale(terms: Terms, factor: Fraction) -> Terms:
    return {term: weight * factor for term, weight in terms.items()}


def _replace_function(expression: Expression, old: Atom, new: Atom) -> Expression:
    if isinstance(expression, Arithmetic):
        operands = tuple([_replace_function(each, old, new) for each in expression.operands])
        return Arithmetic(expression.operator, operands)
    return new if expression == old else expression
