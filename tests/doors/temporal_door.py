"""The door of Temporal: its runs are workflows of a server, so that its stories take real time."""

from __future__ import annotations

import asyncio
import atexit
import time
from contextlib import ExitStack, asynccontextmanager
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import uuid4

from doors.bank import Bank
from doors.door import Door, Question, Told
from doors.scenes import make_beside, make_site
from doors.story import MOVES, Moves, Story, ask_first
from executor.testing.temporal_server import connect_when_ready, run_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from doors.faults import Fault
    from doors.scenes import Scene
    from executor import World
    from executor.temporal import TemporalExecutor

    Serve = Callable[[World], AbstractAsyncContextManager[TemporalExecutor]]

PACE = 0.02
"""Seconds that a second of the story takes."""
QUICKLY = timedelta(seconds=2)
"""Time after which a worker counts as dead."""
HEARD_WITHIN = 5.0
"""Real seconds until the server has heard that nothing is reserved any more."""


class TemporalDoor(Door):
    """`TemporalExecutor.run`; whoever plays gives the `executor`, whose worker is in this process."""

    name: ClassVar[str] = "temporal"
    has_journal: ClassVar[bool] = False
    """The server has it: no process of the story dies, and whoever asks again does so in the first one."""
    executor: ClassVar[TemporalExecutor]

    async def ask(self) -> Told:
        self.current = self.executor.start(self.problem)
        return Told.of(await self.current)

    async def post(self, question: Question, answer: Any) -> bool:
        from executor.temporal import TemporalExecutor

        other = TemporalExecutor(make_beside(self.site).world, self.executor.client)
        asked = (await other.state_of(question.run)).open_questions
        if question.name in asked:
            await other.follow(question.run).answer(question.name, answer)
        return question.name in asked

    async def answer(self, question: Question, answer: Any) -> Told:
        return Told.of(await self.executor.resume(question.run, answers={question.name: answer}))

    async def resume(self) -> Told | None:
        told = None
        for run, info in (await self.executor.runs()).items():
            if not info.status.is_over:
                told = Told.of(await self.executor.resume(run))
        return told

    def call_off(self, task: asyncio.Task[Any]) -> None:  # noqa: ARG002 - the run itself is called off
        self.calling_off = asyncio.ensure_future(self.current.cancel())


async def play_on_temporal(scene: Scene, fault: Fault, folder: Path, serve: Serve, moves: Moves = MOVES) -> Story:
    """Let a story happen; `serve` makes an executor of its world, with a worker in this process."""
    story = Story(TemporalDoor, scene, fault, Bank(folder / "bank", pace=PACE), moves=moves)
    if scene.is_paid:
        story.bank.pay_long_ago()
    name = f"till {uuid4().hex}"  # the ledger of a world is one for the whole server
    site = make_site(story.bank, scene, fault, TemporalDoor.flavour, folder=folder, journal=None, name=name)
    async with serve(site.world) as executor:
        story.door = type("Door", (TemporalDoor,), {"executor": executor})
        await ask_first(story, site)
        if scene.has_budget:
            story.reserved = await _list_reserved(executor)
    story.bank = Bank(own=story.bank.log)
    return story


@cache
def start_server() -> str:
    """Start a development server for as long as this process lives, and return its address."""
    running = ExitStack()
    atexit.register(running.close)
    return running.enter_context(run_server())


@asynccontextmanager
async def serve(world: World) -> AsyncIterator[TemporalExecutor]:
    """Make an executor of a world on that server, with a worker in this process."""
    from executor.temporal import TemporalExecutor

    client = await connect_when_ready(await asyncio.to_thread(start_server))
    made = TemporalExecutor(world, client, task_timeout=QUICKLY, heartbeat=20.0)
    async with made.worker(sticky_queue_schedule_to_start_timeout=QUICKLY):
        yield made


async def _list_reserved(executor: TemporalExecutor) -> list[str]:
    """Return what runs hold of the budget when the story is over; what they release is heard a little later."""
    from temporalio.client import RPCError

    from executor.temporal.shared_limits import name_limits

    until = time.monotonic() + HEARD_WITHIN
    while True:
        try:
            told = await executor.client.get_workflow_handle(name_limits(executor.queue)).query("told")
        except RPCError:  # nobody has ever reserved anything
            return []
        if not told or time.monotonic() > until:
            return [str(each) for each in told]
        await asyncio.sleep(0.1)
