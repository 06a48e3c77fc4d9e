"""State what a run may do about failures, and what that may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from executor.events.events import Rung
from executor.tools.step_policy import is_amount
from planner.errors import InputError, did_you_mean

SECONDS: Final = 10.0
"""The time for one patch, where nothing else is said."""
RUNGS: Final = tuple([each for each in Rung if each not in (Rung.RETRY, Rung.SKILL)])
"""The rungs that a run takes after retries, in the order in which `Rung` has them."""

PROOF_SECONDS: Final = 1.0
"""The time for a better patch, or the proof that there is none, once one is known."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What is done about failures that retries do not mend.

    `rungs` are those that may be taken, in this order. `weight` is what dropping a step of the plan costs, against the
    costs of actions. `time_limit` is in seconds for each search. After `most_patches` patches and new plans, nothing is
    left to a run but to compensate; after `most_repeats` that led to the same steps while the same facts were believed,
    these steps are no way out any more (unless chance has a part in it: actions with outcomes, or with a risk). A run
    that came of tasks does these tasks; where they cannot be done, one may `leave_tasks` and go on to the goal by any
    steps, if there is a goal: it is LOWERED then. The end of another candidate that fits is taken without a search;
    where it `compares`, only if no patch of less cost is found in a second.
    """

    rungs: tuple[Rung, ...] = RUNGS
    weight: float = 0
    time_limit: float = SECONDS
    most_patches: int = 100
    most_repeats: int = 3
    leave_tasks: bool = False
    compares: bool = False

    def __post_init__(self) -> None:
        given = (self.rungs,) if isinstance(self.rungs, str | Rung) else tuple(self.rungs)
        for each in given:
            if each not in RUNGS:
                known = [f"Rung.{rung.name}" for rung in RUNGS]
                hint = did_you_mean(f"Rung.{str(each).upper()}", known) or f"there are {', '.join(known)}"
                raise InputError(f"rungs are a tuple of those that a run may take, not {each!r}", hint=hint)
        object.__setattr__(self, "rungs", given)
        for name, fits, what in (
            ("weight", is_amount(self.weight), "a number, 0 or more"),
            ("time_limit", is_amount(self.time_limit) and self.time_limit > 0, "a number of seconds above 0"),
            ("most_patches", _is_count(self.most_patches), "a number, 0 or more"),
            ("most_repeats", _is_count(self.most_repeats), "a number, 0 or more"),
            ("leave_tasks", isinstance(self.leave_tasks, bool), "True or False"),
            ("compares", isinstance(self.compares, bool), "True or False"),
        ):
            if not fits:
                raise InputError(f"{name} is {what}, not {getattr(self, name)!r}")


def _is_count(value: object) -> bool:
    return is_amount(value) and isinstance(value, int)
