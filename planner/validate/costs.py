"""The exact cost of a step, and what it uses of resources."""

from __future__ import annotations

from planner.errors import PlanError
from planner.model import Action, Atom, CostFunction, CostTerm, Metric, Number, Problem
from planner.plan import exact_sum
from planner.validate.conditions import Binding


def cost_of(problem: Problem, action: Action, binding: Binding) -> Number:
    """Return what a step costs, exactly; `binding` gives the action's parameters in their order.

    Raises `PlanError` where a static value is missing or negative, `DeclarationError` where a function gives none.
    """
    if problem.metric is Metric.LENGTH:
        return 1
    return exact_sum(_term(problem, term, binding, "cost") for term in action.cost)


def uses_of(problem: Problem, action: Action, binding: Binding) -> dict[str, Number]:
    """Return how much of each resource a step uses, exactly; resources that `action` does not name are left out.

    Raises as `cost_of` does.
    """
    return {
        resource: exact_sum(_term(problem, term, binding, f"use of {resource}") for term in terms)
        for resource, terms in action.uses.items()
    }


def _term(problem: Problem, term: CostTerm, binding: Binding, what: str) -> Number:
    match term:
        case CostFunction():
            return term.value(tuple(binding.values()))
        case Atom():
            key = term.substitute(binding)
            if key not in problem.values:
                raise PlanError(f"its {what} {key} has no value in problem '{problem.name}'")
            return _checked(problem.values[key], f"its {what} {key}")
        case _:
            return _checked(term, f"its {what}")


def _checked(number: Number, name: str) -> Number:
    if number < 0:
        raise PlanError(f"{name} is {number}, and that is never negative")
    return number
