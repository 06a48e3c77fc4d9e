"""Compute the remaining budgets of a run, and the time to its deadline.

Each attempt at a step is charged with the declared cost and uses of its action, whatever its result: the plan was made
with these numbers. The seconds that steps took are subtracted from the deadline, as if they had run one after another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING

from executor.events.steps import StepRecord
from planner.lightweight import replace
from planner.model import Number, Problem
from planner.plan import Step
from planner.repair.patch_reductions import subtract_costs, sum_costs
from planner.semantics.spending import is_overdrawn

if TYPE_CHECKING:
    from executor.events.run_state import RunState

MILLISECOND = Decimal("0.001")


def subtract_spent(problem: Problem, state: RunState, fixed: Collection[StepRecord]) -> Problem:
    """Return `problem` with its remaining budgets and deadline; present attempts at `fixed` steps are not charged."""
    left = subtract_costs(problem, _list_paid_attempts(state, {record.id for record in fixed}))
    if problem.deadline is None:
        return left
    spent = Decimal(state.spent.duration).quantize(MILLISECOND)
    return replace(left, deadline=max(Decimal(0), problem.deadline - spent))


def sum_spent(state: RunState) -> dict[str, Number]:
    """Return the declared amounts that all attempts have used of each budget."""
    return sum_costs(state.problem, _list_paid_attempts(state, ()))


def can_be_paid(problem: Problem, steps: Iterable[Step]) -> bool:
    """Return whether the budgets of `problem` suffice for `steps`."""
    return not is_overdrawn(subtract_costs(problem, steps))


def can_try_again(state: RunState, record: StepRecord) -> bool:
    """Return whether the budgets suffice for another attempt at a step and for the rest of the plan."""
    pending = [each.step for each in state.pending()]
    return can_be_paid(state.problem, [*_list_paid_attempts(state, ()), record.step, *pending])


def _list_paid_attempts(state: RunState, working: Collection[str]) -> list[Step]:
    """Return a step for each attempt, without the present attempts at the steps `working`."""
    paid: list[Step] = []
    for record in state.steps.values():
        paid += [record.step] * (record.attempts - (record.id in working and record.attempts > 0))
    return paid
