"""A room: requests are understood by what was said before, and done one at a time, the most urgent first."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any, Final

from executor.agent.arguments import check_given
from executor.agent.events import AgentEvent, Finished, Heard
from executor.agent.proposals import Achieved, Proposal, Standing
from executor.agent.rooms.context import context_of, decision, is_go_on, is_stop
from executor.agent.rooms.errands import Errands
from executor.agent.rooms.opened import Opened
from executor.agent.rooms.record import Errand, RoomRecord
from executor.agent.rooms.replies import values_in
from executor.agent.telling import Tell, nobody, streamed
from executor.arguments import check_named
from executor.handle import Outcome
from executor.language.allowance import Meter
from executor.record.answers import is_clear, is_filling
from planner.records import replace

if TYPE_CHECKING:
    from executor.agent.agent import Agent

LOST: Final = "the process ended before it was begun, and somebody has to approve it again: ask for it once more"
NOT_HEARD: Final = frozenset({Standing.NOTHING, Standing.UNREAD})
"""How sentences stand that take the place of nothing."""


class Room:
    """One conversation with an `agent`, which is kept as `record`."""

    def __init__(self, agent: Agent, name: str, record: RoomRecord) -> None:
        self.name = name
        self.record = record
        self._agent = agent
        self._opened = Opened(agent)
        self._errands = Errands(agent, self)

    @property
    def question(self) -> str:
        """What somebody has to answer: as to what is meant, or as to a step of a run; nothing where nothing is open."""
        if self.record.open is not None:
            return self.record.open.question
        return next((asked.text for _, asked in self._errands.asked()), "")

    @property
    def errands(self) -> tuple[Errand, ...]:
        """What was asked for and is not over."""
        return self.record.errands

    async def achieve(
        self,
        request: Any,
        *,
        priority: int = 0,
        memory: Mapping[str, Any] | None = None,
        tell: Tell = nobody,
    ) -> Achieved:
        """Do what `request` asks for in this room, or take it as the answer to what is open, and say what became of it.

        A sentence is read with what was said before. Where something is at work in the room, it may add to that or take
        its place, which is patched then; else it waits for its turn, or, with a higher `priority`, has the other give
        way at the end of a step. Of two that cannot be had together, the less urgent one is not done. Raises as
        `Agent.plan` does.
        """
        check_given(priority=priority, tell=tell)
        check_named(memory=memory)
        tell(Heard(str(request)))
        achieved = None
        if isinstance(request, str):
            if not request.strip():
                return self._unheard(Proposal(Standing.NOTHING, request, reason="nothing was said"), tell)
            self.note(self.record.said("user", request))
            achieved = await self._directed(request, tell) or await self._answered(request, tell)
        if achieved is None:
            achieved = await self._asked_for(request, priority, memory or {}, tell)
        self.note(self.record.said("agent", _reply(achieved)))
        tell(Finished(achieved))
        return achieved

    def stream(self, request: Any, **options: Any) -> AsyncGenerator[AgentEvent]:
        """Yield what happens while `request` is achieved; see `Agent.stream`."""
        return streamed(lambda tell: self.achieve(request, tell=tell, **options), self._agent.runs.interrupt)

    def interrupt(self) -> None:
        """Have what is at work in the room stop at the end of a step; `resume` goes on with it."""
        self._errands.interrupt()

    async def resume(self, *, tell: Tell = nobody) -> list[Outcome]:
        """Go on with all that was begun in the room and is not over, the most urgent first; return how it ends."""
        return await self._errands.resume(tell)

    async def _asked_for(self, request: Any, priority: int, memory: Mapping[str, Any], tell: Tell) -> Achieved:
        """Do what `request` asks for, if nothing is in the way; else keep what somebody has to say first."""
        settled = await self._opened.answered(request, self.record.open, tell) if isinstance(request, str) else None
        if settled is None:
            active = self._errands.active
            proposal = await self._agent.proposed(
                request,
                self._agent.runs.now("" if active is None else active.run),
                tuple(context_of(self.record, None if active is None else active.proposal.words)),
                None if active is None else active.proposal.problem,
            )
            settled = await self._agent.settled(proposal, tell)
        proposal, may_be_done = settled
        if proposal.standing in NOT_HEARD and self.record.open is not None:
            return Achieved(replace(proposal, question=self.question))
        is_open = bool(proposal.question) and not may_be_done and proposal.standing is not Standing.DECLINED
        self.note(self.record.model_copy(update={"open": self._opened.keep(proposal if is_open else None)}))
        return await self._errands.done(proposal, priority, memory, tell) if may_be_done else Achieved(proposal)

    def _unheard(self, proposal: Proposal, tell: Tell) -> Achieved:
        """Return that nothing was asked for: what was open stays open."""
        achieved = Achieved(replace(proposal, question=self.question))
        tell(Finished(achieved))
        return achieved

    async def _directed(self, text: str, tell: Tell) -> Achieved | None:
        """Stop what is at work where `text` asks for that, or go on with what was stopped; None where it does not."""
        active = self._errands.active
        if active is not None and is_stop(text):
            self.interrupt()
            outcome: Outcome = await self._agent.runs.at_work(active.run).run
            return Achieved(active.proposal, outcome)
        stopped = [each for each in self.errands if each.run] if active is None and is_go_on(text) else []
        if not stopped or self.record.open is not None or any(is_filling(asked) for _, asked in self._errands.asked()):
            return None
        ended = await self.resume(tell=tell)
        if not ended:
            return Achieved(Proposal(Standing.NOTHING, stopped[0].request, words=stopped[0].words, reason=LOST))
        return Achieved(Proposal(Standing.PLANNED, stopped[0].request, words=stopped[0].words), ended[0])

    async def _answered(self, text: str, tell: Tell) -> Achieved | None:
        """Return what becomes of a run that waits for the answer `text`; None where it answers nothing."""
        for errand, asked in self._errands.asked() if self.record.open is None else ():
            if is_filling(asked) and decision(text) is False:
                return await self._errands.called_off(errand, tell)
            answer: Any = text
            if is_filling(asked):
                state, meter = self._agent.runs.state_of(errand.run), Meter(self._agent.allowance)
                answer = await values_in(text, asked, state, self._agent.model, meter)
                if answer is None:
                    reason = "that does not say what is needed"
                    return Achieved(Proposal(Standing.NOTHING, text, question=asked.text, reason=reason))
            if is_clear(asked, answer):
                return await self._errands.answered(errand, {asked.question: answer}, tell)
        return None

    def note(self, record: RoomRecord) -> None:
        """Take over `record`, and have the journal keep it, if there is one."""
        journal = self._agent.executor.journal
        if record != self.record:
            self.record = record
            if journal is not None:
                journal.save_room(self.name, record.as_text())


def _reply(achieved: Achieved) -> str:
    """Return what the agent says to a request, in words that follow from goals and plans alone."""
    proposal, outcome = achieved.proposal, achieved.outcome
    if outcome is None:
        return proposal.question or proposal.standing.value
    return f"{proposal.words}\nThis is {outcome.status.name.lower()}: {outcome.status.value}"
