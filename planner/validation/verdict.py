"""The verdict of the plan checker."""

from __future__ import annotations

from planner.lightweight import TYPE_CHECKING, Any, dataclass
from planner.plan import StoppedBy, Supposition, describe_forgone, json_number

if TYPE_CHECKING:
    from planner.model import Constraint, Formula, Number, SoftGoal


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a plan is valid and, if not, where and why it fails.

    `cost` is the exact cost of the applied steps. `failing_step` is the number, from 1, of the first inapplicable step,
    and `condition` the smallest unmet part of its precondition; or it is the number of the first step that violates a
    hard `constraint` (None: the initial state violates it, or it is unmet at the end). `unmet` are the unmet parts of
    the goal. `reason` states all this in words. `forgone` are the soft goals and constraints that a valid plan does not
    meet. `stopped_by` is the limit that ended validation without a decision. With unknown facts, a valid plan works if
    they are as in `suppositions`.
    """

    valid: bool
    cost: Number
    reason: str = ""
    failing_step: int | None = None
    condition: Formula | None = None
    unmet: tuple[Formula, ...] = ()
    stopped_by: StoppedBy | None = None
    suppositions: tuple[Supposition, ...] = ()
    constraint: Constraint | None = None
    forgone: tuple[SoftGoal | Constraint, ...] = ()

    def __bool__(self) -> bool:
        raise TypeError("a Verdict is neither true nor false; ask verdict.valid")

    def __str__(self) -> str:
        if self.valid:
            supposed = f", if {' and '.join(map(str, self.suppositions))}" if self.suppositions else ""
            return "\n".join([f"valid, cost {self.cost}{supposed}", *describe_forgone(self.forgone)])
        return f"invalid: {self.reason}" if self.stopped_by is None else f"not decided: {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON-ready data, formulas as text; with `suppositions` if there are any."""
        data: dict[str, Any] = {
            "valid": self.valid,
            "cost": json_number(self.cost),
            "reason": self.reason,
            "failing_step": self.failing_step,
            "condition": None if self.condition is None else str(self.condition),
            "unmet": [str(part) for part in self.unmet],
            "constraint": None if self.constraint is None else str(self.constraint),
            "forgone": [str(wish) for wish in self.forgone],
            "stopped_by": None if self.stopped_by is None else self.stopped_by.name.lower(),
        }
        if self.suppositions:
            data["suppositions"] = [each.to_dict() for each in self.suppositions]
        return data
