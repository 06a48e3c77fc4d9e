"""Plans of the delete relaxation of a ground problem: those of h_FF, and cheapest ones, whose cost is h+."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

from planner.heuristics.hplus import find_relaxed_plans
from planner.heuristics.relaxation import AXIOM, RelaxedPlan, RelaxedTask, relax
from planner.lab.state_space import ActionInstance, GroundState, StateSpace
from planner.lightweight import Final, dataclass, replace
from planner.limits import LimitReached
from planner.model import Number
from planner.plan import StoppedBy, divide_exactly
from planner.task.ground_task import INFINITY, facts_of

UNLIMITED: Final = 1 << 62
"""Operator evaluations that nobody lives to see."""


@dataclass(frozen=True, slots=True)
class RelaxedSolution:
    """A plan of the delete relaxation: `actions` in an order in which each is applicable, at `cost`.

    The conditional effects of an action come about as soon as their conditions hold, also after the action. All plans
    of the relaxation cost at least `lower_bound`, and so do all plans.
    """

    actions: tuple[ActionInstance, ...]
    cost: Number
    lower_bound: Number

    @property
    def is_optimal(self) -> bool:
        """Whether the cost is h+, the least cost of all plans of the relaxation."""
        return self.cost == self.lower_bound

    def __len__(self) -> int:
        return len(self.actions)

    def __bool__(self) -> bool:
        """Return True: a solution without actions, as in a goal state, is one."""
        return True

    def __str__(self) -> str:
        return "\n".join([f"{number}. {action}" for number, action in enumerate(self.actions, start=1)])


def find_relaxed_solution(
    space: StateSpace, state: GroundState, *, optimal: bool, time_limit: float | None
) -> RelaxedSolution | None:
    """Return a relaxed plan for `state`, a cheapest one if `optimal`; None if there is no relaxed plan."""
    bits, until = space.bits_of(state), math.inf if time_limit is None else time.monotonic() + time_limit
    task, costs = space.task, space.engine.costs

    def check() -> None:
        if time.monotonic() > until:
            raise LimitReached(StoppedBy.TIME)

    value, chosen = RelaxedPlan(task, costs, lambda: None).advise(bits)
    if value == INFINITY:
        return None
    bound = 0
    if optimal:
        start = replace(task, initial=tuple(facts_of(bits)))
        try:
            for bound, found in find_relaxed_plans(start, costs, check, UNLIMITED):
                if found is not None and space.engine.cost_of(found) < value:
                    value, chosen = space.engine.cost_of(found), set(found)
                if bound >= value:
                    break
        except LimitReached:
            pass
    actions = order_actions(relax(task), bits, chosen)
    resolution = task.resolution
    return RelaxedSolution(
        tuple([space.actions[number] for number in actions]),
        divide_exactly(value, resolution),
        divide_exactly(min(bound, value), resolution),
    )


def order_actions(relaxed: RelaxedTask, state: int, chosen: Iterable[int]) -> list[int]:
    """Order the actions in `chosen` so that each is applicable in the relaxation, from `state`, when its turn comes."""
    wanted = set(chosen)
    held = {*facts_of(state), relaxed.start}
    waiting = [operator for operator, action in enumerate(relaxed.actions) if action == AXIOM or action in wanted]
    order: dict[int, None] = {}
    before = -1
    while before != len(waiting):
        before, blocked = len(waiting), []
        for operator in waiting:
            if held.issuperset(relaxed.preconditions[operator]):
                held.update(relaxed.effects[operator])
                if relaxed.actions[operator] != AXIOM:
                    order[relaxed.actions[operator]] = None
            else:
                blocked.append(operator)
        waiting = blocked
    return list(order)
