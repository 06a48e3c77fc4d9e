"""Decide which increases are costs of actions: those of `total-cost`, and of what the metric counts.

Most searches take costs and no other numbers. A function that steps only increase, by static amounts, and that nothing
but the metric reads is a cost. `total-cost` is a function like others, called `total_cost` in the model, where a
condition or an effect reads it, or an effect does anything but increase it, whatever holds, by a static amount.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import chain
from math import prod

from planner.language.pddl.pddl_vocabulary import Vocabulary
from planner.language.pddl.syntax import TOTAL_COST, quote
from planner.lightweight import TYPE_CHECKING, Final, dataclass, field, replace
from planner.model.actions import Action, CostTerm, NumericEffect
from planner.model.arithmetic import Exact, as_fraction, as_number, exact_value
from planner.model.domain import DomainModel, Function, conditions_of, has_numbers, numeric_effects, numeric_fluents
from planner.model.formulas import (
    LIMIT,
    Arithmetic,
    Atom,
    Expression,
    Number,
    comparisons_in,
    exact_number,
    functions_in,
)

if TYPE_CHECKING:
    from fractions import Fraction

TOTAL_AS_FUNCTION: Final = "total_cost"
"""The name of `total-cost` where it is a function like others; in the model, `total-cost` is the sum of costs."""

Range = tuple[Exact, Exact]
"""The least and the greatest value."""


def settle_total_cost(domain: DomainModel, words: Vocabulary) -> DomainModel:
    """Return `domain`, where increases of `total-cost` are costs, with a function for it where they cannot be costs.

    Raises the `PddlError` of a cost that is negative or too large, if there are no other numbers in `domain`, and one
    where that function would have the name of another.
    """
    uses = words.numbers
    terms = [term for action in domain.actions.values() for term in action.cost if isinstance(term, Atom | Arithmetic)]
    is_read = uses.total in uses.reads
    is_odd = uses.is_total_odd or any(each.predicate in uses.changed for term in terms for each in functions_in(term))
    if uses.bad_costs and not (is_read or is_odd or has_numbers(domain)):
        raise uses.bad_costs[0]
    if not (is_read or is_odd or uses.bad_costs):
        return domain
    if TOTAL_AS_FUNCTION in domain.functions:
        message = f"the domain has the functions {quote(TOTAL_COST)} and {quote(TOTAL_AS_FUNCTION)}"
        raise words.source.error(message, words.source.expressions[0], None, "rename the second")
    return count_total(domain, keep=not (is_odd or uses.bad_costs))


def count_total(domain: DomainModel, *, keep: bool) -> DomainModel:
    """Add the function for `total-cost` to `domain`, increased by each action's cost; keep the costs only if `keep`."""
    functions = {**domain.functions, TOTAL_AS_FUNCTION: Function(TOTAL_AS_FUNCTION)}
    started = domain.unfinished.costs_at_start
    actions = {name: _count_cost(action, started.get(name, 0), keep=keep) for name, action in domain.actions.items()}
    return replace(domain, functions=functions, actions=actions)


def _count_cost(action: Action, started: int, *, keep: bool) -> Action:
    """Let `action` increase the function for `total-cost` by its cost: by its `started` first terms at its start."""
    total = Atom(TOTAL_AS_FUNCTION)
    increases = [NumericEffect(total, "+=", _expression_of(term)) for term in action.cost]
    kept = replace(action, cost=action.cost if keep else ())
    if action.duration is None:
        return replace(kept, numbers=(*action.numbers, *increases))
    start, end = action.at_start, action.at_end
    if increases[:started]:
        start = replace(start, numbers=(*start.numbers, *increases[:started]))
    if increases[started:]:
        end = replace(end, numbers=(*end.numbers, *increases[started:]))
    return replace(kept, at_start=start, at_end=end)


def _expression_of(term: CostTerm) -> Expression:
    assert isinstance(term, int | Decimal | Atom | Arithmetic)
    return term


def names_read(domain: DomainModel) -> set[str]:
    """Return the names of the functions that conditions and effects of `domain` read."""
    conditions = chain.from_iterable(conditions_of(action) for action in domain.actions.values())
    formulas = [*conditions, *[axiom.condition for axiom in domain.axioms]]
    found = {term.predicate for each in formulas for part in comparisons_in(each) for term in part.functions}
    effects = [effect for action in domain.actions.values() for effect in numeric_effects(action)]
    return found | {term.predicate for effect in effects for term in functions_in(effect.value)}


