"""`Room`: one conversation with an agent.

A request is read with the turns before it. The next sentence may answer an open question, also after a restart.
Requests are carried out one at a time, the most urgent first.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from executor.agent import agent_events
from executor.agent.agent_options import check_given
from executor.agent.conversations import record as room_record
from executor.agent.conversations.errands import Errands
from executor.agent.fill_parameters import answer_of, required_parameters
from executor.agent.goal_reading.goal_problem import Meanings
from executor.agent.proposals import Achieved, Proposal, Standing
from executor.agent.run_goals import NO_TERMS, RunTerms
from executor.arguments import check_named
from executor.errors import ModelError
from executor.events.answers import check_meaning, is_clear, is_filling, is_wait
from executor.events.events import Asked
from executor.events.run_state import RunState
from executor.language_model.checked_answers import ask_checked
from executor.language_model.protocol import LanguageModel, Meter, Origin, Part, Purpose, Request
from executor.loop.parameters import FillRequest, check_given_values, find_open_parameters
from executor.run import RunOutcome
from planner.errors import InputError
from planner.lightweight import dataclass, replace

if TYPE_CHECKING:
    from executor.agent.agent import Agent

INSTRUCTIONS: Final = """\
The user was asked for parameters of a step. Take the values from the user's answer alone: 'values'. Leave out what the
answer does not say.
"""


async def read_values(text: str, asked: Asked, state: RunState, model: LanguageModel | None, meter: Meter) -> Any:
    """Read values of the parameters that a run has `asked` for: by name, or the only one as the text itself.

    The model does not see results of tools, so that no value can come from there. Without a model, the text is the
    value of the first parameter. Return None where the text lacks a value.
    """
    record = state.steps[asked.step]
    action = state.domain.actions[record.step.action]
    parameters = find_open_parameters(state, record, action)
    request = FillRequest(record, action, parameters, {}, state)
    wanted = required_parameters(request)
    if model is None or not wanted or (len(wanted) == 1 and _fits(wanted[0].annotation, text)):
        return text
    kind = answer_of(request)
    parts = (
        Part("The step", str(record.step)),
        Part("The question", ", ".join(each.name for each in wanted)),
        Part("The user answers", text, Origin.USER),
    )
    try:
        found = await ask_checked(model, Request(Purpose.FILL, INSTRUCTIONS, parts, kind), kind, meter=meter)
    except ModelError:
        return None
    values = found.value.values
    is_whole = all(each.name in values.model_fields_set for each in wanted)
    return {name: getattr(values, name) for name in values.model_fields_set} if is_whole else None


def _object_to_values(answer: Any, asked: Asked, state: RunState) -> str:
    """Return why values in `answer` do not fit the parameters of the step that `asked` for them; else an empty text."""
    try:
        check_meaning(asked, answer)
        check_given_values(asked, state.domain.actions[state.steps[asked.step].step.action], answer)
    except InputError as error:
        return str(error)
    return ""


def _fits(annotation: Any, text: str) -> bool:
    try:
        TypeAdapter(annotation).validate_python(text)
    except (ValidationError, PydanticUserError):
        return False
    return True


@dataclass(slots=True, eq=False)
class OpenProposal:
    """The proposal with an open question, in this process."""

    agent: Agent
    proposal: Proposal | None = None

    def keep(self, proposal: Proposal | None, terms: RunTerms) -> room_record.OpenSentence | None:
        """Make `proposal` the open one, if there is one, with its `terms`; return its record."""
        self.proposal = proposal
        return None if proposal is None else room_record.OpenSentence.of(proposal, terms)

    async def take_answer(
        self, text: str, said: room_record.OpenSentence | None, tell: agent_events.Tell
    ) -> tuple[Proposal, bool] | None:
        """Take `text` as an answer to the open sentence `said`; None where it answers something else.

        If the restored question differs from the question that was shown, it is asked again.
        """
        if said is None:
            return None
        if self.proposal is None:
            self.proposal = proposal = await self._restore(said)
            shown = (said.standing, said.question)
            if proposal is not None and (proposal.standing.name, proposal.question) != shown:
                return await self._ask_again(proposal, text, tell)
        proposal = self.proposal
        if proposal is None:
            return None
        if proposal.is_for_somebody:
            answer = room_record.read_decision(text)
            if answer is None:
                return None
            tell(agent_events.Decided(answer))
            return self.agent.decide(proposal, said=answer)
        found: Proposal | None = None
        if proposal.standing is Standing.AMBIGUOUS:
            number = room_record.read_choice(text, [each.words for each in proposal.readings])
            found = None if number is None else await self.agent.choose(proposal, number)
        elif proposal.standing is Standing.UNKNOWN and room_record.is_new(text):
            kinds = {kind for each in proposal.readings for kind in each.unknown.values()}
            found = await self._reread(room_record.OpenSentence.of(proposal), kinds)
        return None if found is None else await self.agent.settle(found, tell)

    async def _ask_again(self, proposal: Proposal, text: str, tell: agent_events.Tell) -> tuple[Proposal, bool] | None:
        """Ask the changed question of `proposal` again if `text` answers the former one."""
        answer = room_record.read_decision(text)
        if answer is None or not proposal.is_for_somebody:
            self.proposal = None
            return None
        if not answer:
            tell(agent_events.Decided(answer))
            return self.agent.decide(proposal, said=answer)
        for event in agent_events.events_of(proposal):
            tell(event)
        return proposal, False

    async def _restore(self, said: room_record.OpenSentence) -> Proposal | None:
        """Restore the proposal that was open when the process ended; None where it is no longer valid."""
        try:
            return await self._reread(said, set())
        except InputError:
            return None

    async def _reread(self, said: room_record.OpenSentence, open_types: set[str]) -> Proposal:
        meanings = Meanings(meanings=list(said.meanings), thought="")
        proposer, now = self.agent.proposer, self.agent.problem
        meter = Meter(self.agent.allowance)
        return await proposer.reread(said.sentence, now, meanings, meter, open_types=open_types, served=said.served)


LOST: Final = "the process ended before it was begun, and somebody has to approve it again: ask for it once more"
UNSAID: Final = "that does not say what is needed"
NO_ANSWER: Final = "that is no answer to the open question"
NOT_HEARD: Final = frozenset({Standing.NOTHING, Standing.UNREAD})
"""Standings of sentences that leave an open question open."""


class Room:
    """One conversation with an `agent`, kept in `record`."""

    def __init__(self, agent: Agent, name: str, record: room_record.RoomRecord) -> None:
        self.name = name
        self.record = record
        self._agent = agent
        self._opened = OpenProposal(agent)
        self._errands = Errands(agent, self)

    @property
    def question(self) -> str:
        """The open question, about a reading or about a step of a run; "" where there is none."""
        if self.record.open is not None:
            return self.record.open.question
        return next((asked.text for _, asked in self._errands.open_questions()), "")

    @property
    def errands(self) -> tuple[room_record.Errand, ...]:
        """The unfinished requests."""
        return self.record.errands

    async def achieve(
        self,
        request: Any,
        *,
        priority: int = 0,
        memory: Mapping[str, Any] | None = None,
        run: str | None = None,
        join: bool = True,
        occasion: str = "",
        again: Collection[str] = (),
        tell: agent_events.Tell = agent_events.ignore_event,
    ) -> Achieved:
        """Carry out `request` in this room, or take it as the answer to the open question; return what happened.

        A sentence is read with the turns before it. It may add to the goal of the active run, or replace it; the plan
        of that run is then patched. Otherwise the request waits for its turn or, with a higher `priority`, interrupts
        the active run at the end of a step. Of two incompatible requests, the less urgent one is not carried out.

        `run`, `join`, `occasion` and `again` are as for `Executor.start`; a request with any of them is a run of its
        own, and an answer to the question about a request leaves those of the request. Raises as `Agent.plan` does.
        """
        check_given(priority=priority, tell=tell)
        check_named(memory=memory)
        terms = self._agent.read_terms(run, occasion, again, join=join)
        tell(agent_events.Heard(str(request)))
        achieved = None
        if isinstance(request, str):
            if not request.strip():
                return self._ignore_empty(Proposal(Standing.NOTHING, request, reason="nothing was said"), tell)
            self.note(self.record.with_turn("user", request))
            achieved = await self._obey_command(request, tell) or await self._answer_run(request, tell)
        if achieved is None:
            achieved = await self._handle_request(request, priority, memory or {}, terms, tell)
        self.note(self.record.with_turn("agent", _reply_to(achieved)))
        tell(agent_events.Finished(achieved))
        return achieved

    def stream(self, request: Any, **options: Any) -> AsyncGenerator[agent_events.AgentEvent]:
        """Yield the events while `request` is achieved; see `Agent.stream`."""
        return agent_events.stream_events(
            lambda tell: self.achieve(request, tell=tell, **options), self._agent.runs.interrupt
        )

    def interrupt(self) -> None:
        """Stop the active runs of the room at the end of a step; `resume` continues them."""
        self._errands.interrupt()

    async def resume(self, *, tell: agent_events.Tell = agent_events.ignore_event) -> list[RunOutcome]:
        """Resume all unfinished requests of the room, the most urgent first; return their outcomes."""
        return await self._errands.resume(tell)

    async def _handle_request(
        self, request: Any, priority: int, memory: Mapping[str, Any], terms: RunTerms, tell: agent_events.Tell
    ) -> Achieved:
        """Carry out `request`, or keep the question that a person has to answer first."""
        opened = self.record.open
        settled = await self._opened.take_answer(request, opened, tell) if isinstance(request, str) else None
        if settled is not None and opened is not None and terms == NO_TERMS:
            terms = opened.terms
        if settled is None and isinstance(request, str) and self._agent.model is None and self.question:
            return Achieved(Proposal(Standing.NOTHING, request, question=self.question, reason=NO_ANSWER))
        if settled is None:
            active = self._errands.active
            proposal = await self._agent.propose(
                request,
                self._agent.runs.current_problem("" if active is None else active.run, terms),
                tuple(room_record.context_parts(self.record, None if active is None else active.proposal.words)),
                None if active is None else active.proposal.problem,
            )
            settled = await self._agent.settle(proposal, tell)
        proposal, may_be_done = settled
        if proposal.standing in NOT_HEARD and self.record.open is not None:
            return Achieved(replace(proposal, question=self.question))
        is_open = bool(proposal.question) and not may_be_done and proposal.standing is not Standing.DECLINED
        self.note(self.record.model_copy(update={"open": self._opened.keep(proposal if is_open else None, terms)}))
        if not may_be_done:
            return Achieved(proposal)
        return await self._errands.carry_out(proposal, priority, memory, terms, tell)

    def _ignore_empty(self, proposal: Proposal, tell: agent_events.Tell) -> Achieved:
        """Return that nothing was asked for; an open question stays open."""
        achieved = Achieved(replace(proposal, question=self.question))
        tell(agent_events.Finished(achieved))
        return achieved

    async def _obey_command(self, text: str, tell: agent_events.Tell) -> Achieved | None:
        """Obey `text` if it is "stop" or "go on"; None where it is neither."""
        active = self._errands.active
        if active is not None and room_record.is_stop(text):
            self.interrupt()
            outcome: RunOutcome = await self._agent.runs.active_run(active.run).run
            return Achieved(active.proposal, outcome)
        stopped = [each for each in self.errands if each.run] if active is None and room_record.is_go_on(text) else []
        if (
            not stopped
            or self.record.open is not None
            or any(is_filling(asked) for _, asked in self._errands.open_questions())
        ):
            return None
        ended = await self.resume(tell=tell)
        if not ended:
            return Achieved(Proposal(Standing.NOTHING, stopped[0].request, words=stopped[0].words, reason=LOST))
        return Achieved(Proposal(Standing.PLANNED, stopped[0].request, words=stopped[0].words), ended[0])

    async def _answer_run(self, text: str, tell: agent_events.Tell) -> Achieved | None:
        """Answer the run that waits for `text`; None where no run does."""
        for errand, asked in self._errands.open_questions() if self.record.open is None else ():
            if is_wait(asked) and not asked.choices and room_record.read_decision(text) is None:
                continue  # any sentence would do as its answer: only yes and no are meant for it
            if is_filling(asked) and room_record.read_decision(text) is False:
                return await self._errands.cancel_run(errand, tell)
            answer: Any = text
            if is_filling(asked):
                state, meter = self._agent.runs.state_of(errand.run), Meter(self._agent.allowance)
                answer = await read_values(text, asked, state, self._agent.model, meter)
                reason = UNSAID if answer is None else _object_to_values(answer, asked, state)
                if reason:
                    return Achieved(Proposal(Standing.NOTHING, text, question=asked.text, reason=reason))
            if is_clear(asked, answer):
                return await self._errands.resume_with(errand, {asked.question: answer}, tell)
        return None

    def note(self, record: room_record.RoomRecord) -> None:
        """Replace the record, also in the journal, if there is one."""
        journal = self._agent.executor.journal
        if record != self.record:
            self.record = record
            if journal is not None:
                journal.save_room(self.name, record.as_text())


def _reply_to(achieved: Achieved) -> str:
    """Word the reply of the agent, from goals and plans alone."""
    proposal, outcome = achieved.proposal, achieved.outcome
    if outcome is None:
        return proposal.question or proposal.standing.value
    return f"{proposal.words}\nThis is {outcome.status.name.lower()}: {outcome.status.value}"
