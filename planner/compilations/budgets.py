"""Budgets of a problem with numbers, as numeric fluents: each step adds what it uses, and the budget is their bound."""

from __future__ import annotations

from planner.errors import UnsupportedError
from planner.lightweight import Final, replace
from planner.model import COST, Action, Arithmetic, Atom, Expression, Function, Metric, NumericEffect, Problem
from planner.model.actions import CostFunction, CostTerm

USED: Final = "@used-"
"""Prefix of the functions that stand for budgets; the name of the resource follows."""


def compile_budgets(problem: Problem) -> Problem:
    """Return `problem` without budgets: actions that would exceed one are not applicable. Plans keep their steps.

    The metric is not one of numbers if the cost has a budget. Raises `UnsupportedError` for uses that Python computes.
    """
    if not problem.budgets:
        return problem
    actions = {name: _add_uses(action, problem) for name, action in problem.domain.actions.items()}
    functions = {f"{USED}{name}": Function(f"{USED}{name}", high=budget) for name, budget in problem.budgets.items()}
    domain = replace(problem.domain, actions=actions, functions={**problem.domain.functions, **functions})
    values = {**problem.values, **{Atom(name): 0 for name in functions}}
    return replace(problem, domain=domain, values=values, budgets={})


def _add_uses(action: Action, problem: Problem) -> Action:
    cost: tuple[CostTerm, ...] = (1,) if problem.metric is Metric.LENGTH else action.cost
    used = {name: cost if name == COST else action.uses.get(name, ()) for name in problem.budgets}
    added = [
        NumericEffect(Atom(f"{USED}{name}"), "+=", _sum(terms, action, name)) for name, terms in used.items() if terms
    ]
    return replace(action, numbers=(*action.numbers, *added)) if added else action


def _sum(terms: tuple[CostTerm, ...], action: Action, name: str) -> Expression:
    parts: list[Expression] = []
    for term in terms:
        if isinstance(term, CostFunction):
            raise UnsupportedError(f"the use of {name} by '{action.name}', which Python computes, beside numbers")
        parts.append(term)
    return parts[0] if len(parts) == 1 else Arithmetic("+", tuple(parts))
