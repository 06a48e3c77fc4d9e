"""Budgets: a budget on the cost becomes one on a resource, and budgets beside numbers become bounds of fluents.

A budget on the cost is one on the sum of the costs that actions state, whatever the metric counts.
A budget on a resource is what label-setting search keeps (`planner.grounding.allowances`). As numeric fluents, to which
each step adds what it uses, budgets would be kept by every search that takes numbers, but much more slowly: of 32 tasks
of the planning competitions with a bound on the steps, labels settle 25 within 20 seconds, and numbers 19.
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.errors import UnsupportedError
from planner.lightweight import Final, replace
from planner.model import (
    COST,
    Action,
    Arithmetic,
    Atom,
    Expression,
    Function,
    Metric,
    Number,
    NumericEffect,
    Problem,
)
from planner.model.actions import CostFunction, CostTerm

SPENT: Final = "@spent"
"""The resource that stands for the cost of steps, where the cost of a compiled problem includes other prices."""
USED: Final = "@used-"
"""Prefix of the functions that stand for budgets; the name of the resource follows."""


def with_budgets(problem: Problem, budgets: Mapping[str, Number]) -> Problem:
    """Return `problem` with these `budgets`, instead of those of the same names, too."""
    return replace(problem, budgets={**problem.budgets, **budgets})


def without_budgets(problem: Problem) -> Problem:
    """Return `problem` without its budgets."""
    return replace(problem, budgets={})


def budget_spending(problem: Problem) -> Problem:
    """Replace the budget on the cost, if there is one, by one on a resource of which each step uses its cost."""
    if COST not in problem.budgets:
        return problem
    actions = {
        name: replace(each, uses={**each.uses, SPENT: _cost_of(each, problem)})
        for name, each in problem.domain.actions.items()
    }
    budgets = {SPENT if name == COST else name: limit for name, limit in problem.budgets.items()}
    return replace(problem, domain=replace(problem.domain, actions=actions), budgets=budgets)


def _cost_of(action: Action, problem: Problem) -> tuple[CostTerm, ...]:
    return (1,) if problem.metric is Metric.LENGTH else action.cost


def compile_budgets(problem: Problem) -> Problem:
    """Return `problem` without budgets: actions that would exceed one are not applicable. Plans keep their steps.

    Raises `UnsupportedError` for uses that Python computes.
    """
    if not problem.budgets:
        return problem
    actions = {name: _add_uses(action, problem) for name, action in problem.domain.actions.items()}
    functions = {f"{USED}{name}": Function(f"{USED}{name}", high=budget) for name, budget in problem.budgets.items()}
    domain = replace(problem.domain, actions=actions, functions={**problem.domain.functions, **functions})
    values = {**problem.values, **{Atom(name): 0 for name in functions}}
    return replace(problem, domain=domain, values=values, budgets={})


def _add_uses(action: Action, problem: Problem) -> Action:
    cost = _cost_of(action, problem)
    used = {name: cost if name == COST else action.uses.get(name, ()) for name in problem.budgets}
    added = [
        NumericEffect(Atom(f"{USED}{name}"), "+=", sum_terms(terms, action, f"use of {name}"))
        for name, terms in used.items()
        if terms
    ]
    return replace(action, numbers=(*action.numbers, *added)) if added else action


def sum_terms(terms: tuple[CostTerm, ...], action: Action, what: str) -> Expression:
    """Return the sum of `terms`, of which there is one or more; raises `UnsupportedError` for what Python computes."""
    parts: list[Expression] = []
    for term in terms:
        if isinstance(term, CostFunction):
            raise UnsupportedError(f"the {what} by '{action.name}', which Python computes, beside numbers")
        parts.append(term)
    return parts[0] if len(parts) == 1 else Arithmetic("+", tuple(parts))
