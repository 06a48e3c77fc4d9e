"""What actions use of the resources that have a budget, as integers."""

from __future__ import annotations

from decimal import Decimal

from planner.grounding.costs import common_resolution, use_picker
from planner.model import COST, Number, Problem
from planner.plan import exact
from planner.records import dataclass
from planner.task import INFINITY, Task


@dataclass(frozen=True, slots=True)
class Allowance:
    """The budget on one resource: `uses` of each action, by number, and `most`; `resolution` units make one."""

    name: str
    uses: list[int]
    most: int
    budget: Number
    resolution: int

    def shown(self, units: int) -> Number:
        """Return so many units in the problem's terms."""
        return exact(Decimal(units) / self.resolution)


def allowances(problem: Problem, task: Task) -> list[Allowance]:
    """Return the budgets of `problem` on resources that plans may use too much of.

    Raises `InputError` where a static value is missing, `DeclarationError` where a function gives none.
    """
    return [
        allowance
        for name, budget in problem.budgets.items()
        if name != COST and any((allowance := _allowance(name, budget, problem, task)).uses)
    ]


def _allowance(name: str, budget: Number, problem: Problem, task: Task) -> Allowance:
    pickers = {action.name: use_picker(name, action, problem) for action in problem.domain.actions.values()}
    amounts = [pickers[action.step.action](action.step.arguments) for action in task.actions]
    resolution = common_resolution(set(amounts))
    return Allowance(
        name, [int(amount * resolution) for amount in amounts], int(budget * resolution), budget, resolution
    )


def cost_allowance(problem: Problem, task: Task) -> Allowance:
    """Return the budget on the cost; `most` is `INFINITY` where there is none."""
    budget = problem.budgets.get(COST)
    most = INFINITY if budget is None else int(budget * task.resolution)
    return Allowance(COST, [action.cost for action in task.actions], most, budget or 0, task.resolution)
