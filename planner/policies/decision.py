"""The result of deciding: a policy, what it is worth, and a bound on what any policy is worth; and the objectives.

An objective says which ends are worth what, and what may be hoped for in a state that no search has expanded.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from planner.errors import NoPlan
from planner.heuristics import REGISTRY
from planner.lightweight import Any, Final, Protocol, dataclass, field
from planner.model import COST
from planner.plan import Result, Statistics, Status, StoppedBy
from planner.policies.markov_decision_process import NOTHING, OPEN, STOP, Left, Option, Process
from planner.policies.policy import Policy, percent
from planner.task.ground_task import INFINITY, State, Task

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


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to a problem with uncertain outcomes.

    `status` is OPTIMAL for a policy proved to be the best, SOLVED for one that may not be, UNSOLVABLE where no policy
    ever reaches the goal, UNKNOWN where none was found, UNSUPPORTED for constructs that are not taken. What the policy
    is worth stands in the policy. No policy has more success than `success_bound`, nor more utility than
    `utility_bound`; none of as much success, and then of as much utility, costs less than `cost_bound` (infinite where
    the goal cannot be reached). Where giving up costs a penalty, `cost_bound` counts it, and so does `expected_cost`.
    Bounds hold to within a part of 1e-9. `validated` says that what the policy is worth was computed again from the
    declared problem.
    """

    status: Status
    stopped_by: StoppedBy
    objective: Objective
    policy: Policy | None = None
    success_bound: float = 1.0
    utility_bound: float | None = None
    cost_bound: float = 0.0
    penalty: float | None = None
    validated: bool = False
    reason: str = ""
    statistics: Statistics = field(default_factory=Statistics)

    @property
    def has_policy(self) -> bool:
        """Whether there is a policy."""
        return self.policy is not None

    @property
    def is_proved(self) -> bool:
        """Whether nothing better is possible."""
        return self.status in (Status.OPTIMAL, Status.UNSOLVABLE)

    @property
    def expected_cost(self) -> float | None:
        """What the policy costs on average, and the penalty where it does not reach the goal."""
        if self.policy is None:
            return None
        return self.policy.cost + (self.penalty or 0.0) * (1 - self.policy.success)

    def expect_policy(self) -> Policy:
        """Return the policy, or raise `NoPlan` with the reason."""
        if self.policy is None:
            raise NoPlan(Result(self.status, self.stopped_by, reason=self.reason))
        return self.policy

    def describe(self) -> str:
        """Return one line for people: what is known, and what stopped the work."""
        words = [f"{self.status.name}; stopped by {self.stopped_by.value}"]
        if self.policy is not None:
            words += self._worth(self.policy)
        return "; ".join([*words, *([self.reason] if self.reason else [])])

    def _worth(self, policy: Policy) -> list[str]:
        limits = ("", "", "") if self.is_proved else self._limits()
        utility = [] if self.utility_bound is None else [f"expected utility {policy.utility:.6g}{limits[1]}"]
        cost = f"expected cost {self.expected_cost:.6g}{limits[2]}"
        return [f"success {percent(policy.success)}{limits[0]}", *utility, cost]

    def _limits(self) -> tuple[str, str, str]:
        return (
            f" (at most {percent(self.success_bound)})",
            "" if self.utility_bound is None else f" (at most {self.utility_bound:.6g})",
            f" (no less than {self.cost_bound:.6g} for the best)",
        )

    def __bool__(self) -> bool:
        raise TypeError("a Decision is neither true nor false; ask decision.has_policy, or compare status with `is`")

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as the JSON-ready data that `forethought solve --objective … --json` prints."""
        policy = self.policy
        return {
            "status": self.status.name,
            "stopped_by": self.stopped_by.name.lower(),
            "objective": self.objective.name.lower(),
            "success": None if policy is None else policy.success,
            "success_bound": self.success_bound,
            "expected_cost": self.expected_cost,
            "cost_bound": None if self.cost_bound == float("inf") else self.cost_bound,
            "utility": None if policy is None or self.utility_bound is None else policy.utility,
            "utility_bound": self.utility_bound,
            "policy": None if policy is None else policy.to_dict(),
            "validated": self.validated,
            "reason": self.reason,
            "statistics": self.statistics.to_dict(),
        }
