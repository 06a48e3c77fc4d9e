"""What somebody has to say before a request is done: answers to that need no model, also after a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.agent.events import Decided
from executor.agent.proposals import Proposal, Standing
from executor.agent.reading.answer import Meanings
from executor.agent.rooms.context import chosen, decision, is_new
from executor.agent.rooms.record import Said
from executor.agent.telling import Tell, events_of
from executor.language.allowance import Meter
from planner.errors import InputError
from planner.records import dataclass

if TYPE_CHECKING:
    from executor.agent.agent import Agent


@dataclass(slots=True, eq=False)
class Opened:
    """The proposal to which somebody has yet to say something, in this process."""

    agent: Agent
    proposal: Proposal | None = None

    def keep(self, proposal: Proposal | None) -> Said | None:
        """Return what is kept of `proposal`, which is open now, if one is."""
        self.proposal = proposal
        return None if proposal is None else Said.of(proposal)

    async def answered(self, text: str, said: Said | None, tell: Tell) -> tuple[Proposal, bool] | None:
        """Return what comes of `text` as an answer to what is open, `said`; None where it is something else.

        Where what was open when the process ended is another one now, the answer is none to that: it is asked again.
        """
        if said is None:
            return None
        if self.proposal is None:
            self.proposal = await self._again(said)
            if self.proposal is not None and not _is_same(self.proposal, said):
                return await self._asked_again(self.proposal, text, tell)
        proposal = self.proposal
        if proposal is None:
            return None
        if proposal.is_for_somebody:
            answer = decision(text)
            if answer is None:
                return None
            tell(Decided(answer))
            return self.agent.decided(proposal, said=answer)
        found: Proposal | None = None
        if proposal.standing is Standing.AMBIGUOUS:
            number = chosen(text, [each.words for each in proposal.readings])
            found = None if number is None else await self.agent.choose(proposal, number)
        elif proposal.standing is Standing.UNKNOWN and is_new(text):
            kinds = {kind for each in proposal.readings for kind in each.unknown.values()}
            found = await self._reread(Said.of(proposal), kinds)
        return None if found is None else await self.agent.settled(found, tell)

    async def _asked_again(self, proposal: Proposal, text: str, tell: Tell) -> tuple[Proposal, bool] | None:
        """Return `proposal`, to which somebody has to say something, where `text` answers what it was before."""
        answer = decision(text)
        if answer is None or not proposal.is_for_somebody:
            self.proposal = None
            return None
        if not answer:
            tell(Decided(answer))
            return self.agent.decided(proposal, said=answer)
        for event in events_of(proposal):
            tell(event)
        return proposal, False

    async def _again(self, said: Said) -> Proposal | None:
        """Return the proposal that was open when the process ended, as it is now; None where it means nothing now."""
        try:
            return await self._reread(said, set())
        except InputError:
            return None

    async def _reread(self, said: Said, open_types: set[str]) -> Proposal:
        meanings = Meanings(meanings=list(said.meanings), thought="")
        proposer, now = self.agent.proposer, self.agent.problem
        meter = Meter(self.agent.allowance)
        return await proposer.again(said.sentence, now, meanings, meter, open_types=open_types, served=said.served)


def _is_same(proposal: Proposal, said: Said) -> bool:
    return (proposal.standing.name, proposal.question) == (said.standing, said.question)
