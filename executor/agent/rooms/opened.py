"""What somebody has to say before a request is done: answers to that need no model, also after a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executor.agent.events import Decided
from executor.agent.proposals import Proposal, Standing
from executor.agent.reading.answer import Meanings
from executor.agent.rooms.context import chosen, decision, is_new
from executor.agent.rooms.record import Said
from executor.agent.telling import Tell
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

    def keep(self, proposal: Proposal) -> Said:
        """Return what is kept of `proposal`, which is open now."""
        self.proposal = proposal
        return Said.of(proposal)

    async def answered(self, text: str, said: Said | None, tell: Tell) -> tuple[Proposal, bool] | None:
        """Return what comes of `text` as an answer to what is open, `said`; None where it is something else."""
        proposal, self.proposal = (self.proposal if said is not None else None), None
        if said is None:
            return None
        proposal = proposal or await self._again(said)
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

    async def _again(self, said: Said) -> Proposal | None:
        """Return the proposal that was open when the process ended; None where it is another one now.

        Steps that were proposed for what no fact expresses are not kept: they have to be proposed again.
        """
        if said.standing == Standing.UNVERIFIED.name:
            return None
        try:
            found = await self._reread(said, set())
        except InputError:
            return None
        return found if found.standing.name == said.standing and found.question == said.question else None

    async def _reread(self, said: Said, open_types: set[str]) -> Proposal:
        meanings = Meanings(meanings=list(said.meanings), thought="")
        proposer, now = self.agent.proposer, self.agent.problem
        return await proposer.again(said.sentence, now, meanings, Meter(self.agent.allowance), open_types)
