"""`Agent`: requests, as goals or as sentences, become plans that were checked, are confirmed, and carried out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace as with_changes
from typing import Any, Final

from executor.agent.confirming import Confirm, confirmed, only_reads
from executor.agent.filling import Filler
from executor.agent.planning import searched
from executor.agent.proposals import Achieved, Proposal, Standing
from executor.agent.reading import Reader, Reading
from executor.agent.reading.words import in_words
from executor.engine import Executor
from executor.errors import ModelError
from executor.handle import Outcome, Run
from executor.language.allowance import Allowance, Meter
from executor.language.protocol import LanguageModel, Part
from executor.world.world import World
from planner.declare import Domain
from planner.errors import InputError
from planner.model import Problem
from planner.plan import Result, StoppedBy
from planner.records import replace

TIME_LIMIT: Final = 10.0
"""Seconds for one search."""


class Agent:
    """Plans for requests and carries the plans out in `world`.

    `problem` is how things stand: its objects and its initial facts; its goal does not count. Without a `model`,
    requests are goals; with one, they may be sentences, and the open parameters of steps are filled from them.
    `confirm` is asked whether a goal is meant that a sentence led to, unless its plan only reads; `waived` goals are
    not asked about. `open_types` are those of which sentences may name new objects. `allowance` is what each request
    may spend on the model. All else is for the executor.
    """

    def __init__(
        self,
        world: Any,
        problem: Problem | None = None,
        *,
        model: LanguageModel | None = None,
        confirm: Confirm = None,
        waived: bool = False,
        open_types: Collection[str] = (),
        allowance: Allowance | None = None,
        time_limit: float | None = TIME_LIMIT,
        **executing: Any,
    ) -> None:
        self.world = world if isinstance(world, World) else World(world)
        self.problem = problem or Domain.of(self.world.model).problem()
        self.model = model
        self.executor = Executor(self.world, **executing)
        self._confirm, self._waived = confirm, waived
        self._open_types, self._allowance, self._time_limit = open_types, allowance or Allowance(), time_limit

    async def plan(self, request: Any, *, context: Collection[Part] = ()) -> Proposal:
        """Return what `request` comes to, with a plan where there is one; nothing is done.

        A request is a sentence, a goal (conditions in a list, or `{"hard": …, "soft": …}`) or a `Problem`. Raises
        `InputError` for a goal that means nothing here, and for a sentence without a model.
        """
        if isinstance(request, str):
            return await self._of_sentence(request, context)
        problem = request if isinstance(request, Problem) else self._with_goal(request)
        return await self._planned(Proposal(Standing.PLANNED, "", problem, in_words(problem)))

    async def choose(self, proposal: Proposal, number: int) -> Proposal:
        """Return what the request of `proposal` comes to where it means the one of its readings with this `number`."""
        chosen = (proposal.readings[number],)
        return await self._of_readings(replace(proposal, standing=Standing.NOTHING, readings=chosen, question=""))

    async def achieve(self, request: Any, *, memory: Mapping[str, Any] | None = None) -> Achieved:
        """Plan for `request`, have it confirmed where that is needed, and carry it out."""
        proposal = await self.plan(request)
        if proposal.standing is Standing.UNCONFIRMED:
            said = await confirmed(self._confirm, proposal)
            if said is False:
                proposal = replace(proposal, standing=Standing.DECLINED)
            if not said:
                return Achieved(proposal)
        elif proposal.standing is not Standing.PLANNED:
            return Achieved(proposal)
        return await self.carry_out(proposal, memory=memory)

    async def carry_out(self, proposal: Proposal, *, memory: Mapping[str, Any] | None = None) -> Achieved:
        """Carry out the plan of `proposal`, which somebody has confirmed; raises `InputError` where it has none."""
        outcome = await self.start(proposal, memory=memory)
        self._learn(outcome)
        return Achieved(proposal, outcome)

    def start(self, proposal: Proposal, *, memory: Mapping[str, Any] | None = None) -> Run:
        """Begin to carry out the plan of `proposal`, and return the run."""
        if proposal.plan is None:
            raise InputError(f"there is no plan to carry out: {proposal.standing.value}", hint=proposal.reason or None)
        return self._executor(proposal, memory or {}).start(proposal.plan, memory=memory)

    async def resume(self, run: str, **given: Any) -> Outcome:
        """Take up a run from the journal; see `Executor.resume`."""
        outcome = await self._executor(Proposal(Standing.PLANNED), {}).resume(run, **given)
        self._learn(outcome)
        return outcome

    def _executor(self, proposal: Proposal, memory: Mapping[str, Any]) -> Executor:
        """Return the executor for one request: what it says fills open parameters, with what is left to spend."""
        if self.model is None:
            return self.executor
        meter = Meter(self._allowance, proposal.usage)
        return with_changes(self.executor, fill=Filler(self.model, proposal.request, memory, meter))

    def _learn(self, outcome: Outcome) -> None:
        """Take over what is believed after a run: that is how things stand now."""
        state = outcome.state
        facts = tuple(sorted(state.beliefs.simulation.facts, key=str))
        self.problem = replace(self.problem, objects=state.source.objects, initial=facts)

    def _with_goal(self, goal: Any) -> Problem:
        problem = self.problem
        stated = Domain.of(problem.domain).problem(problem.name, objects=problem.objects, goal=goal)
        return replace(problem, goal=stated.goal)

    async def _of_sentence(self, sentence: str, context: Collection[Part]) -> Proposal:
        if self.model is None:
            raise InputError("a sentence needs a language model", hint="Agent(…, model=…), or give a goal as a list")
        reader, meter = Reader(self.model, self._open_types), Meter(self._allowance)
        try:
            understood = await reader.read(sentence, self.problem, meter=meter, context=tuple(context))
        except ModelError as error:
            return Proposal(Standing.UNREAD, sentence, reason=str(error), usage=meter.spent)
        found = Proposal(Standing.NOTHING, sentence, readings=understood.readings, thought=understood.thought)
        return await self._of_readings(replace(found, usage=meter.spent))

    async def _of_readings(self, base: Proposal) -> Proposal:
        readings = base.readings
        if not readings:
            return replace(base, reason="the sentence asks for nothing that could be done here")
        if len(readings) > 1:
            choices = "\n".join(f"{number}.\n{each.words}" for number, each in enumerate(readings, start=1))
            return replace(base, standing=Standing.AMBIGUOUS, question=f"Which of these is meant?\n{choices}")
        (reading,) = readings
        base = replace(base, problem=reading.problem, words=reading.words)
        stopped = _in_the_way(base, reading)
        if stopped is not None:
            return stopped
        proposal = await self._planned(base)
        if proposal.plan is None or self._waived or only_reads(proposal.plan):
            return proposal
        return replace(proposal, standing=Standing.UNCONFIRMED, question=f"Is this what you want?\n{reading.words}")

    async def _planned(self, proposal: Proposal) -> Proposal:
        assert proposal.problem is not None  # noqa: S101 - a mistake of ours
        result = await searched(proposal.problem, time_limit=self._time_limit)
        if result.has_plan:
            return replace(proposal, standing=Standing.PLANNED, result=result)
        return replace(proposal, standing=Standing.UNPLANNED, result=result, reason=_why(result))


def _in_the_way(proposal: Proposal, reading: Reading) -> Proposal | None:
    """Return what keeps a reading from being planned, nothing where it can be."""
    if reading.unknown:
        named = ", ".join(f"{name} ({kind})" for name, kind in reading.unknown.items())
        question = f"Who or what is meant by {named}?"
        return replace(proposal, standing=Standing.UNKNOWN, question=question)
    if reading.unreachable:
        reason = "; ".join(str(missing) for part in reading.unreachable for missing in part.missing)
        return replace(proposal, standing=Standing.UNREACHABLE, reason=reason)
    if reading.unmodelled:
        reason = f"no fact expresses: {'; '.join(map(repr, reading.unmodelled))}"
        return replace(proposal, standing=Standing.UNMODELLED, reason=reason)
    return None


def _why(result: Result) -> str:
    stopped = "" if result.stopped_by is StoppedBy.EXHAUSTED else f" ({result.stopped_by.value})"
    return f"{result.status.value}{stopped}{f': {result.reason}' if result.reason else ''}"
