"""Handlers that were given up and may still be at work: nobody begins the same thing beside them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from executor.record.state import RunState
from executor.record.steps import StepRecord
from executor.world.data import dumped
from executor.world.world import Skill, World
from planner.plan import Step


class Call(NamedTuple):
    """A step for which a handler is called: `key` is its idempotency key, `data` are its data parameters.

    `origin` is the file of the journal that keeps the run, or its state where none does: other runs may have its name.
    `skills` are all that could be called for it: in two worlds that share no handler, what reads the same is not the
    same.
    """

    origin: Path | RunState
    key: str
    step: Step
    data: Mapping[str, Any]
    skills: Sequence[Skill]

    def is_like(self, other: Call) -> bool:
        """Return whether this call does again what `other` does."""
        if (self.origin, self.key) == (other.origin, other.key):
            return True
        if (self.step.action, self.step.arguments) != (other.step.action, other.step.arguments):
            return False
        theirs = [each.function for each in other.skills]
        return any(each.function in theirs for each in self.skills) and dumped(self.data) == dumped(other.data)


def call_of(state: RunState, record: StepRecord, world: World) -> Call:
    """Return the call of a handler for a step that has begun."""
    skills = world.skills.get(record.step.action, ())
    return Call(state.journal or state, state.key_of(record), record.step, record.parameters, skills)


_given_up: Final[list[tuple[Call, Callable[[], bool]]]] = []
"""The calls of this process, each with whether its handler is still at work."""
_guard: Final = threading.Lock()


def give_up(call: Call, works: Callable[[], bool]) -> None:
    """Note that nobody waits any more for the handler of `call`, which is at work as long as it `works`."""
    with _guard:
        _given_up[:] = [each for each in _given_up if each[1]()]
        _given_up.append((call, works))


def at_work(call: Call) -> Callable[[], bool] | None:
    """Return what tells whether a handler that was given up is still at work on the like of `call`; None if none is."""
    if not _given_up:
        return None
    with _guard:
        found = [works for other, works in _given_up if call.is_like(other) and works()]
    return (lambda: any(works() for works in found)) if found else None
