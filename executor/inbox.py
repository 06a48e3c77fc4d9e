"""What a run waits for: news from outside, the timers and deadlines of waiting steps, and events that came early."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from executor.record.steps import StepRecord
from executor.steps.perform import Attempt
from executor.world.results import ActionResult


class _Alarm(NamedTuple):
    """The end of a wait: `at` is in the time of the loop, `got` is what the step has come to by then.

    A `deadline` is for somebody outside who may answer before; without one, the wait is a timer.
    """

    at: float
    got: Attempt
    deadline: bool = False


@dataclass(slots=True, eq=False)
class Inbox:
    """Waits on behalf of one run."""

    _news: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _early: dict[str, ActionResult] = field(init=False, default_factory=dict)
    """What came with events for which no step was waiting yet."""
    _alarms: dict[tuple[str, float], _Alarm | None] = field(init=False, default_factory=dict)
    """For steps that wait since a time; None where their time is never over."""

    def wake(self) -> None:
        """Have whoever waits for news look again at what is to be done."""
        self._news.set()

    def keep(self, event: str, result: ActionResult) -> None:
        """Keep what came with an event for the first step that comes to wait for it."""
        self._early[event] = result

    def early(self, waiting: Iterable[StepRecord]) -> Iterable[tuple[StepRecord, ActionResult]]:
        """Yield those of the steps `waiting` for which something came early, with that; it is kept no longer."""
        for record in waiting if self._early else ():
            event = (record.wait or {}).get("event")
            if event in self._early:
                yield record, self._early.pop(event)

    def expects(self, waiting: Iterable[StepRecord]) -> bool:
        """Return whether news is there, a deadline has passed, or a timer runs: nobody outside has to act."""
        now = asyncio.get_running_loop().time()
        alarms = [alarm for record in waiting if (alarm := self._alarm(record)) is not None]
        return self._news.is_set() or any(not alarm.deadline or alarm.at <= now for alarm in alarms)

    async def news(self, waiting: Iterable[StepRecord]) -> None:
        """Wait for news: somebody wakes, or the time of one of the steps `waiting` is over."""
        alarms = [alarm.at for record in waiting if (alarm := self._alarm(record)) is not None]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(min(alarms, default=None)):
                await self._news.wait()
        self._news.clear()

    def over(self, waiting: Iterable[StepRecord]) -> list[tuple[StepRecord, Attempt]]:
        """Return those of the steps `waiting` whose time is over, with what came of them."""
        now = asyncio.get_running_loop().time()
        found = [(record, self._alarm(record)) for record in waiting]
        return [(record, alarm.got) for record, alarm in found if alarm is not None and alarm.at <= now]

    def _alarm(self, record: StepRecord) -> _Alarm | None:
        key = record.id, record.since
        if key not in self._alarms:
            self._alarms[key] = _alarm(record)
        return self._alarms[key]


def _alarm(record: StepRecord) -> _Alarm | None:
    """Return the end of a step's wait; None where only an answer ends it."""
    wait = record.wait or {}
    seconds, deadline = wait.get("seconds"), wait.get("deadline")
    for_somebody = bool(wait.get("event") or wait.get("choices"))
    limits = [each for each in (deadline, seconds if for_somebody else None) if each is not None]
    passed = max(time.time() - record.since, 0.0)  # a clock that was put back makes no wait longer
    since = asyncio.get_running_loop().time() - passed
    if seconds is not None and not for_somebody and (deadline is None or seconds <= deadline):
        return _Alarm(since + seconds, Attempt(ActionResult(text="the time is over that it waited for")))
    if not limits:
        return None
    reason = f"no answer came within {min(limits):g} s"
    failed = ActionResult.failed(reason)
    if wait.get("conclusive"):
        return _Alarm(since + min(limits), Attempt(failed, begun=False), deadline=True)
    return _Alarm(since + min(limits), Attempt(failed, in_doubt=reason), deadline=True)
