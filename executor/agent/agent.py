"""`Agent`: turns requests (goals or sentences) into checked plans, has them confirmed, and carries them out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from executor.agent import agent_events
from executor.agent.agent_options import check_given
from executor.agent.confirmation import Confirm, ask_to_confirm
from executor.agent.conversations.record import load_room
from executor.agent.conversations.room import Room
from executor.agent.describe_problem import describe_goal
from executor.agent.goal_reading.confirmed_readings import Readings
from executor.agent.plan_search import Planner
from executor.agent.proposals import Achieved, Proposal, Standing
from executor.agent.propose import Proposer
from executor.agent.run_goals import CONFIRMS, Runs, RunTerms
from executor.agent.standing_goals.goal_authoring import StandingGoals
from executor.agent.why import Why, why
from executor.arguments import check_named, check_request
from executor.events.events import StepStatus
from executor.executor import Executor
from executor.language_model.protocol import Allowance, LanguageModel, Meter, Part
from executor.run import Run, RunOutcome
from executor.tools.world import World
from planner.errors import InputError, did_you_mean
from planner.language.declare import Domain
from planner.lightweight import dataclass, replace
from planner.model import DomainModel, Problem
from planner.plan import Plan
from planner.problem_kinds import is_other_problem
from planner.reuse.plan_cache import PlanCache
from planner.reuse.templates import Template, lift, make_valid_plan, read_templates
from planner.validation.validate import validate

File = str | Path


@dataclass(frozen=True, slots=True)
class Reuse:
    """The `cache` of plans, the `templates`, and the confirmed `readings`."""

    cache: PlanCache | None = None
    templates: Sequence[Template] = ()
    readings: Readings | None = None

    @classmethod
    def of(
        cls,
        cache: PlanCache | File | None,
        templates: Sequence[Template] | File,
        readings: Readings | File | None,
        domain: DomainModel,
    ) -> Reuse:
        """Return the given objects, or the contents of the named files; a file of plans has the readings, too.

        Raises `InputError` for files with other contents.
        """
        if readings is None and isinstance(cache, File):
            readings = cache
        return cls(
            PlanCache(cache) if isinstance(cache, File) else cache,
            read_templates(templates, domain) if isinstance(templates, File) else tuple(templates),
            Readings(readings) if isinstance(readings, File) else readings,
        )

    def to_dict(self) -> dict[str, float]:
        """Count the reused plans and readings, and the saved seconds, calls and tokens."""
        found: dict[str, float] = {}
        if self.cache is not None:
            found |= self.cache.savings.to_dict()
        if self.readings is not None:
            saved = self.readings.saved
            found |= {"read": self.readings.hits, "calls": saved.calls, "tokens": saved.tokens}
        return found


DONE_STATUSES = frozenset({StepStatus.SUCCEEDED, StepStatus.UNVERIFIED})


def lift_run(outcome: RunOutcome, name: str = "") -> Template:
    """Generalise the steps that a run has done, in their order, to a template.

    The template leaves out values of data parameters, which belong to that run. Raises `InputError` where the declared
    effects of the steps do not lead from the start of the run to its goal, because something else changed the world,
    too.
    """
    state = outcome.state
    latest = dict.fromkeys(reversed(state.finished))
    done = [state.steps[id_].step for id_ in reversed(latest) if state.steps[id_].status in DONE_STATUSES]
    plan = make_valid_plan(state.source, [(each.action, each.arguments) for each in done], {})
    if plan is None:
        reason = validate(state.source, done).reason
        hint = "only runs in which the world is as it is declared give templates"
        raise InputError(f"the run {outcome.run} cannot be lifted: {reason}", hint=hint)
    return lift(Plan(plan.steps, state.source), name)


TIME_LIMIT: Final = 10.0
"""Time limit of one search, in seconds."""


class Agent(StandingGoals):
    """Plans for requests and carries the plans out in `world`.

    `problem` gives the present state: its objects and its initial facts; its goal does not count. Without a `model`,
    requests are goals; with one, they may be sentences, and the model fills open parameters of steps. `confirm` is
    asked to confirm the goals of sentences, except `waived` ones and those whose plan only reads. Goals that no fact
    expresses, or that results of tools may have influenced, always need confirmation. Sentences may name new objects of
    `open_types`. `allowance` limits the use of the model for each request.

    A plan comes from the first of the `templates` that fits, from the `cache`, or from a search (with `mode` and
    `time_limit`, in seconds of processor time; one that runs out of it is tried once more with four times as much).
    `readings` keeps the confirmed readings of sentences. Each of these three may be a file; a file for `cache` has the
    readings, too. The working memory of each run begins with `memory`, and data parameters may take values from results
    of earlier runs. All other options are those of `Executor`.
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
        cache: PlanCache | File | None = None,
        templates: Sequence[Template] | File = (),
        readings: Readings | File | None = None,
        memory: Mapping[str, Any] | None = None,
        **executing: Any,
    ) -> None:
        check_named(memory=memory)
        check_given(problem=problem, model=model, confirm=confirm, open_types=open_types, allowance=allowance)
        check_given(waived=waived, cache=cache, templates=templates, readings=readings)
        self.world = world if isinstance(world, World) else World(world)
        self.model = model
        self.executor = Executor(self.world, **executing)
        self.allowance = allowance or Allowance()
        now = problem or Domain.of(self.world.model).problem()
        self.runs = Runs(self.executor, now, model, self.allowance, memory or {})
        for kind in open_types:
            if kind not in now.domain.types:
                near = did_you_mean(kind, now.domain.types) or f"there are {', '.join(now.domain.types)}"
                raise InputError(f"there is no type {kind!r} of which sentences could name new objects", hint=near)
        self._kept = Reuse.of(cache, templates, readings, self.world.model)
        planner = Planner(self._kept.cache, self._kept.templates, mode, time_limit)
        self.proposer = Proposer(self.world, model, open_types, waived, planner, self._kept.readings, self.runs.look)
        super().__init__()
        self._confirm = confirm
        self._rooms: dict[str, Room] = {}

    @property
    def problem(self) -> Problem:
        """The present state as far as known: objects and initial facts."""
        return self.runs.problem

    @problem.setter
    def problem(self, problem: Problem) -> None:
        self.runs.problem = problem

    @property
    def savings(self) -> dict[str, float]:
        """How often plans, templates and readings were reused, and what that saved; see `Reuse.to_dict`."""
        return {**self._kept.to_dict(), "templates": self.proposer.planner.used}

    def room(self, name: str = "") -> Room:
        """Return the conversation with this `name`, of a place or a person; the journal, if any, keeps it."""
        check_given(name=name)
        if name not in self._rooms:
            self._rooms[name] = Room(self, name, load_room(self.executor.journal, name))
        return self._rooms[name]

    async def plan(
        self, request: Any, *, context: Collection[Part] = (), occasion: str = "", again: Collection[str] = ()
    ) -> Proposal:
        """Make a proposal for `request`, with a plan if there is one; carry out nothing.

        A request is a sentence, a goal (conditions in a list, or `{"hard": …, "soft": …}`) or a `Problem`. What was
        done on another `occasion`, or is to be done `again`, and was not seen since, counts as not done. Raises
        `InputError` for an invalid goal, and for a sentence without a model.
        """
        check_given(context=context)
        terms = self.read_terms(None, occasion, again)
        return await self.propose(request, self.runs.current_problem(terms=terms), context)

    async def candidates(self, request: Any, k: int = 3, **options: Any) -> tuple[Proposal, ...]:
        """Make a proposal for each of the `k` cheapest plans of `request`, the cheapest first; carry out nothing.

        `options` are those of `planner.k_best`. Without a plan, or for a problem whose candidates cannot be enumerated
        (because actions create objects), there is one proposal with the reason. Each proposal can be carried out with
        the others as `alternatives`. Raises as `plan` does.
        """
        proposal = await self.plan(request)
        return await self.proposer.propose_variants(proposal, k, **options) or (proposal,)

    async def repair(self, steps: Any, goal: Any) -> Proposal:
        """Repair `steps`, a plan from elsewhere, for a goal, and make a proposal of it; carry out nothing.

        The forms of `steps` are those of `executor.repair`; `goal` is a goal as for `plan`, or a proposal of `plan`.
        The steps need confirmation, unless they only read. Raises `InputError` for an invalid goal, and `PlanError`
        where `steps` cannot be read.
        """
        if not isinstance(goal, Proposal):
            problem = self._goal(goal, self.problem)
            goal = Proposal(Standing.PLANNED, "", problem, describe_goal(problem))
        if goal.problem is None:
            raise InputError(f"there is no goal to plan for: {goal.standing.value}", hint=goal.question or None)
        return await self.proposer.propose_steps(goal, steps)

    async def choose(self, proposal: Proposal, number: int) -> Proposal:
        """Make a proposal for one reading of `proposal`; readings are numbered from 0.

        Raises `InputError` for an unknown number.
        """
        check_given(proposal=proposal)
        if number not in range(len(proposal.readings)):
            raise InputError(f"there is no reading {number!r}", hint=f"there are {len(proposal.readings)}, from 0")
        chosen = replace(
            proposal, standing=Standing.NOTHING, readings=(proposal.readings[number],), question="", reason=""
        )
        return await self.proposer.propose_readings(chosen, Meter(self.allowance, proposal.usage))

    async def achieve(
        self,
        request: Any,
        *,
        memory: Mapping[str, Any] | None = None,
        context: Collection[Part] = (),
        run: str | None = None,
        join: bool = True,
        occasion: str = "",
        again: Collection[str] = (),
        deps: Any = None,
        tell: agent_events.Tell = agent_events.ignore_event,
    ) -> Achieved:
        """Plan for `request`, have the plan confirmed if needed, and carry it out; `tell` gets the events.

        `run`, `join`, `occasion`, `again` and `deps` are as for `Executor.start`.
        """
        check_named(memory=memory)
        check_given(context=context, tell=tell)
        terms = self.read_terms(run, occasion, again, join=join)
        tell(agent_events.Heard(str(request)))
        proposal = await self.plan(request, context=context, occasion=occasion, again=again)
        proposal, may_be_done = await self.settle(proposal, tell)
        if may_be_done:
            achieved = await self.carry_out(proposal, memory=memory, tell=tell, deps=deps, **dict(terms))
        else:
            achieved = Achieved(proposal)
        tell(agent_events.Finished(achieved))
        return achieved

    def stream(self, request: Any, **options: Any) -> AsyncGenerator[agent_events.AgentEvent]:
        """Yield the events while `request` is achieved, with the options of `achieve`; `Finished` comes last.

        Closing the generator interrupts the run: the running steps end, and the run can be resumed.
        """
        return agent_events.stream_events(lambda tell: self.achieve(request, tell=tell, **options), self.runs.interrupt)

    async def carry_out(
        self,
        proposal: Proposal,
        *,
        memory: Mapping[str, Any] | None = None,
        alternatives: Iterable[Proposal] = (),
        tell: agent_events.Tell = agent_events.ignore_event,
        **terms: Any,
    ) -> Achieved:
        """Carry out the plan of `proposal`, which counts as confirmed; raises `InputError` if it has none.

        Steps for parts that no fact expresses count as approved exactly as shown; values that are filled in later need
        approval then. If the plan fails, the run goes on with the end of one of the `alternatives` that fits.
        `terms` are the other options of `start`.
        """
        run = self.start(proposal, memory=memory, alternatives=alternatives, **terms)
        return Achieved(proposal, await self.runs.follow(run, tell))

    def start(
        self,
        proposal: Proposal,
        *,
        memory: Mapping[str, Any] | None = None,
        alternatives: Iterable[Proposal] = (),
        run: str | None = None,
        join: bool = True,
        occasion: str = "",
        again: Collection[str] = (),
        deps: Any = None,
    ) -> Run:
        """Start a run of the plan of `proposal`, and return the run.

        `run`, `join`, `occasion`, `again` and `deps` are as for `Executor.start`; `plan` needs two of these, too.
        """
        check_named(memory=memory)
        check_given(proposal=proposal)
        terms = self.read_terms(run, occasion, again, join=join)
        if proposal.standing in CONFIRMS:
            self.remember(proposal, meant=True)
        return self.runs.start(proposal, memory or {}, alternatives, terms=terms, deps=deps)

    def read_terms(self, run: str | None, occasion: str, again: Collection[str], *, join: bool = True) -> RunTerms:
        """Return the terms on which a request is carried out; raises `InputError` for invalid ones."""
        check_request(run, occasion, again, self.world)
        return RunTerms(run=run, join=join, occasion=occasion, again=tuple(again))

    async def resume(
        self, run: str, *, tell: agent_events.Tell = agent_events.ignore_event, **given: Any
    ) -> RunOutcome:
        """Resume a run, and return its outcome; `given` is as for `Executor.take_up`."""
        return await self.runs.follow(self.runs.take_up(run, **given), tell)

    def why(self, run: str, step: str | None = None) -> Why:
        """Explain a run, or one `step` of it: who chose what, and why; see `executor.agent.why`.

        Raises `RunError` for an unknown run, and `InputError` for an unknown step.
        """
        return why(self.runs.state_of(run), step)

    def interrupt(self, run: str) -> None:
        """Let a run start no further steps: it ends when its running steps end, and `resume` takes it up.

        Raises `RunError` for a run that is not active.
        """
        self.runs.active_run(run).run.interrupt()

    async def change(
        self,
        run: str,
        request: Any,
        *,
        context: Collection[Part] = (),
        tell: agent_events.Tell = agent_events.ignore_event,
    ) -> Proposal:
        """Change the goal of an active run to `request`, once that is confirmed; its plan is patched.

        Returns the proposal for the request. Without a plan or a confirmation, the run keeps its goal. Raises
        `RunError` for a run that is not active or cannot change its goal, and otherwise as `plan` does.
        """
        check_given(context=context, tell=tell)
        self.runs.active_run(run)
        proposal = await self.propose(request, self.runs.current_problem(run), context)
        proposal, may_be_done = await self.settle(proposal, tell)
        if may_be_done:
            self.runs.redirect(run, proposal)
        return proposal

    async def propose(
        self, request: Any, now: Problem, context: Collection[Part] = (), doing: Problem | None = None
    ) -> Proposal:
        """Make a proposal for `request` in the state of `now`, perhaps beside the goal of `doing`; raises as `plan`."""
        if isinstance(request, str):
            return await self.proposer.propose_sentence(request, now, Meter(self.allowance), tuple(context), doing)
        return await self.proposer.propose_goal(self._goal(request, now))

    def _goal(self, request: Any, now: Problem) -> Problem:
        """Return `request` if it is a problem, else the problem `now` with the goal `request`."""
        if isinstance(request, Problem):
            return request
        if is_other_problem(request):
            hint = "give what of it is to hold at the end, or run it as it is: Executor(world).run(problem)"
            raise InputError("an agent plans for facts, and this problem is one of tasks", hint=hint)
        try:
            stated = Domain.of(now.domain).problem(now.name, objects=now.objects, goal=request)
        except InputError as error:
            raise error.without_place() from None
        return replace(now, goal=stated.goal)

    async def settle(self, proposal: Proposal, tell: agent_events.Tell) -> tuple[Proposal, bool]:
        """Have `proposal` confirmed if needed; return it, and whether it may be carried out."""
        for event in agent_events.events_of(proposal):
            tell(event)
        if not proposal.is_for_somebody:
            return proposal, proposal.is_ready
        said = await ask_to_confirm(self._confirm, proposal)
        tell(agent_events.Decided(said))
        return (proposal, False) if said is None else self.decide(proposal, said=said)

    def decide(self, proposal: Proposal, *, said: bool) -> tuple[Proposal, bool]:
        """Record whether a person `said` that `proposal` is meant; return it, and whether it may be carried out."""
        self.remember(proposal, meant=said)
        return (proposal if said else proposal.stopped(Standing.DECLINED)), said

    def remember(self, proposal: Proposal, *, meant: bool) -> None:
        """Keep the reading of the sentence of `proposal` if it is `meant`, else forget it.

        `achieve`, `carry_out` and `start` call this themselves.
        """
        self.proposer.remember_decision(proposal, meant=meant)

    def lift(self, outcome: RunOutcome, name: str = "") -> Template:
        """Generalise the steps that a run has done to a template; see `lift_run`."""
        check_given(outcome=outcome)
        return lift_run(outcome, name)
