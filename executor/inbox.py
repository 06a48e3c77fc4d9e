"""What comes for a run from outside: answers for steps that wait, the end of their time, and calls to look again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from executor.record.steps import StepRecord
from executor.world.results import ActionResult


@dataclass(slots=True, eq=False)
class Inbox:
    """What has come for the steps of one run, and has not been taken."""

    _news: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _arrived: dict[str, Any] = field(init=False, default_factory=dict)
    _early: dict[str, Any] = field(init=False, default_factory=dict)
    """What came with events for which no step was waiting yet."""
    _alarms: dict[tuple[str, float], float | None] = field(init=False, default_factory=dict)
    """When a step goes on that waits since a time, in the time of the loop; None where it never does by itself."""

    def wake(self) -> None:
        """Have whoever waits for news look again at what is to be done."""
        self._news.set()

    def put(self, step: str, result: Any) -> None:
        """Keep the answer that a waiting step has got."""
        self._arrived[step] = result
        self._news.set()

    def keep(self, event: str, result: Any) -> None:
        """Keep what came with an event for the first step that comes to wait for it."""
        self._early[event] = result

    def take(self) -> dict[str, Any]:
        """Return what has come, by step, and keep it no longer."""
        self._news.clear()
        arrived, self._arrived = self._arrived, {}
        return arrived

    def expects(self, waiting: Iterable[StepRecord]) -> bool:
        """Return whether something has come, or will without anybody outside."""
        waiting = list(waiting)
        self._hand_over(waiting)
        return bool(self._arrived) or any(self._due(record) is not None for record in waiting)

    async def news(self, waiting: Iterable[StepRecord]) -> None:
        """Wait for news; what steps among those `waiting` get when their time is over is news, too."""
        waiting = list(waiting)
        self._hand_over(waiting)
        due = {record.id: (when, record) for record in waiting if (when := self._due(record)) is not None}
        if not due:
            await self._news.wait()
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(min(when for when, _ in due.values())):
                await self._news.wait()
        now = asyncio.get_running_loop().time()
        for id_, (when, record) in due.items():
            if when <= now and id_ not in self._arrived:
                self._arrived[id_] = _timed_out(record)

    def _hand_over(self, waiting: Iterable[StepRecord]) -> None:
        """Give those of the steps `waiting` what came for them early."""
        for record in waiting if self._early else ():
            event = (record.wait or {}).get("event")
            if event in self._early and record.id not in self._arrived:
                self.put(record.id, self._early.pop(event))

    def _due(self, record: StepRecord) -> float | None:
        key = record.id, record.since
        if key not in self._alarms:
            wait = record.wait or {}
            seconds = [each for each in (wait.get("seconds"), wait.get("deadline")) if each is not None]
            ago = time.time() - record.since
            now = asyncio.get_running_loop().time()
            self._alarms[key] = now + max(min(seconds) - ago, 0) if seconds else None
        return self._alarms[key]


def _timed_out(record: StepRecord) -> ActionResult:
    """Return what a step gets when its time is over."""
    wait = record.wait or {}
    seconds, deadline = wait.get("seconds"), wait.get("deadline")
    if seconds is not None and (deadline is None or seconds <= deadline):
        return ActionResult(text="the time is over that it waited for")
    return ActionResult.failed(f"no answer came within {deadline:g} s")
