"""What a run may do about failures, and what that may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from executor.record.events import Rung

SECONDS: Final = 10.0
"""The time for one patch, where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What is done about failures that retries do not mend.

    `rungs` are those that may be taken, in this order. `weight` is what dropping a step of the plan costs, against the
    costs of actions. `time_limit` is in seconds for each search. After `most_patches` patches and new plans, nothing is
    left to a run but to compensate; after `most_repeats` that led to the same steps while the same facts were believed,
    these steps are no way out any more (unless chance has a part in it: actions with outcomes, or with a risk). A run
    that came of tasks does these tasks; where they cannot be done, one may `leave_tasks` and go on to the goal by any
    steps, if there is a goal: it is LOWERED then.
    """

    rungs: tuple[Rung, ...] = (Rung.PATCH, Rung.REPLAN, Rung.ASK, Rung.COMPENSATE)
    weight: float = 0
    time_limit: float = SECONDS
    most_patches: int = 100
    most_repeats: int = 3
    leave_tasks: bool = False
