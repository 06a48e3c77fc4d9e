"""Make proposals for requests: sentences, goals, and plans from elsewhere.

The repair of a plan from elsewhere keeps as many of its steps as possible, even steps that the goal does not need. So a
person confirms all of them, with their values, unless they only read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Any

from executor.agent import plan_search
from executor.agent.confirmation import only_reads
from executor.agent.describe_problem import describe_goal
from executor.agent.foreign_plans.repair_plan import Repaired, repair_plan
from executor.agent.goal_reading.confirmed_readings import Readings
from executor.agent.goal_reading.goal_problem import Meanings
from executor.agent.goal_reading.read_sentence import Reading, SentenceReader
from executor.agent.improvise import Improviser, Proposed, improvise_again
from executor.agent.proposals import Proposal, Saved, Standing
from executor.background_searches import search_until_cancelled
from executor.errors import ModelError
from executor.language_model.protocol import LanguageModel, Meter, Part
from executor.tools.json_data import dump_json_value
from executor.tools.world import World
from planner.errors import InputError, UnsupportedError
from planner.lightweight import dataclass, field, replace
from planner.model import Goal, Problem
from planner.model.formulas import conjunction, conjuncts
from planner.plan import Plan, Result, Status, StoppedBy


async def propose_foreign_plan(
    base: Proposal, steps: Any, world: World, time_limit: float | None, *, waived: bool
) -> Proposal:
    """Repair `steps` as a plan for the goal of `base`, and make a proposal of it.

    Steps of `base` for parts that no fact expresses stay in the plan. Raises `PlanError` where `steps` cannot be read.
    """
    problem = base.problem
    assert problem is not None
    there = plan_search.restrict_to_handlers(problem, world)
    found = await search_until_cancelled(
        lambda called_off: repair_plan(there, steps, time_limit=time_limit, cancel=called_off)
    )
    if found.plan is None:
        return replace(base, standing=Standing.UNPLANNED, result=None, repaired=found, reason=_explain_refusal(found))
    plan = replace(found.plan, problem=problem)
    result = Result(Status.SOLVED, StoppedBy.FIRST_PLAN, plan, reason=found.status.value)
    improvised = None if base.improvised is None else replace(base.improvised, result=result)
    made = replace(base, result=result, values=found.data, repaired=found, improvised=improvised, question="")
    if improvised is None and (waived or (only_reads(plan) and not made.is_doubted)):
        return replace(made, standing=Standing.PLANNED)
    standing = Standing.UNCONFIRMED if improvised is None else Standing.UNVERIFIED
    return replace(made, standing=standing, question=_ask_about_steps(plan, made))


def _explain_refusal(found: Repaired) -> str:
    """Explain where a refused plan fails, and why no repair was found."""
    fails = "" if found.counterexample is None else found.counterexample.reason
    return "; ".join(filter(None, [fails, found.reason]))


def _ask_about_steps(plan: Plan, proposal: Proposal) -> str:
    doubts = [f"Doubtful: {each}" for each in proposal.open_doubts]
    lines = ["\n".join(["Is this what you want?", proposal.words, *doubts, "In these steps:"])]
    for place, step in enumerate(plan.steps):
        values = ", ".join(
            f"{name} = {dump_json_value(value)}" for name, value in proposal.values.get(place, {}).items()
        )
        lines.append(f"{place + 1}. {step}{f'; {values}' if values else ''}")
    return "\n".join(lines)


def join_problems(problem: Problem, other: Problem) -> Problem:
    """Add the goals, soft goals and constraints of `other` to `problem`; the tighter limits count."""
    objects = {each.name: each for each in (*other.objects, *problem.objects)}
    hard = dict.fromkeys([*conjuncts(other.goal.hard), *conjuncts(problem.goal.hard)])
    soft = dict.fromkeys([*other.goal.soft, *problem.goal.soft])
    budgets: dict[str, Any] = dict(other.budgets)
    for name, most in problem.budgets.items():
        budgets[name] = min(most, budgets.get(name, most))
    deadlines = [each for each in (problem.deadline, other.deadline) if each is not None]
    return replace(
        problem,
        objects=tuple(objects.values()),
        goal=Goal(conjunction(list(hard)), tuple(soft)),
        constraints=tuple(dict.fromkeys([*other.constraints, *problem.constraints])),
        budgets=budgets,
        deadline=min(deadlines, default=None),
    )


@dataclass(slots=True, eq=False)
class Proposer:
    """Makes proposals for requests; carries out nothing.

    Sentences may name new objects of `open_types`. `waived` goals need no confirmation, unless the model has seen
    results of tools or there are doubts. Confirmed readings are `remembered`.
    """

    world: World
    model: LanguageModel | None = None
    open_types: Collection[str] = ()
    waived: bool = False
    planner: plan_search.Planner = field(default_factory=plan_search.Planner)
    remembered: Readings | None = None
    look: Callable[[Problem], Awaitable[Problem]] | None = None
    """Looks at what a plan for a problem may depend on, and returns the problem as it is now."""

    async def propose_steps(self, base: Proposal, steps: Any) -> Proposal:
        """Repair `steps`, a plan from elsewhere, for the goal of `base`."""
        return await propose_foreign_plan(
            base,
            steps,
            self.world,
            self.planner.time_limit,
            waived=self.waived and not (base.is_from_tools or base.is_doubted),
        )

    async def propose_goal(self, problem: Problem) -> Proposal:
        """Plan for `problem`, whose goal a person has stated."""
        return await self._plan(Proposal(Standing.PLANNED, "", problem, describe_goal(problem)))

    async def propose_sentence(
        self, sentence: str, problem: Problem, meter: Meter, context: Sequence[Part] = (), doing: Problem | None = None
    ) -> Proposal:
        """Read `sentence` in the state of `problem`, and plan for it.

        The sentence may add to the active goal, `doing`. Raises `InputError` where there is no model.
        """
        if self.model is None:
            raise InputError("a sentence needs a language model", hint="Agent(…, model=…), or give a goal as a list")
        if not sentence.strip():
            return Proposal(Standing.NOTHING, sentence, reason="nothing was said")
        reader = SentenceReader(self.model, self.open_types, self.remembered)
        try:
            understood = await reader.read(sentence, problem, meter=meter, context=context)
        except ModelError as error:
            return Proposal(Standing.UNREAD, sentence, reason=str(error), usage=meter.spent)
        if doing is not None:
            readings = tuple([_join_ongoing(each, doing) for each in understood.readings])
            understood = replace(understood, readings=readings)
        usage = understood.usage
        saved = Saved(0.0, usage.calls, usage.tokens) if understood.is_remembered else Saved()
        found = Proposal(
            Standing.NOTHING,
            sentence,
            readings=understood.readings,
            thought=understood.thought,
            understood=understood,
            saved=saved,
        )
        return await self.propose_readings(found, meter, context)

    async def reread(
        self,
        sentence: str,
        problem: Problem,
        said: Meanings,
        meter: Meter,
        *,
        open_types: Collection[str] = (),
        served: Proposed | None = None,
    ) -> Proposal:
        """Plan for `sentence` with its earlier readings, with new objects of `open_types`, too.

        `served` are earlier proposals for parts that no fact expresses; with them, the model is not asked again. Raises
        `InputError` where the readings are no longer valid, and where there is no model.
        """
        if self.model is None:
            raise InputError("a sentence needs a language model", hint="Agent(…, model=…), or give a goal as a list")
        reader = SentenceReader(self.model, {*self.open_types, *open_types})
        understood = reader.reread(sentence, problem, said)
        found = Proposal(Standing.NOTHING, sentence, readings=understood.readings, understood=understood)
        return await self.propose_readings(found, meter, served=served)

    async def renew(self, proposal: Proposal, now: Problem) -> Proposal:
        """Plan again from the state `now`; the new plan may need confirmation."""
        problem = proposal.problem
        if problem is None or frozenset(problem.initial) == frozenset(now.initial):
            return proposal
        objects = {each.name: each for each in (*now.objects, *problem.objects)}
        fresh = replace(proposal, problem=replace(problem, initial=now.initial, objects=tuple(objects.values())))
        found = await self._plan(fresh)
        if found.plan is None:
            return replace(found, improvised=None, question="")
        if proposal.improvised is None:
            return replace(found, standing=proposal.standing)
        assert found.problem is not None and found.result is not None  # noqa: PT018 - there is a plan
        improvised = replace(proposal.improvised, problem=found.problem, result=found.result)
        found = replace(found, standing=proposal.standing, improvised=improvised)
        is_same = improvised.unverified == proposal.improvised.unverified
        return found if is_same else replace(found, standing=Standing.UNPLANNED, question=_ask_about_plan(found))

    def remember_decision(self, proposal: Proposal, *, meant: bool) -> None:
        """Remember the reading of `proposal` if it is `meant`, else forget it."""
        found = proposal.understood
        if self.remembered is None or found is None or not found.key or found.meanings is None:
            return
        if not meant:
            self.remembered.forget(found.key)
        elif not found.is_remembered and len(found.readings) == 1:
            self.remembered.keep(found.key, found.meanings, found.usage)

    async def propose_readings(
        self, base: Proposal, meter: Meter, context: Sequence[Part] = (), served: Proposed | None = None
    ) -> Proposal:
        """Plan for the reading of `base`, or ask which one is meant; see `reread` for `served`."""
        found = await self._propose_readings(base, meter, context, served)
        return replace(found, usage=meter.spent)

    async def _propose_readings(
        self, base: Proposal, meter: Meter, context: Sequence[Part], served: Proposed | None
    ) -> Proposal:
        readings = base.readings
        if not readings:
            return replace(base, reason="the sentence asks for nothing that could be done here")
        if len(readings) > 1:
            choices = "\n".join(
                "\n".join([f"{number}.", each.words, *_doubt_lines(each.doubts)])
                for number, each in enumerate(readings, start=1)
            )
            return replace(base, standing=Standing.AMBIGUOUS, question=f"Which of these is meant?\n{choices}")
        (reading,) = readings
        base = replace(base, problem=reading.problem, words=reading.words)
        stopped = _find_obstacle(base, reading)
        if stopped is not None:
            return stopped
        if reading.unmodelled:
            return await self._improvise(base, reading, meter, context, served)
        proposal = await self._plan(base)
        if proposal.plan is None or not self._is_for_somebody(proposal, proposal.plan):
            return proposal
        proposal = replace(proposal, standing=Standing.UNCONFIRMED, reason=_join_doubts(proposal))
        return replace(proposal, question=_ask_about_plan(proposal))

    def _is_for_somebody(self, proposal: Proposal, plan: Plan) -> bool:
        """Return whether the goal of a sentence that leads to `plan` needs confirmation.

        A waiver does not cover a doubt about the meaning until a person has decided it.
        """
        return proposal.is_from_tools or proposal.is_doubted or not (self.waived or only_reads(plan))

    async def propose_variants(self, proposal: Proposal, k: int, **options: Any) -> tuple[Proposal, ...]:
        """Make a proposal for each of the `k` cheapest plans for the problem, the cheapest first.

        If the candidates cannot be enumerated, there is one proposal, with the reason.
        """
        if proposal.plan is None or proposal.problem is None:
            return ()
        try:
            found = await plan_search.search_candidates(
                proposal.problem, self.world, k, **{"time_limit": self.planner.time_limit, **options}
            )
        except UnsupportedError as error:
            return (replace(proposal, reason=str(error)),)
        made = []
        for place, plan in enumerate(found.plans):
            status = Status.OPTIMAL if place == 0 and found.proved else Status.SOLVED
            result = Result(status, found.stopped_by, plan, found.plans[0].cost if found.proved else None)
            improvised = proposal.improvised and replace(proposal.improvised, result=result)
            variant = replace(proposal, result=result, improvised=improvised)
            if variant.is_ready and variant.request and self._is_for_somebody(variant, plan):
                variant = replace(variant, standing=Standing.UNCONFIRMED, reason=_join_doubts(variant))
            made.append(replace(variant, question=_ask_about_plan(variant)) if variant.is_for_somebody else variant)
        return tuple(made)

    async def _plan(self, proposal: Proposal) -> Proposal:
        """Plan for the problem of `proposal`; where there is no plan by what is believed, look, and plan once more."""
        found = await self._search(proposal)
        if found.plan is not None or found.problem is None or self.look is None:
            return found
        now = await self.look(found.problem)
        return found if now is found.problem else await self._search(replace(proposal, problem=now))

    async def _search(self, proposal: Proposal) -> Proposal:
        assert proposal.problem is not None
        found = await self.planner.plan(plan_search.restrict_to_handlers(proposal.problem, self.world))
        result = found.result
        if result.has_plan:
            saved = replace(proposal.saved, seconds=found.seconds)
            made = plan_search.replace_problem(result, proposal.problem)
            return replace(proposal, standing=Standing.PLANNED, result=made, saved=saved, values=found.values)
        lacks = await plan_search.find_missing(proposal.problem, self.world)
        standing = Standing.UNREACHABLE if lacks else Standing.UNPLANNED
        return replace(
            proposal,
            standing=standing,
            result=result,
            missing=lacks,
            reason=_join_missing(lacks) or _explain_result(result),
        )

    async def _improvise(
        self, base: Proposal, reading: Reading, meter: Meter, context: Sequence[Part], served: Proposed | None
    ) -> Proposal:
        """Plan for a reading with parts that no fact expresses."""
        assert self.model is not None
        able_to, limit = plan_search.restrict_to_handlers(reading.problem, self.world), self.planner.time_limit
        if served is not None:
            found = await improvise_again(able_to, reading.unmodelled, served, limit)
        else:
            improviser = Improviser(self.model, limit)
            found = await improviser.improvise(able_to, reading.unmodelled, base.request, meter=meter, context=context)
        problem = replace(found.problem, domain=reading.problem.domain)
        found = replace(found, problem=problem, result=plan_search.replace_problem(found.result, problem))
        base = replace(base, problem=problem, result=found.result, improvised=found, missing=found.missing)
        if found.left:
            reason = "; ".join(filter(None, [f"nothing serves {', '.join(map(repr, found.left))}", found.reason]))
            return replace(base, standing=Standing.UNMODELLED, reason=reason)
        if found.result.plan is None:
            return replace(base, standing=Standing.UNPLANNED, reason=_explain_result(found.result))
        base = replace(base, standing=Standing.UNVERIFIED)
        return replace(base, question=_ask_about_plan(base))


def _join_ongoing(reading: Reading, doing: Problem) -> Reading:
    """Add the active goal to `reading` if the sentence asks for something additional."""
    if reading.meaning is None or reading.meaning.relation != "also":
        return reading
    problem = join_problems(reading.problem, doing)
    return replace(reading, problem=problem, words=describe_goal(problem))


def _ask_about_plan(proposal: Proposal) -> str:
    """Word the question about a plan."""
    if proposal.standing is not Standing.UNVERIFIED or proposal.improvised is None:
        return "\n".join(["Is this what you want?", proposal.words, *_doubt_lines(proposal.open_doubts)])
    steps = [f"- for {part!r}: {', '.join(each)}" for part, each in proposal.improvised.unverified.items()]
    question = "Nothing can confirm that this does all that was asked. Is it what you want?"
    return "\n".join([question, proposal.words, *steps, *_doubt_lines(proposal.open_doubts)])


def _doubt_lines(doubts: Iterable[str]) -> list[str]:
    """Format doubts as lines of a question."""
    return [f"Doubtful: {each}" for each in doubts]


def _join_doubts(proposal: Proposal) -> str:
    """Return the doubts that make confirmation necessary although it is waived."""
    return "; ".join(proposal.open_doubts)


def _find_obstacle(proposal: Proposal, reading: Reading) -> Proposal | None:
    """Return the proposal with its obstacle if a reading cannot be planned for."""
    if reading.unknown:
        named = ", ".join(f"{name} ({kind})" for name, kind in reading.unknown.items())
        question = f"Who or what is meant by {named}?"
        return replace(proposal, standing=Standing.UNKNOWN, question=question)
    if reading.unreachable:
        lacks = tuple(plan_search.list_missing(reading.unreachable, reading.problem.domain))
        return replace(proposal, standing=Standing.UNREACHABLE, missing=lacks, reason=_join_missing(lacks))
    return None


def _join_missing(lacks: Sequence[object]) -> str:
    return "; ".join(map(str, lacks))


def _explain_result(result: Result) -> str:
    stopped = "" if result.stopped_by is StoppedBy.EXHAUSTED else f" ({result.stopped_by.value})"
    return f"{result.status.value}{stopped}{f': {result.reason}' if result.reason else ''}"
