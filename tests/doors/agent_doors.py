"""Doors of agents: requests, rooms, and standing goals."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from doors.bank import CLOCK
from doors.door import Door, Question, Told
from executor import Agent, RunOutcome

if TYPE_CHECKING:
    from doors.scenes import Site

ROOMS = ("room1", "room2", "room3")
"""The rooms of those who ask in one process."""
HOUR = 3600.0
"""Seconds from one due time to the next."""


class AgentDoor(Door):
    """`Agent.achieve`."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.agent = Agent(site.world, site.now, journal=site.journal)

    async def ask(self) -> Told:
        return self._tell(await self.agent.achieve(self.goal))

    def _tell(self, achieved: Any) -> Told:
        if achieved.outcome is not None:
            return Told.of(achieved.outcome)
        return Told("REFUSED", achieved.proposal.reason or achieved.proposal.standing.value)

    async def answer(self, question: Question, answer: Any) -> Told:
        return Told.of(await self.agent.resume(question.run, answers={question.name: answer}))

    async def resume(self) -> Told | None:
        told = None
        for run, info in self.agent.executor.runs().items():
            if not info.status.is_over:
                told = Told.of(await self.agent.resume(run))
        return told


class RoomDoor(AgentDoor):
    """`Room.achieve`: two who ask at once are in two rooms."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.room = self.agent.room(ROOMS[site.callers - 1])

    async def ask(self) -> Told:
        return self._tell(await self.room.achieve(self.goal))

    async def resume(self) -> Told | None:
        ended = [each for name in ROOMS for each in await self.agent.room(name).resume()]
        return Told.of(ended[-1]) if ended else None


class StandingDoor(AgentDoor):
    """A standing goal; whoever asks attends until nothing is left to do."""

    verb: ClassVar[str] = "maintain"

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        getattr(self, f"_state_{self.verb}")()

    def _state_maintain(self) -> None:
        self.agent.maintain(self.goal, name="keep")

    def _state_when(self) -> None:
        self.agent.when(lambda: True, achieve=self.goal, name="seal")

    def _state_at(self) -> None:
        with contextlib.suppress(Exception):
            self.agent.at(datetime(2026, 1, 1, tzinfo=UTC), achieve=self.goal, name="once")

    def _state_every(self) -> None:
        self.agent.every("0 * * * *", achieve=self.goal, name="hourly")

    async def ask(self) -> Told:
        async with self.agent.attend(poll=None, clock=CLOCK.time) as attending:
            if self.verb == "every":
                await asyncio.sleep(HOUR)
            await asyncio.wait_for(attending.settled(), 10_000)
        return self._tell_last()

    def _tell_last(self) -> Told:
        executor = self.agent.executor
        runs = list(executor.runs())
        if not runs:
            return Told("SUCCEEDED" if self.site.bank.holds("sealed") else "REFUSED", "nothing was done")
        told = Told.of(RunOutcome.of(runs[-1], executor.state_of(runs[-1])))
        return told if told.status != "ACTIVE" else Told("OPEN", "it is left to whoever has begun it")

    async def answer(self, question: Question, answer: Any) -> Told:
        await self.agent.resume(question.run, answers={question.name: answer})
        return await self.ask()

    async def resume(self) -> Told | None:
        return await self.ask()
