"""What policies aim at: which ends are worth what, and what may be hoped for before a state is looked into."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from planner.annotations import Final, Protocol
from planner.heuristics import REGISTRY
from planner.model import COST
from planner.task import INFINITY, State, Task
from planner.uncertain.graph import OPEN, STOP, Option
from planner.uncertain.process import NOTHING, Process
from planner.uncertain.purse import Left

GUIDE: Final = "lmcut"
FINE: Final = 1024
"""Expected costs for the heuristic are rounded down to this part of a unit."""

IMPOSSIBLE: Final = float("inf")


class Objective(Enum):
    """What a policy is to achieve; what comes first is never traded for what comes after."""

    SUCCESS = "the most likely success; among the policies that have it, the least expected cost"
    COST = "the least expected cost, where giving up costs a stated penalty"
    UTILITY = "the most likely success, then the greatest expected utility, then the least expected cost"


class Hoping(Protocol):
    """What says how good a state may be at best, in units of the task's resolution."""

    def luckiest(self, state: State) -> int:
        """Return a lower bound on what the goal costs with luck; `INFINITY` where nothing leads to it."""

    def expected(self, state: State) -> float:
        """Return a lower bound on the expected cost of reaching the goal; `IMPOSSIBLE` where no outcomes lead to it."""


class Aim:
    """An objective on a process: the values of its ends.

    `rewards` is how many rewards come before the cost. `penalty`, in units of the task's resolution, is what giving up
    costs; None where success comes first. Without `hopes`, nothing is known about states that were not looked into.
    """

    def __init__(
        self, process: Process, objective: Objective, penalty: float | None = None, hopes: Hoping | None = None
    ) -> None:
        self.process = process
        self.objective = objective
        self.penalty = penalty
        self.hopes = hopes
        self.rewards = {Objective.SUCCESS: 1, Objective.COST: 0 if penalty is not None else 1, Objective.UTILITY: 2}[
            objective
        ]
        self.most = float(sum([wish.utility for wish in process.wishes if wish.cases]))

    def stop(self, state: State) -> Option:
        """Return what it is worth to end in `state`."""
        reached = self.process.is_goal(state)
        utility = float(self.process.utility(state)) if self.rewards > 1 and reached else 0.0
        price = 0.0 if reached or self.penalty is None else self.penalty
        return Option(STOP, price, (), (float(reached), utility)[: self.rewards])

    def is_over(self, state: State) -> bool:
        """Return whether nothing better can come than to stop in `state`."""
        if not self.process.is_goal(state):
            return self.process.task.unreachable_goal is not None
        return self.rewards < 2 or self.process.utility(state) >= self.most

    def hope(self, state: State, left: Left) -> Option:
        """Return what may be hoped for in `state` at best; to stop, where nothing can come of it."""
        cost = 0.0
        if self.hopes is not None and not self.process.is_goal(state):
            if COST in self.process.purse.names and self.hopes.luckiest(state) > left[0]:
                return self.stop(state)
            cost = self.hopes.expected(state)
            if cost == IMPOSSIBLE:
                return self.stop(state)
        if self.penalty is not None:
            cost = min(cost, self.penalty)
        return Option(OPEN, cost, (), (1.0, self.most)[: self.rewards])


def guide(task: Task) -> str:
    """Return the name of the heuristic that hopes come from: the best one that is admissible for `task`."""
    return GUIDE if REGISTRY[GUIDE].supports(task) else "hmax"


def average_costs(process: Process) -> list[int]:
    """Return what each action costs, in parts of a unit, if it is taken until something changes."""
    costs = [action.cost * FINE for action in process.task.actions]
    for choice in process.choices:
        busy = sum([share for share, action in choice.branches if action != NOTHING])
        for _, action in choice.branches:
            if action != NOTHING:
                costs[action] = int(choice.cost * FINE / busy)
    return costs


class Hopes:
    """Lower bounds by the all-outcomes determinisation: what the goal costs with luck, and what on average.

    A step that may change nothing is taken until it changes something, so it can be charged for all the times that
    this takes on average.
    """

    def __init__(self, process: Process, check: Callable[[], None]) -> None:
        task, kind = process.task, REGISTRY[guide(process.task)]
        self._luckiest = kind.build(task, [action.cost for action in task.actions], check)
        self._average = kind.build(task, average_costs(process), check)

    def luckiest(self, state: State) -> int:
        """Return a lower bound on what the goal costs with luck; `INFINITY` where nothing leads to it."""
        return self._luckiest(state)

    def expected(self, state: State) -> float:
        """Return a lower bound on the expected cost of reaching the goal; `IMPOSSIBLE` where no outcomes lead to it."""
        value = self._average(state)
        return IMPOSSIBLE if value >= INFINITY else value / FINE
