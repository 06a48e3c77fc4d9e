"""Questions on their way, from the queue to an answer or an error."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from executor.service.keys import Client
from executor.service.messages import Answer, write_json
from executor.service.questions import Question, Request
from planner.lightweight import dataclass, field, replace

AGEING_SECONDS: Final = 30.0
"""Seconds of waiting that count as much as one more priority: no question waits for ever."""


class State(Enum):
    """Where a question is; the value is its name in answers."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_end(self) -> bool:
        """Whether nothing more will happen."""
        return self not in (State.QUEUED, State.RUNNING)


@dataclass(slots=True, eq=False)
class Job:
    """A question of a client on its way.

    `progress` is the best plan so far, in JSON, and `version` counts the changes of all this. Times are of a monotonic
    clock.
    """

    request: Request
    client: Client
    time_limit: float
    priority: int
    content_hash: str
    id: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    state: State = State.QUEUED
    answer: Answer | None = None
    error: dict[str, Any] | None = None
    progress: str | None = None
    cached: bool = False
    is_repeated: bool = False
    version: int = 0
    created: float = field(default_factory=time.monotonic)
    started: float | None = None
    ended: float | None = None
    span: Any = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def question(self) -> Question:
        """What is asked."""
        return self.request.question

    @property
    def waited(self) -> float:
        """Seconds in the queue."""
        return (self.started or self.ended or time.monotonic()) - self.created

    @property
    def seconds(self) -> float:
        """Seconds at work."""
        return 0.0 if self.started is None else (self.ended or time.monotonic()) - self.started

    @property
    def size(self) -> int:
        """Characters of its answer and of the best plan before that."""
        return len(self.progress or "") + (0 if self.answer is None else len(self.answer.text))

    def rank(self, now: float) -> tuple[int, int, float]:
        """Return what orders the queue, the least first: priority with age, what the client has at work, and time."""
        return (-self.priority - int((now - self.created) / AGEING_SECONDS), self.client.running, self.created)

    def change(self, state: State | None = None) -> None:
        """Set the state, and wake up who waits for a change."""
        if state is not None:
            self.state = state
        if self.state.is_end and self.ended is None:
            self.ended = time.monotonic()
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_for_change(self, version: int) -> None:
        """Wait until `version` is no longer the latest."""
        while self.version == version:
            await self._changed.wait()

    async def wait_for_end(self) -> None:
        """Wait until nothing more will happen."""
        while not self.state.is_end:
            await self._changed.wait()

    def fail(self, kind: str, message: str) -> None:
        """End with an error."""
        self.error = {"kind": kind, "message": message}
        self.change(State.CANCELLED if kind == "cancelled" else State.FAILED)

    def forget_texts(self) -> None:
        """Forget the task, which nobody needs at the end."""
        self.request = replace(self.request, question=replace(self.question, domain="", problem=None, options={}))

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the server goes by in the answer; empty without one."""
        return {} if self.answer is None else self.answer.facts

    def to_json(self) -> str:
        """Return the job as JSON."""
        data: dict[str, Any] = {
            "id": self.id,
            "kind": self.question.kind,
            "state": self.state.value,
            "hash": self.content_hash,
            "cached": self.cached,
            "time_limit": self.time_limit,
            "priority": self.priority,
            "waited": round(self.waited, 6),
            "seconds": round(self.seconds, 6),
            **({} if self.error is None else {"error": self.error}),
        }
        progress = self.progress if self.state is State.RUNNING else None
        return join_json(data, answer=None if self.answer is None else self.answer.text, progress=progress)


def join_json(data: Mapping[str, Any], **texts: str | None) -> str:
    """Return an object in JSON with the fields of `data`, and with `texts`, which are JSON already; without None."""
    fields = [f',"{name}":{text}' for name, text in texts.items() if text is not None]
    return f"{write_json(data)[:-1]}{''.join(fields)}}}"
