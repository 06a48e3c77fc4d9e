"""Define the recovery policy of a run: rungs, weights and limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from executor.events.events import Rung
from executor.tools.step_policy import is_amount
from planner.errors import InputError, did_you_mean

SECONDS: Final = 10.0
"""Default time limit of one search in recovery, in seconds."""
RUNGS: Final = tuple([each for each in Rung if each not in (Rung.RETRY, Rung.SKILL)])
"""The rungs after retries, in the order of `Rung`."""

MORE: Final = 4
"""How many times as much time a search has that is tried once more after it ran out of time."""
PROOF_SECONDS: Final = 1.0
"""Time limit to improve a known patch or to prove it optimal, in seconds."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """How a run recovers from failures that retries did not mend.

    `rungs` are the rungs that may be taken, in this order. `weight` is the cost of dropping a step of the plan, in the
    unit of action costs. `time_limit` is that of each search, in seconds of processor time; a search that
    runs out of it is tried once more, with `MORE` times as much. After `most_patches` patches and new plans, a
    run can only compensate. It adopts the same steps at most `most_repeats` times from the same believed state, unless
    their actions have several outcomes or a risk.

    A hierarchical run does its tasks; with `leave_tasks`, it goes on to its goal by any steps if the tasks cannot be
    done, and ends as LOWERED. The end of another candidate that fits is taken without a search; with `compares`, only
    if no cheaper patch is found within a second.
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
                raise InputError(f"rungs must be a tuple of rungs after retries, got {each!r}", hint=hint)
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
                raise InputError(f"{name} must be {what}, got {getattr(self, name)!r}")


def _is_count(value: object) -> bool:
    return is_amount(value) and isinstance(value, int)
