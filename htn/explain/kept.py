"""What explanations say of constraints, which search sees as conditions of actions and of the goal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from htn.explain.report import Attempt, DeadEnd, Failure, Lack, WhyNot
from planner.annotations import Final
from planner.model import Constraint
from planner.normalise.constraints import MARK
from planner.records import replace

_MONITOR: Final = re.compile(rf"{MARK}(\d+)")


def in_words(found: WhyNot, constraints: Sequence[Constraint]) -> WhyNot:
    """Return `found` with the constraints themselves in place of what watches them."""
    if not constraints:
        return found
    words = _Words(constraints)
    return replace(
        found,
        failures=tuple(map(words.failure, found.failures)),
        goal=tuple([words.lack(each, "which nothing that the tasks lead to does") for each in found.goal]),
        dead_ends=tuple(map(words.dead_end, found.dead_ends)),
    )


class _Words:
    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self._constraints = constraints

    def dead_end(self, end: DeadEnd) -> DeadEnd:
        failure = None if end.failure is None else self.failure(end.failure)
        missed = self._named(end.missed)
        return replace(end, failure=failure, missed=f"{missed}, which was not done" if missed else end.missed)

    def failure(self, failure: Failure) -> Failure:
        return replace(failure, attempts=tuple(map(self._attempt, failure.attempts)))

    def _attempt(self, attempt: Attempt) -> Attempt:
        return replace(attempt, lacks=tuple([self.lack(each, "which it would break") for each in attempt.lacks]))

    def lack(self, lack: Lack, why: str) -> Lack:
        named = self._named(lack.condition)
        return Lack(named, why) if named else lack

    def _named(self, condition: str) -> str:
        """Return what is to be kept, where `condition` watches it; "" where it watches nothing."""
        monitor = _MONITOR.search(condition)
        return f"the constraint '{self._constraints[int(monitor[1])]}' to be kept" if monitor else ""
