"""What is known when deciding ends: a policy, what it is worth, and what any policy could be worth."""

from __future__ import annotations

from planner.annotations import Any
from planner.errors import NoPlan
from planner.plan import Result, Statistics, Status, StoppedBy
from planner.records import dataclass, field
from planner.uncertain.aims import Objective
from planner.uncertain.policy import Policy
from planner.uncertain.policy_text import percent


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
