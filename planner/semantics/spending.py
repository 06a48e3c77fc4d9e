"""What plans spend of the budgets of a problem: how much is left, and which budget is exceeded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.lightweight import Final, replace
from planner.model import COST, Number, Problem
from planner.plan import exact_sum
from planner.semantics.durations import least_term

SECONDS: Final = "seconds"
"""Name of the resource that stands for the duration of steps in a sequence."""

Amounts = Mapping[str, Number]
"""Amounts of resources, and of the cost, by name."""


def has_budgets(problem: Problem) -> bool:
    """Return whether plans of `problem` must keep budgets."""
    return bool(problem.budgets)


def add_up(problem: Problem, amounts: Iterable[Amounts]) -> dict[str, Number]:
    """Return the sum of the `amounts` of what has a budget."""
    each = list(amounts)
    return {name: exact_sum([used.get(name, 0) for used in each]) for name in problem.budgets}


def find_left(problem: Problem, spent: Amounts) -> dict[str, Number]:
    """Return what is left of each budget after so much was `spent`; negative where the budget is exceeded."""
    return {name: exact_sum([most, -spent.get(name, 0)]) for name, most in problem.budgets.items()}


def subtract(problem: Problem, spent: Amounts) -> Problem:
    """Return `problem` with what is left of its budgets after so much was `spent`."""
    return replace(problem, budgets=find_left(problem, spent))


def without_debts(problem: Problem) -> Problem:
    """Return `problem` with budgets of 0 instead of negative ones."""
    return replace(problem, budgets={name: max(most, 0) for name, most in problem.budgets.items()})


def is_overdrawn(problem: Problem) -> bool:
    """Return whether a budget of `problem` is negative: even the empty plan exceeds it."""
    return any(most < 0 for most in problem.budgets.values())


def find_exceeded(problem: Problem, spent: Amounts) -> Iterator[tuple[str, Number, Number]]:
    """Yield name, amount and budget of each that is exceeded by what is `spent`."""
    for name, most in problem.budgets.items():
        if spent.get(name, 0) > most:
            yield name, spent.get(name, 0), most


def describe_exceeded(problem: Problem, spent: Amounts) -> Iterator[str]:
    """Yield a sentence for each budget that a plan exceeds which spends so much."""
    for name, amount, most in find_exceeded(problem, spent):
        what = f"costs {amount}" if name == COST else f"uses {amount} of {name}"
        yield f"the plan {what}, and the budget is {most}"


def make_sequential(problem: Problem) -> Problem:
    """Return `problem` with a budget on the sum of the durations instead of its deadline, if it has one."""
    if problem.deadline is None:
        return problem
    domain, name = problem.domain, SECONDS
    while any(name in action.uses for action in domain.actions.values()):
        name = f"{name} at work"
    actions = {
        each.name: replace(each, uses={**each.uses, name: (least_term(each),)}) for each in domain.actions.values()
    }
    budgets = {**problem.budgets, name: problem.deadline}
    return replace(problem, domain=replace(domain, actions=actions), budgets=budgets, deadline=None)
