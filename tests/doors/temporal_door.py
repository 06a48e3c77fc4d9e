"""The door of Temporal: its runs are workflows of a server, so that its stories take real time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from doors.door import Door, Question, Told

if TYPE_CHECKING:
    from executor.temporal import TemporalExecutor


class TemporalDoor(Door):
    """`TemporalExecutor.run`; the test gives the `executor`, whose worker is in this process."""

    name: ClassVar[str] = "temporal"
    executor: ClassVar[TemporalExecutor]

    async def ask(self) -> Told:
        self.current = self.executor.start(self.problem)
        return Told.of(await self.current)

    async def answer(self, question: Question, answer: Any) -> Told:
        return Told.of(await self.executor.resume(question.run, answers={question.name: answer}))

    async def resume(self) -> Told | None:
        told = None
        for run, info in (await self.executor.runs()).items():
            if not info.status.is_over and run == self.current.id:
                told = Told.of(await self.executor.resume(run))
        return told

    def call_off(self, task: asyncio.Task[Any]) -> None:  # noqa: ARG002 - the run itself is called off
        self.calling_off = asyncio.ensure_future(self.current.cancel())
