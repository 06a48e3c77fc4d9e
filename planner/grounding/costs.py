"""What a ground action costs, and what it uses: exact numbers, looked up or computed once for each instance."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from planner.errors import InputError
from planner.grounding.joins import Row, projector
from planner.model import Action, Atom, CostFunction, CostTerm, Metric, Number, Problem


def cost_picker(action: Action, problem: Problem) -> Callable[[Row], Number]:
    """Return a function from the arguments of `action` to its cost in units of the problem."""
    if problem.metric is Metric.LENGTH:
        return lambda _row: 1
    return _sum_picker(action.cost, action, problem, "cost")


def use_picker(resource: str, action: Action, problem: Problem) -> Callable[[Row], Number]:
    """Return a function from the arguments of `action` to how much of `resource` it uses."""
    return _sum_picker(action.uses.get(resource, ()), action, problem, f"use of {resource}")


def _sum_picker(terms: tuple[CostTerm, ...], action: Action, problem: Problem, what: str) -> Callable[[Row], Number]:
    constant = sum(term for term in terms if isinstance(term, int | Decimal))
    parts = [_term_picker(term, action, problem, what) for term in terms if not isinstance(term, int | Decimal)]
    if not parts:
        return lambda _row: constant
    return lambda row: constant + sum(part(row) for part in parts)


def _term_picker(term: CostTerm, action: Action, problem: Problem, what: str) -> Callable[[Row], Number]:
    if isinstance(term, Atom):
        return _table_picker(term, action, problem, what)
    assert isinstance(term, CostFunction)  # noqa: S101 - numbers are summed by the caller
    return term.value


def _table_picker(term: Atom, action: Action, problem: Problem, what: str) -> Callable[[Row], Number]:
    project = projector(term.args, [parameter.name for parameter in action.parameters])

    def pick(row: Row) -> Number:
        key = Atom(term.predicate, project(row))
        if key not in problem.values:
            raise InputError(
                f"the {what} of {action.name}({', '.join(row)}) needs {key}, which '{problem.name}' gives no value",
                hint=f"state it, for example {key} = 1",
            )
        return problem.values[key]

    return pick


def common_resolution(costs: set[Number]) -> int:
    """Return the smallest power of ten that makes every cost an integer when multiplied with it."""
    places = [-int(cost.normalize().as_tuple().exponent) for cost in costs if isinstance(cost, Decimal)]
    return int(10 ** max([0, *places]))
