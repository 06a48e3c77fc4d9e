"""Know the handlers that were given up and may still be at work: no equal call begins until they end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.tools.json_data import dump_json
from executor.tools.world import Skill, World
from planner.plan import Step


class Call(NamedTuple):
    """The call of a handler for a step: `key` is its idempotency key, `data` are its data parameters.

    `origin` is the place of the journal, or else the state of the run: runs outside of a journal may have equal names.
    `skills` are all skills of the action: calls in two worlds that share no handler are never equal.
    """

    origin: Path | str | RunState
    key: str
    step: Step
    data: Mapping[str, Any]
    skills: Sequence[Skill]

    def is_like(self, other: Call) -> bool:
        """Return whether this call repeats `other`."""
        if (self.origin, self.key) == (other.origin, other.key):
            return True
        if (self.step.action, self.step.arguments) != (other.step.action, other.step.arguments):
            return False
        theirs = [each.function for each in other.skills]
        return any(each.function in theirs for each in self.skills) and dump_json(self.data) == dump_json(other.data)


def call_of(state: RunState, record: StepRecord, world: World) -> Call:
    """Make the call of a handler for a step that has begun."""
    skills = world.skills.get(record.step.action, ())
    return Call(state.journal or state, state.key_of(record), record.step, record.parameters, skills)


MOST_ENDED: Final = 1000
_abandoned: Final[list[tuple[Call, Callable[[], bool]]]] = []
"""Abandoned calls of this process, each with a function whether its handler is still at work."""
_ended: Final[deque[Call]] = deque(maxlen=MOST_ENDED)
"""The latest abandoned calls whose handlers have come to an end since."""
_guard: Final = threading.Lock()


def record_abandoned(call: Call, works: Callable[[], bool]) -> None:
    """Record the abandoned handler of `call`, which is at work while `works` returns true."""
    with _guard:
        ended = [each for each, is_working in _abandoned if not is_working()]
        _ended.extend([each._replace(origin="") if isinstance(each.origin, RunState) else each for each in ended])
        _abandoned[:] = [each for each in _abandoned if each[1]()]
        _abandoned.append((call, works))


def find_abandoned(call: Call) -> Callable[[], bool] | None:
    """Return a function whether abandoned handlers of equal calls are still at work; None if none is."""
    if not _abandoned:
        return None
    with _guard:
        found = [works for other, works in _abandoned if call.is_like(other) and works()]
    return (lambda: any(works() for works in found)) if found else None


def is_left_at_work(world: World, place: Path | str | None, key: str) -> bool | None:
    """Return whether a handler is still at work that was abandoned under an idempotency key of a ledger.

    The ledger is that of the journal in `place`, or of `world`. Return None if no such handler was abandoned here.
    """

    def is_such(call: Call) -> bool:
        if call.key != key or place is not None:
            return (call.key, call.origin) == (key, place)
        ours = {each.function for each in world.skills.get(call.step.action, ())}
        return any(each.function in ours for each in call.skills)

    with _guard:
        found = [works() for call, works in _abandoned if is_such(call)]
        return any(found) if found or any(map(is_such, _ended)) else None
