"""What became of a step, and of a run."""

from __future__ import annotations

from enum import Enum
from typing import Final


class StepStatus(Enum):
    """What is known about one step; compare with `is`."""

    PENDING = "not begun"
    WAITING = "waits for a time, an event or a person"
    RUNNING = "its handler was called and has not answered"
    SUCCEEDED = "every declared effect was observed"
    UNVERIFIED = "no declared effect was seen to be missing, and some were not looked at"
    PARTIAL = "some declared effects were seen, others are missing"
    FAILED = "it did not do what it declares"
    SKIPPED = "not needed any more"
    IN_DOUBT = "nobody can say whether it happened"
    COMPENSATED = "it was done, and undone again"

    __hash__ = object.__hash__  # members are single, and the hash of their name is worked out again each time

    @property
    def is_done(self) -> bool:
        """Whether what depends on the step may go on."""
        return self in _DONE

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of the step by itself."""
        return self not in _OPEN


class RunStatus(Enum):
    """What is known about a run; compare with `is`."""

    PROPOSED = "not begun"
    ACTIVE = "being carried out"
    WAITING = "waits for something from outside"
    SUCCEEDED = "the goal was observed"
    UNVERIFIED = "no part of the goal was seen to be missing, and some could not be looked at"
    LOWERED = "the hard goal was observed; soft goals were dropped"
    IMPOSSIBLE = "what was observed proves that no plan reaches the goal"
    FAILED = "the goal was not reached"
    COMPENSATED = "the goal was not reached, and what was done is undone"
    IN_DOUBT = "nobody can say whether a step happened, and somebody has to"
    CANCELLED = "called off"

    @property
    def is_over(self) -> bool:
        """Whether the run has ended for good: `resume` does not take it up again."""
        return self in _ENDED


TROUBLE: Final = (StepStatus.FAILED, StepStatus.PARTIAL, StepStatus.IN_DOUBT)
"""The statuses of steps that something may have to be done about."""
_DONE = frozenset({StepStatus.SUCCEEDED, StepStatus.UNVERIFIED, StepStatus.SKIPPED})
_OPEN = frozenset({StepStatus.PENDING, StepStatus.WAITING, StepStatus.RUNNING, StepStatus.IN_DOUBT})
_ENDED = frozenset(
    {
        RunStatus.SUCCEEDED,
        RunStatus.UNVERIFIED,
        RunStatus.LOWERED,
        RunStatus.IMPOSSIBLE,
        RunStatus.FAILED,
        RunStatus.COMPENSATED,
        RunStatus.CANCELLED,
    }
)
