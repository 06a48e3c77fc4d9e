"""Costs in the form that other planners take: one number, or one value of a static function."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Final

from planner.errors import UnsupportedError
from planner.model import (
    Action,
    Atom,
    CostTerm,
    Function,
    Metric,
    Number,
    Problem,
    Term,
    TypeHierarchy,
    Variable,
    is_variable,
)
from planner.plan import exact_sum

TABLE_LIMIT: Final = 200_000
"""The most combinations of arguments for which costs that are sums are written out."""


def tabulate(problem: Problem) -> Problem:
    """Return `problem`, whose costs Python does not compute, with each as a number or one function term.

    Sums become tables.

    Raises `UnsupportedError` where a table would be longer than `TABLE_LIMIT`.
    """
    if problem.metric is Metric.LENGTH:
        actions = {name: replace(action, cost=(1,)) for name, action in problem.domain.actions.items()}
        return replace(problem, domain=replace(problem.domain, actions=actions, functions={}), values={})
    tables = _Tables(problem)
    actions = {name: replace(action, cost=tables.cost(action)) for name, action in problem.domain.actions.items()}
    domain = replace(problem.domain, actions=actions, functions={**problem.domain.functions, **tables.functions})
    return replace(problem, domain=domain, values={**problem.values, **tables.values})


def uniform_cost(actions: Iterable[Action]) -> Number | None:
    """Return what each of `actions`, of a tabulated problem, costs, where that is one number; else None."""
    costs = {action.cost[0] for action in actions}
    only = next(iter(costs), 1)
    return only if len(costs) <= 1 and isinstance(only, int | Decimal) else None


class _Tables:
    """The functions and values that costs of several terms become."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._members = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
        self.functions: dict[str, Function] = {}
        self.values: dict[Atom, Number] = {}

    def cost(self, action: Action) -> tuple[CostTerm, ...]:
        """Return the cost of `action` as one term."""
        number = exact_sum(term for term in action.cost if isinstance(term, int | Decimal))
        parts = [term for term in action.cost if not isinstance(term, int | Decimal)]
        if not parts:
            return (number,)
        return (parts[0],) if len(parts) == 1 and not number else (self._table(action),)

    def _table(self, action: Action) -> Atom:
        name = f"cost-of-{action.name}"
        while name in self._problem.domain.functions or name in self.functions:
            name += "-"
        used = _used(action)
        self.functions[name] = Function(name, used)
        domains = [self._range(variable) for variable in used]
        if math.prod(map(len, domains)) > TABLE_LIMIT:
            raise UnsupportedError(
                f"the cost of {action.name}, a table of {math.prod(map(len, domains)):,} entries",
                "make it one function",
            )
        for arguments in product(*domains):
            binding = dict(zip([variable.name for variable in used], arguments, strict=True))
            numbers = [self._number(term, binding) for term in action.cost]
            if None not in numbers:
                self.values[Atom(name, arguments)] = exact_sum(number for number in numbers if number is not None)
        return Atom(name, tuple([variable.name for variable in used]))

    def _range(self, variable: Variable) -> list[str]:
        return list(dict.fromkeys(item for name in variable.types for item in self._members.get(name, ())))

    def _number(self, term: CostTerm, binding: Mapping[Term, Term]) -> Number | None:
        if isinstance(term, Atom):
            return self._problem.values.get(term.substitute(binding))
        return term if isinstance(term, int | Decimal) else None


def _used(action: Action) -> tuple[Variable, ...]:
    """Return the parameters on which the cost of `action` depends."""
    terms = {arg for term in action.cost if isinstance(term, Atom) for arg in term.args if is_variable(arg)}
    return tuple([parameter for parameter in action.parameters if parameter.name in terms])