@dataclass(slots=True)
class Pricing:
    """Finds what functions of `domain` are costs of its actions, where functions have `values` at first.

    `reads` are functions that conditions of the problem read.
    """

    domain: DomainModel
    words: Vocabulary
    values: Mapping[Atom, Number]
    reads: frozenset[str]
    _ranges: dict[str, Range] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    _read: set[str] | None = None

    def has_sound_costs(self) -> bool:
        """Return whether no cost of an action can be negative or too large."""
        terms = dict.fromkeys(term for action in self.domain.actions.values() for term in action.cost)
        return all(self._is_cost(_expression_of(term)) for term in terms)

    def charge_total(self, weight: Fraction) -> dict[str, list[CostTerm]] | None:
        """Return the costs of each action times `weight`; None where these are no costs."""
        if weight == 1:
            return {name: list(action.cost) for name, action in self.domain.actions.items()}
        return self._weigh(
            {
                name: [(weight, _expression_of(each)) for each in action.cost]
                for name, action in self.domain.actions.items()
            }
        )

    def charge_steps(self, weight: Fraction) -> dict[str, list[CostTerm]] | None:
        """Return the cost `weight` for each action; None where it is negative."""
        return self._weigh({name: [(weight, 1)] for name in self.domain.actions})

    def charge_fluent(self, fluent: Atom, weight: Fraction) -> dict[str, list[CostTerm]] | None:
        """Return what each action adds to `weight` times `fluent`, as costs; None where these are no costs."""
        name = fluent.predicate
        if fluent.args or fluent not in self.values or name in self.reads or name in self._names_read():
            return None
        found: dict[str, list[tuple[Fraction, Expression]]] = {}
        for action in self.domain.actions.values():
            own = [each for each in action.numbers if each.fluent == fluent]
            if len(own) < sum(each.fluent == fluent for each in numeric_effects(action)):
                return None
            if not all(each.is_additive and self._is_total(each.value) for each in own):
                return None
            found[action.name] = [(weight if each.operator == "+=" else -weight, each.value) for each in own]
        return self._weigh(found)

    def _names_read(self) -> set[str]:
        if self._read is None:
            self._read = names_read(self.domain)
        return self._read

    def _weigh(self, terms: Mapping[str, list[tuple[Fraction, Expression]]]) -> dict[str, list[CostTerm]] | None:
        found: dict[str, list[CostTerm]] = {}
        for name, own in terms.items():
            weighed = [_multiply(weight, term) for weight, term in own]
            known = [each for each in weighed if each is not None and self._is_cost(each)]
            if len(known) < len(own):
                return None
            found[name] = list(known)
        return found

    def _is_cost(self, term: Expression) -> bool:
        """Return whether `term` is a decimal from 0 to below the limit of costs, wherever it has a value."""
        if any(each.predicate in numeric_fluents(self.domain) for each in functions_in(term)):
            return False
        span = self._span(term)
        return span is not None and span[0] >= 0 and span[1] < LIMIT and self._is_short(term)

    def _is_short(self, term: Expression) -> bool:
        """Return whether the values of `term` have few digits, as costs must."""
        if isinstance(term, int | Decimal):
            return _is_short_number(term)
        names = {each.predicate for each in functions_in(term)}
        return all(_is_short_number(value) for each, value in self.values.items() if each.predicate in names)

    def _is_total(self, term: Expression) -> bool:
        """Return whether `term` has a value for all objects."""
        return all(self._has_all_values(self.domain.functions.get(each.predicate)) for each in functions_in(term))

    def _has_all_values(self, function: Function | None) -> bool:
        if function is None:
            return False
        if not self._counts:
            self._count_values()
        extents = [len(self.words.extent(each.types)) for each in function.parameters]
        return self._counts.get(function.name, 0) == prod(extents)

    def _count_values(self) -> None:
        for term, number in self.values.items():
            name, value = term.predicate, exact_value(number)
            low, high = self._ranges.get(name, (value, value))
            self._ranges[name] = (min(low, value), max(high, value))
            self._counts[name] = self._counts.get(name, 0) + 1

    def _span(self, term: Expression) -> Range | None:
        """Return bounds on `term`; None where there are none, or where its values may be no decimals.

        A function without any value has none.
        """
        if isinstance(term, Atom):
            if not self._counts:
                self._count_values()
            return self._ranges.get(term.predicate, (0, 0))
        if not isinstance(term, Arithmetic):
            return exact_value(term), exact_value(term)
        spans = [self._span(each) for each in term.operands]
        known = [each for each in spans if each is not None]
        return _combine_spans(term, known) if len(known) == len(spans) else None


def _combine_spans(term: Arithmetic, spans: list[Range]) -> Range | None:
    (low, high), *others = spans
    if not others:
        return -high, -low
    for (least, most), operand in zip(others, term.operands[1:], strict=True):
        match term.operator:
            case "+":
                low, high = low + least, high + most
            case "-":
                low, high = low - most, high - least
            case "*":
                corners = [one * other for one in (low, high) for other in (least, most)]
                low, high = min(corners), max(corners)
            case _:
                if isinstance(operand, Atom | Arithmetic) or as_number(as_fraction(1) / least) is None:
                    return None
                low, high = sorted((as_fraction(low) / least, as_fraction(high) / least))
    return low, high


def _is_short_number(value: Number) -> bool:
    try:
        exact_number(value)
    except ValueError:
        return False
    return True


def _multiply(weight: Fraction, term: Expression) -> Expression | None:
    """Return `term` times `weight`; None where `weight` is no decimal."""
    if weight == 1:
        return term
    if not isinstance(term, Atom | Arithmetic):
        return as_number(exact_value(weight * exact_value(term)))
    number = as_number(exact_value(weight))
    return None if number is None else Arithmetic("*", (number, term))


def replace_by_costs(domain: DomainModel, fluents: Iterable[Atom], costs: Mapping[str, list[CostTerm]]) -> DomainModel:
    """Return `domain`, where actions have these `costs`, and `fluents` are no functions any more."""
    gone = set(fluents)
    actions = {
        name: replace(
            action, cost=tuple(costs[name]), numbers=tuple([each for each in action.numbers if each.fluent not in gone])
        )
        for name, action in domain.actions.items()
    }
    names = {each.predicate for each in gone}
    functions = {name: each for name, each in domain.functions.items() if name not in names}
    return replace(domain, actions=actions, functions=functions)
