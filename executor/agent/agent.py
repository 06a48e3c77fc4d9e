"""`Agent`: requests, as goals or as sentences, become plans that were checked, are confirmed, and carried out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from executor.agent.basing import PERSON, based
from executor.agent.confirming import Approved, Confirm, confirmed
from executor.agent.filling import Filler
from executor.agent.lifting import lifted
from executor.agent.planning import Planner
from executor.agent.proposals import Achieved, Proposal, Standing
from executor.agent.proposing import Proposer
from executor.agent.reading import Readings
from executor.engine import Executor
from executor.handle import Outcome, Run
from executor.language.allowance import Allowance, Meter
from executor.language.protocol import LanguageModel, Part
from executor.plans.action_plan import ActionPlan
from executor.world.world import World
from planner.declare import Domain
from planner.model import Problem
from planner.records import replace
from planner.reuse import PlanCache, Template

TIME_LIMIT: Final = 10.0
"""Seconds for one search."""


class Agent:
    """Plans for requests and carries the plans out in `world`.

    `problem` is how things stand: its objects and its initial facts; its goal does not count. Without a `model`,
    requests are goals; with one, they may be sentences, and the open parameters of steps are filled from them.
    `confirm` is asked whether a goal is meant that a sentence led to, unless its plan only reads; `waived` goals are
    not asked about. What no fact expresses, somebody always has to confirm. `open_types` are those of which sentences
    may name new objects. `allowance` is what each request may spend on the model. Plans come by the first of the
    `templates` that fits, from the `cache`, or by search (`mode` and `time_limit`); what somebody has confirmed a
    sentence to mean is kept in `readings`. All else is for the executor.
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
        mode: str = "anytime",
        time_limit: float | None = TIME_LIMIT,
        cache: PlanCache | None = None,
        templates: Sequence[Template] = (),
        readings: Readings | None = None,
        **executing: Any,
    ) -> None:
        self.world = world if isinstance(world, World) else World(world)
        self.problem = problem or Domain.of(self.world.model).problem()
        self.model = model
        self.executor = Executor(self.world, **executing)
        planner = Planner(cache, templates, mode, time_limit)
        self._proposer = Proposer(self.world, model, open_types, waived, planner, readings)
        self._confirm, self._allowance = confirm, allowance or Allowance()

    async def plan(self, request: Any, *, context: Collection[Part] = ()) -> Proposal:
        """Return what `request` comes to, with a plan where there is one; nothing is done.

        A request is a sentence, a goal (conditions in a list, or `{"hard": …, "soft": …}`) or a `Problem`. Raises
        `InputError` for a goal that means nothing here, and for a sentence without a model.
        """
        if isinstance(request, str):
            meter = Meter(self._allowance)
            return await self._proposer.of_sentence(request, self.problem, meter, tuple(context))
        return await self._proposer.of_goal(request if isinstance(request, Problem) else self._with_goal(request))

    async def choose(self, proposal: Proposal, number: int) -> Proposal:
        """Return what the request of `proposal` comes to where it means the one of its readings with this `number`."""
        chosen = replace(
            proposal, standing=Standing.NOTHING, readings=(proposal.readings[number],), question="", reason=""
        )
        return await self._proposer.of_readings(chosen, Meter(self._allowance, proposal.usage))

    async def achieve(self, request: Any, *, memory: Mapping[str, Any] | None = None) -> Achieved:
        """Plan for `request`, have it confirmed where that is needed, and carry it out."""
        proposal = await self.plan(request)
        if proposal.standing in {Standing.UNCONFIRMED, Standing.UNVERIFIED}:
            said = await confirmed(self._confirm, proposal)
            if said is False:
                self.remember(proposal, meant=False)
                proposal = replace(proposal, standing=Standing.DECLINED)
            if not said:
                return Achieved(proposal)
        elif proposal.standing is not Standing.PLANNED:
            return Achieved(proposal)
        return await self.carry_out(proposal, memory=memory)

    async def carry_out(self, proposal: Proposal, *, memory: Mapping[str, Any] | None = None) -> Achieved:
        """Carry out the plan of `proposal`, which somebody has confirmed; raises `InputError` where it has none.

        Steps for what no fact expresses count as approved as they stand there; where values are filled in later, they
        need approval then.
        """
        outcome = await self.start(proposal, memory=memory)
        self._learn(outcome)
        return Achieved(proposal, outcome)

    def start(self, proposal: Proposal, *, memory: Mapping[str, Any] | None = None) -> Run:
        """Begin to carry out the plan of `proposal`, and return the run."""
        made = based(proposal)
        if made.plan.basis.confirmed == PERSON:
            self.remember(proposal, meant=True)
        meter = Meter(self._allowance, proposal.usage)
        return self.executor.start(
            made,
            memory=memory,
            fill=self._filler(proposal.request, memory or {}, meter),
            approve=self._approve(made.plan),
        )

    async def resume(self, run: str, **given: Any) -> Outcome:
        """Take up a run from the journal; see `Executor.resume`."""
        words = self.executor.state_of(run, given.get("entities")).plan.basis.request
        outcome = await self.executor.resume(run, fill=self._filler(words, {}, Meter(self._allowance)), **given)
        self._learn(outcome)
        return outcome

    def remember(self, proposal: Proposal, *, meant: bool) -> None:
        """Keep how the sentence of `proposal` was read, as somebody has said that it is meant, or forget it.

        `achieve`, `carry_out` and `start` do this themselves.
        """
        self._proposer.confirmed(proposal, meant=meant)

    def lift(self, outcome: Outcome, name: str = "") -> Template:
        """Return the template that what was done in a run is an instance of; see `executor.agent.lifting`."""
        return lifted(outcome, name)

    def _filler(self, words: str, memory: Mapping[str, Any], meter: Meter) -> Filler | None:
        """Return what fills open parameters from `words`, with what `meter` has left to spend."""
        return None if self.model is None else Filler(self.model, words, memory, meter)

    def _approve(self, plan: ActionPlan) -> Approved | None:
        """Return what approves the steps that were proposed for what no fact expresses, if there are any."""
        if not plan.basis.unverified:
            return None
        return Approved(self.world.model.actions, plan.steps, self.executor.approve)

    def _learn(self, outcome: Outcome) -> None:
        """Take over what is believed after a run: that is how things stand now."""
        state = outcome.state
        facts = tuple(sorted(state.beliefs.simulation.facts, key=str))
        self.problem = replace(self.problem, objects=state.source.objects, initial=facts)

    def _with_goal(self, goal: Any) -> Problem:
        problem = self.problem
        stated = Domain.of(problem.domain).problem(problem.name, objects=problem.objects, goal=goal)
        return replace(problem, goal=stated.goal)
