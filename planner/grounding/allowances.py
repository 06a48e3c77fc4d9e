"""The budgets of a problem for its ground actions: how much each action uses, and how much all may."""

from __future__ import annotations

from planner.compilations.budgets import SPENT
from planner.grounding.action_tables import common_resolution, make_cost_function, make_use_function
from planner.lightweight import replace
from planner.model import COST, Number, NumericMetric, Problem
from planner.task.ground_task import Allowance, Task


def with_allowances(task: Task, problem: Problem) -> Task:
    """Return `task`, the ground form of `problem`, with the budgets of `problem`; raises as `find_allowances` does."""
    found = find_allowances(problem, task)
    return replace(task, allowances=found) if found else task


def find_allowances(problem: Problem, task: Task) -> tuple[Allowance, ...]:
    """Return the budgets of `problem` on what the actions of `task` use, first that on the cost if it is the metric.

    Raises `InputError` for a missing static value, `DeclarationError` for a function that gives none.
    """
    found: list[Allowance] = []
    for name, budget in problem.budgets.items():
        if name == COST and not isinstance(problem.metric, NumericMetric):
            found.insert(0, _limit_cost(task, budget))
        else:
            made = _make_allowance(name, budget, problem, task)
            found += [made] if any(made.uses) else []
    return tuple(found)


def _limit_cost(task: Task, budget: Number) -> Allowance:
    uses = [action.cost for action in task.actions]
    return Allowance(COST, uses, int(budget * task.resolution), budget, task.resolution, is_charged=True)


def _make_allowance(name: str, budget: Number, problem: Problem, task: Task) -> Allowance:
    actions = problem.domain.actions.values()
    pickers = {
        action.name: make_cost_function(action, problem) if name == COST else make_use_function(name, action, problem)
        for action in actions
    }
    amounts = [pickers[action.step.action](action.step.arguments) for action in task.actions]
    resolution = common_resolution(set(amounts))
    uses = [int(amount * resolution) for amount in amounts]
    return Allowance(COST if name == SPENT else name, uses, int(budget * resolution), budget, resolution)
