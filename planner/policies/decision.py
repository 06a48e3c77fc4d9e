"""Objectives of policies, optimistic values of unexpanded states, and the result of `decide`."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import isfinite

from planner.errors import NoPlan
from planner.heuristics import REGISTRY
from planner.lightweight import Any, Final, Protocol, dataclass, field
from planner.plan import Result, Statistics, Status, StoppedBy, render_html
from planner.policies.markov_decision_process import NOTHING, OPEN, STOP, Left, Option, Process
from planner.policies.policy import Policy, percent
from planner.task.ground_task import INFINITY, State, Task

GUIDE: Final = "lmcut"
"""The heuristic of lower bounds, where it is admissible for the task."""
FINE: Final = 1024
"""Expected costs are rounded down to multiples of 1/FINE of a unit for the heuristic."""

IMPOSSIBLE: Final = float("inf")


class Objective(Enum):
    """The objective of a policy: lexicographic, so that what comes first is never traded for what comes after."""

    SUCCESS = "the most likely success; among the policies that have it, the least expected cost"
    COST = "the least expected cost, where giving up costs a stated penalty"
    UTILITY = "the most likely success, then the greatest expected utility, then the least expected cost"


class Hoping(Protocol):
    """Lower bounds for states, in units of the task's resolution."""

    def luckiest(self, state: State) -> int:
        """Return a lower bound of the cost with the luckiest outcomes; `INFINITY` where none lead to the goal."""

    def expected(self, state: State) -> float:
        """Return a lower bound of the expected cost of the goal; `IMPOSSIBLE` where no outcomes lead to it."""


class Aim:
    """An objective for a process: the values of its ends.

    `rewards` is the number of rewards that come before the cost. `penalty` is the cost of giving up, in units of the
    task's resolution; None where success comes first. Without `hopes`, the lower bounds of all states are 0.
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
        """Return the option to stop in `state`."""
        reached = self.process.is_goal(state)
        utility = float(self.process.utility(state)) if self.rewards > 1 and reached else 0.0
        price = self.process.end_price(state) + (0.0 if reached or self.penalty is None else self.penalty)
        return Option(STOP, price, (), (float(reached), utility)[: self.rewards])

    def is_over(self, state: State) -> bool:
        """Return whether stopping in `state` is optimal whatever follows."""
        if not self.process.is_goal(state):
            return self.process.task.unreachable_goal is not None
        if self.process.ends is not None:
            return False
        return self.rewards < 2 or self.process.utility(state) >= self.most

    def hope(self, state: State, left: Left) -> Option:
        """Return the optimistic end of `state`; the option to stop where the goal cannot be reached."""
        cost = self.process.least_end_price(state)
        if self.hopes is not None and not self.process.is_goal(state):
            if self.process.purse.is_charged and self.hopes.luckiest(state) > left[0]:
                return self.stop(state)
            hoped = self.hopes.expected(state)
            if hoped == IMPOSSIBLE:
                return self.stop(state)
            cost += hoped
        if self.penalty is not None:
            cost = min(cost, self.penalty + self.process.least_end_price(state))
        return Option(OPEN, cost, (), (1.0, self.most)[: self.rewards])


def guide(task: Task) -> str:
    """Return the name of the best heuristic that is admissible for `task`."""
    return GUIDE if REGISTRY[GUIDE].supports(task) else "hmax"


def average_costs(process: Process) -> list[int]:
    """Return the expected cost of each action, times FINE, if it is repeated until something changes."""
    costs = [action.cost * FINE for action in process.task.actions]
    for choice in process.choices:
        busy = sum([share for share, action in choice.branches if action != NOTHING])
        for _, action in choice.branches:
            if action != NOTHING:
                costs[action] = int(choice.cost * FINE / busy)
    return costs


class Hopes:
    """Lower bounds by the all-outcomes determinisation.

    A step that may change nothing is repeated until it changes something. So for the expected cost, it is charged for
    the expected number of its repetitions.
    """

    def __init__(self, process: Process, check: Callable[[], None]) -> None:
        task, kind = process.task, REGISTRY[guide(process.task)]
        self._luckiest = kind.build(task, [action.cost for action in task.actions], check)
        self._average = kind.build(task, average_costs(process), check)

    def luckiest(self, state: State) -> int:
        """Return a lower bound of the cost with the luckiest outcomes; `INFINITY` where none lead to the goal."""
        return self._luckiest(state)

    def expected(self, state: State) -> float:
        """Return a lower bound of the expected cost of the goal; `IMPOSSIBLE` where no outcomes lead to it."""
        value = self._average(state)
        return IMPOSSIBLE if value >= INFINITY else value / FINE


@dataclass(frozen=True, slots=True)
class Decision:
    """The result for a problem with uncertain outcomes.

    `status` is OPTIMAL for a policy that is proved optimal, SOLVED for one that may not be, UNSOLVABLE where no policy
    ever reaches the goal, UNKNOWN where none was found, and UNSUPPORTED for constructs that policies do not support.
    No policy has a higher probability of success than `success_bound`, nor a higher utility than `utility_bound`; none
    with this success and utility costs less than `cost_bound` (infinite where the goal cannot be reached).
    `expected_cost` and `cost_bound` include the penalty for giving up, if there is one. Bounds hold up to a relative
    error of 1e-9. `validated` says that `evaluate` has confirmed the values of the policy on the declared problem.
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
        """Whether the policy is proved optimal, or the problem unsolvable."""
        return self.status in (Status.OPTIMAL, Status.UNSOLVABLE)

    @property
    def expected_cost(self) -> float | None:
        """The expected cost of the policy, with the penalty where it does not reach the goal."""
        if self.policy is None:
            return None
        return self.policy.cost + (self.penalty or 0.0) * (1 - self.policy.success)

    def expect_policy(self) -> Policy:
        """Return the policy, or raise `NoPlan` with the reason."""
        if self.policy is None:
            raise NoPlan(Result(self.status, self.stopped_by, reason=self.reason))
        return self.policy

    def describe(self) -> str:
        """Return one line for people: the status, what stopped the search, the values and the bounds."""
        words = [f"{self.status.name}; {self.stopped_by.clause}"]
        if self.policy is not None:
            words += self._worth(self.policy)
        return "; ".join([*words, *([self.reason] if self.reason else [])])

    def __str__(self) -> str:
        return self.describe() if self.policy is None else f"{self.describe()}\n{self.policy}".rstrip()

    def _repr_html_(self) -> str | None:
        return render_html(self)

    def _worth(self, policy: Policy) -> list[str]:
        limits = ("", "", "") if self.is_proved else self._limits()
        utility = [] if self.utility_bound is None else [f"expected utility {policy.utility:.6g}{limits[1]}"]
        cost = f"expected cost {self.expected_cost:.6g}{limits[2]}"
        return [f"success {percent(policy.success)}{limits[0]}", *utility, cost]

    def _limits(self) -> tuple[str, str, str]:
        return (
            f" (at most {percent(self.success_bound)})",
            "" if self.utility_bound is None else f" (at most {self.utility_bound:.6g})",
            f" (no less than {self.cost_bound:.6g} for the best)" if isfinite(self.cost_bound) else "",
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
            "cost_bound": _finite(self.cost_bound),
            "utility": None if policy is None or self.utility_bound is None else policy.utility,
            "utility_bound": _finite(self.utility_bound),
            "policy": None if policy is None else policy.to_dict(),
            "validated": self.validated,
            "reason": self.reason,
            "statistics": self.statistics.to_dict(),
        }


def _finite(bound: float | None) -> float | None:
    return bound if bound is not None and isfinite(bound) else None
