"""`PlannedCalls`: an agent keeps its loop, is offered the tools that come next, and every call is observed.

Each call is a run of one step, with all that runs do: preconditions are looked at, the handler is called by its policy,
and effects are observed. What was observed is the state from which the next plan begins, so that a plan that no longer
fits is replaced before the agent is asked again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count, filterfalse
from typing import Any, Final, Literal
from uuid import uuid4

from executor import ActionPlan, Executor, Recovery, RunOutcome, RunStatus, StepStatus, World
from executor.adapters.believed_problem import RealNames, name_differences, predict_facts, reduce_budgets
from executor.adapters.offers import Offer, make_offer, name_step
from executor.agent.foreign_plans.parse_steps import Call, resolve_calls
from executor.background_searches import search_until_cancelled
from executor.events.events import Note, Provenance
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.observe.beliefs import CAREFUL, Beliefs
from executor.plan_check.unobservable_conditions import find_unobservable
from executor.plans.action_plan import PlanStep
from executor.plans.prepare import PreparedPlan
from executor.recovery.ask_people import Callback
from executor.tools.isolated_values import copy_value
from executor.tools.json_data import dump_json, load_json
from planner.errors import ForethoughtError, InputError, PlanError, UnsupportedError, did_you_mean, kind_of, printable
from planner.explain.any_problem import explain_no_plan
from planner.lightweight import replace
from planner.limits import Limits
from planner.model import Action, Atom, Goal, Problem, TypeHierarchy
from planner.model.formulas import unmarked
from planner.model.problem import seal
from planner.partial_order.causal_links import partial_order
from planner.plan import Plan, Result, Status, Step
from planner.problem_kinds import resolve_classical
from planner.ranking.relevant_actions import relevant_actions
from planner.repair.forbidden_steps import disable_actions, forbid_actions
from planner.semantics.simulation import Simulation
from planner.solve import solve

By = Literal["plan", "goal"]
"""What tools are offered by: the steps of a plan that come next, or what is relevant to the goal."""
MOST_RANKED: Final = 200
"""Most relevant actions among which those are looked for that may be called now."""
_DOUBTFUL: Final = frozenset({StepStatus.IN_DOUBT, StepStatus.UNVERIFIED, StepStatus.PARTIAL})


@dataclass(frozen=True, slots=True)
class CallReport:
    """What a call did, for the agent.

    `status` is that of the step (`SUCCEEDED`: every declared effect was observed), or REFUSED: nothing was called.
    `unexpected` are the facts that changed otherwise than the action declares. `goal` is "reached", "open", or
    "impossible" (no plan is known to reach it); `next` are the planned steps that come next.
    """

    step: str
    status: str
    result: Any = None
    reason: str = ""
    unexpected: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    goal: str = "open"
    question: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data, without empty fields."""
        names = ("step", "status", "result", "reason", "unexpected", "goal", "next", "question")
        data = {name: getattr(self, name) for name in names}
        data |= {"unexpected": list(self.unexpected), "next": list(self.next)}
        return {name: value for name, value in data.items() if value not in (None, "", [])}

    def __str__(self) -> str:
        return json.dumps(self.to_dict())


class PlannedCalls:
    """The calls of an agent towards the goal of `problem`, in `world`; `goal` replaces that of the problem.

    `by` says what is offered: with "plan", the steps of the best plan that may come next; with "goal", up to `limit`
    tools that are relevant to the goal and may be called now. Tools in `always` are offered whenever there is something
    left to do. Any tool of the world may be called, except that an irreversible step is refused unless the plan says
    that it comes next, and while it is in doubt whether it was done already.

    Plans are for the present state, so that constraints on the way and deadlines are refused (`UnsupportedError`);
    budgets are reduced by what calls use. `approve` is a callback as in `Executor`; without one, a call that needs an
    approval waits, and `answer` answers. Each search for a plan takes `time_limit` seconds at most. With a `journal`,
    each call is a run of it.
    """

    def __init__(
        self,
        world: World,
        problem: Problem,
        goal: Any = None,
        *,
        by: By = "plan",
        limit: int = 8,
        always: Iterable[str] = (),
        approve: Callback = None,
        journal: Any = None,
        time_limit: float = 5.0,
    ) -> None:
        if not isinstance(world, World):
            raise InputError(f"the first argument is a World, not {kind_of(world)}", hint="World(domain) makes one")
        if by not in ("plan", "goal"):
            raise InputError(f"tools are offered by 'plan' or by 'goal', not by {by!r}")
        self.world = world
        self.problem = _with_goal(resolve_classical(problem, "PlannedCalls", "give its classical part"), goal)
        """The problem from the state that is believed now."""
        _refuse_history(self.problem)
        self.reports: list[CallReport] = []
        self.always = tuple([_find_action(world, name).name for name in always])
        self._by, self._limit, self._time_limit = by, limit, time_limit
        self._name, self._numbers = uuid4().hex[:8], count(1)
        self._executor = Executor(world, journal, approve=approve, ask="later", recovery=Recovery(rungs=()))
        self._unseen: frozenset[Atom] = frozenset()
        """Facts that hold as far as is known, and that nobody has observed."""
        self._memory: dict[str, Any] = {}
        self._results: dict[str, Any] = {}
        self._doubtful: dict[tuple[str, tuple[str, ...]], str] = {}
        self._failed: dict[tuple[str, tuple[str, ...]], frozenset[Atom]] = {}
        self._waiting: dict[str, tuple[str, Step, Problem]] = {}
        self._result: Result | None = None
        self._reached = False
        self._guard = asyncio.Lock()

    @property
    def is_reached(self) -> bool:
        """Whether the goal was observed at the end of the latest call, or holds and cannot be observed."""
        return self._reached

    async def plan(self) -> Plan | None:
        """Return the plan from the believed state; None if none is known."""
        return (await self._find_plan()).plan

    async def next_steps(self) -> tuple[Step, ...]:
        """Return the steps of the plan that may come next, in any order."""
        plan = await self.plan()
        if plan is not None and not plan.steps and not self._reached:  # it holds from the start, as far as is known
            await self._look_at_goal()
            plan = await self.plan()
        if plan is None or self._reached:
            return ()
        order = partial_order(plan.problem, plan)
        return tuple([step for number, step in enumerate(plan.steps, 1) if not order.in_degree(number)])

    async def offers(self) -> tuple[Offer, ...]:
        """Return the tools that are offered now; none if there is nothing left to do."""
        steps = await self.next_steps()
        if self._reached:
            return ()
        if self._by == "goal":
            lacking = set(self.world.without_handler())
            ready = [each for each in relevant_actions(self.problem, limit=MOST_RANKED) if each.ready]
            names = [each.name for each in ready if "irreversible" not in each.action.tags and each.name not in lacking]
            names = names[: self._limit]
        else:
            names = []
        names += [step.action for step in steps] + list(self.always)
        return tuple([make_offer(self.world.model.actions[name], self.problem, steps) for name in dict.fromkeys(names)])

    def offers_of(self, names: Iterable[str]) -> tuple[Offer, ...]:
        """Return tools with these names, whatever comes next; raises `InputError` for unknown ones."""
        return tuple([make_offer(_find_action(self.world, each), self.problem) for each in names])

    async def describe(self) -> str:
        """Return instructions for the agent: the goal, what comes next, and why if there is no plan."""
        goal, steps = str(self.problem.goal.hard), await self.next_steps()
        if self._reached:
            return f"The goal is reached: {goal}. Call no more tools."
        found = await self._find_plan()
        if found.plan is None:
            return f"The goal is {goal}. No plan is known: {await self._explain(found)}"
        rest = f" (a plan of {len(found.plan)} steps)" if len(found.plan) > 1 else ""
        return (
            f"The goal is {goal}. Next{rest}: {' or '.join(map(partial(name_step, self.problem), steps)) or 'nothing'}."
        )

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, approved: bool = False
    ) -> CallReport:
        """Call a tool, observe what it did, and report that with what comes next; never raises for an agent's mistake.

        With `approved`, somebody has approved this very call.
        """
        async with self._guard:
            step, data, wrong = self._read_call(name, arguments or {})
            if not wrong:
                wrong = await self._find_bar(step)
            if wrong:
                return await self._report(CallReport(str(step), "REFUSED", reason=wrong))
            before = self._problem_for(step)
            run = f"{self._name}-{next(self._numbers)}"
            plan = PreparedPlan(self._make_plan(step, data, before), before)
            options: dict[str, Any] = {"approve": lambda _: True} if approved else {}
            try:
                outcome = await self._executor.run(plan, run=run, memory=self._memory, **options)
            except PlanError as error:
                return await self._report(CallReport(str(step), "REFUSED", reason=str(error)))
            return await self._take(outcome, step, before)

    async def answer(self, question: str, answer: Any) -> CallReport:
        """Answer the question that a call has asked, and report what came of it; raises `InputError` for others."""
        async with self._guard:
            if question not in self._waiting:
                known = ", ".join(self._waiting) or "none"
                raise InputError(f"no call has asked {question!r}", hint=f"the open questions: {known}")
            run, step, before = self._waiting.pop(question)
            asked = question.removeprefix(f"{run}:")
            try:
                outcome = await self._executor.resume(run, answers={asked: answer})
            except ForethoughtError:
                self._waiting[question] = run, step, before
                raise
            self._doubtful.pop((step.action, step.arguments), None)  # what the answer leaves in doubt is noted again
            return await self._take(outcome, step, before)

    async def find_bar(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return why a call would be refused now; an empty text if it would not."""
        step, _, wrong = self._read_call(name, arguments)
        return wrong or await self._find_bar(step)

    async def needs_approval(self, name: str) -> bool:
        """Return whether calls of a tool wait for an approval, since there is no callback that decides."""
        action = self.world.model.actions.get(name)
        return action is not None and "needs_approval" in action.tags and self._executor.approve is None

    def _read_call(self, name: str, arguments: Mapping[str, Any]) -> tuple[Step, Mapping[str, Any], str]:
        """Return the step that a call means, values for its data parameters, and what is wrong with it."""
        if not isinstance(arguments, Mapping) or not all(isinstance(each, str) for each in arguments):
            return Step(str(name)), {}, f"arguments are a mapping from names, got {printable(repr(arguments)):.80}"
        action = self.world.model.actions.get(name) if isinstance(name, str) else None
        if action is None or not self._is_handled(action):
            name = str(name)
            hint = did_you_mean(name, self.world.model.actions) or "call one of those that are offered"
            return Step(name), {}, f"there is no tool {name!r}; {hint}"
        created = {each.removeprefix("?"): f"{each.removeprefix('?')}-new" for each in action.creates}
        [found] = resolve_calls(self.problem, [Call(name, named={**arguments, **created}, text=name)])
        known = {each.name.removeprefix("?") for each in action.parameters} | {each.name for each in action.data}
        unknown = [each for each in arguments if each not in known] if not found.wrong else []
        wrong = found.wrong or (f"{action.signature} has no argument {unknown[0]!r}" if unknown else "")
        step = Step(found.step.action, found.step.arguments[: len(action.parameters)])
        wrong = wrong or self._find_misfit(action, step)
        return step, found.data, wrong or _find_kept(action, found.data) or self._find_lack(action, found.data)

    def _find_lack(self, action: Action, data: Mapping[str, Any]) -> str:
        """Return which value is missing that nothing else gives."""
        for each in action.data:
            given = each.name in data or each.name in self._memory or each.has_default
            if not (given or each.source is not None or each.fixed):
                return f"{action.signature} lacks a value for {each.name!r}"
        return ""

    def _find_misfit(self, action: Action, step: Step) -> str:
        """Return which argument is no object, or of another type."""
        types = {each.name: each.types for each in self.problem.all_objects}
        hierarchy = TypeHierarchy(self.problem.domain.types)
        for parameter, name in zip(action.parameters, step.arguments, strict=True):
            if name not in types:
                return f"there is no object {name!r:.80}"
            if not hierarchy.is_a(types[name], parameter.types):
                return f"{name} is no {' or '.join(parameter.types)}"
        return ""

    async def _find_bar(self, step: Step) -> str:
        """Return why `step` must not be done now; an empty text if it may."""
        action = self.world.model.actions[step.action]
        key = step.action, step.arguments
        waiting = [
            question for question, (_, asked, _) in self._waiting.items() if key == (asked.action, asked.arguments)
        ]
        if waiting:
            return f"this call waits for an answer to {waiting[0]!r}"
        if self._reached and "read_only" not in action.tags:
            return "the goal is reached, and nothing is left to do"
        if "irreversible" not in action.tags:
            return ""
        if key in self._doubtful:
            return f"it cannot be taken back, and may have been done already: {self._doubtful[key]}"
        planned = [(each.action, each.arguments[: len(step.arguments)]) for each in await self.next_steps()]
        if key not in planned:
            return "it cannot be taken back, and it is not what the plan needs next"
        stuck = self._find_stuck(await self.plan())
        return f"it cannot be taken back, and a later step fails for certain: {'; '.join(stuck)}" if stuck else ""

    def _find_stuck(self, plan: Plan | None) -> list[str]:
        """Return which steps of the plan can never begin, as they rest on what nobody has seen and nobody can."""
        steps = () if plan is None else ActionPlan.of(plan).steps
        stated = seal(replace(self.problem, unknown=()))
        unseen = [Note(fact, True, Provenance.REPORTED) for fact in self._unseen]
        return list(map(str, find_unobservable(steps, stated, self.world, Beliefs(stated).after(unseen))))

    def _problem_for(self, step: Step) -> Problem:
        """Return the problem for a run of `step`: for a careful one, what nobody has seen is unknown."""
        problem = replace(self.problem, goal=Goal(), budgets={})
        if CAREFUL.isdisjoint(self.world.model.actions[step.action].tags) or not self._unseen:
            return problem
        known = tuple([fact for fact in problem.initial if fact not in self._unseen])
        return replace(problem, initial=known, unknown=(*problem.unknown, *sorted(self._unseen, key=str)))

    def _make_plan(self, step: Step, data: Mapping[str, Any], problem: Problem) -> ActionPlan:
        action = self.world.model.actions[step.action]
        made = {variable: f"{variable.removeprefix('?')}-new" for variable in action.creates}
        whole = replace(step, arguments=(*step.arguments, *made.values()))
        plan = ActionPlan.of(Plan((), problem), results=self._results)
        own = PlanStep.of(whole, action, "s1").model_copy(update={"parameters": dict(data)})
        return plan.model_copy(update={"steps": (own,), "name": str(step)})

    async def _take(self, outcome: RunOutcome, step: Step, before: Problem) -> CallReport:
        """Take over what was observed in the run of `step`, and report it."""
        state = outcome.state
        record, beliefs, names = state.steps["s1"], state.beliefs, RealNames(self.problem, state)
        expected = predict_facts(before, record.step)
        after = names.problem_of(beliefs.problem)
        facts = frozenset(after.initial)
        unlooked = frozenset([each for each in self._unseen if not beliefs.is_noted(each)])
        self._unseen = unlooked | frozenset(names.facts_of(filterfalse(beliefs.is_seen, beliefs.problem.initial)))
        declared = [each for each in self.problem.unknown if each in before.unknown]
        unknown = dict.fromkeys([*declared, *names.facts_of(beliefs.unknown)])
        self.problem = seal(
            replace(
                self.problem,
                initial=tuple(dict.fromkeys([*after.initial, *unlooked])),
                values=after.values,
                objects=after.objects,
                ran=after.ran,
                entities=after.entities,
                unknown=tuple([each for each in unknown if each not in unlooked]),
            )
        )
        done = names.step_of(record.step)
        self.problem = reduce_budgets(self.problem, before, record)
        self._keep_results(state, record, names)
        self._note_failure(record, facts)
        known = None if expected is None else frozenset(names.facts_of(expected))
        unexpected = name_differences(facts, known) if record.status is not StepStatus.WAITING else ()
        went_as_planned = record.status in (StepStatus.SUCCEEDED, StepStatus.UNVERIFIED) and not unexpected
        self._advance(done if went_as_planned and not names.has_created else None)
        question = None
        for each in outcome.questions:
            name = f"{outcome.run}:{each.question}"
            self._waiting[name] = outcome.run, step, before
            question = {"question": name, "text": each.text, "choices": list(each.choices)}
        report = CallReport(
            str(done),
            record.status.name,
            result=_result_of(record),
            reason=names.rename(record.reason or (outcome.reason if outcome.status is RunStatus.IN_DOUBT else "")),
            unexpected=unexpected,
            question=question,
        )
        return await self._report(report)

    def _keep_results(self, state: RunState, record: StepRecord, names: RealNames) -> None:
        """Keep working memory, and the result of a step for data parameters that come from it."""
        self._memory = {name: copy_value(entry["value"]) for name, entry in state.memory.to_dict().items()}
        if record.result is not None and record.status.is_done:
            facts = names.facts_of(fact for fact, id_ in state.providers.items() if id_ == record.id)
            self._results |= {str(fact): load_json(dump_json(record.result)) for fact in facts}
        holding = set(map(str, self.problem.initial))
        self._results = {fact: each for fact, each in self._results.items() if fact in holding}

    def _note_failure(self, record: StepRecord, facts: frozenset[Atom]) -> None:
        key = record.step.action, record.step.arguments
        irreversible = "irreversible" in self.world.model.actions[record.step.action].tags
        if irreversible and (record.status in _DOUBTFUL or (record.status is StepStatus.FAILED and record.awaited)):
            self._doubtful[key] = record.reason or record.status.value
        if record.status in (StepStatus.FAILED, StepStatus.PARTIAL) and record.attempts:
            self._failed[key] = facts

    def _advance(self, done: Step | None) -> None:
        """Drop the plan, unless `done` is one of its steps that could come next: then the rest is the plan."""
        plan = None if self._result is None else self._result.plan
        rest = [] if plan is None else list(plan.steps)
        place = next((place for place, each in enumerate(rest) if done is not None and _is_same(each, done)), None)
        result, self._result = self._result, None
        if place is not None and result is not None:
            del rest[place]
            try:
                valid = Plan(tuple(rest), self.problem)
                partial_order(self.problem, valid)
            except ForethoughtError:
                return
            self._result = replace(result, plan=valid)

    async def _find_plan(self) -> Result:
        """Return the present plan, or search for one: without steps that failed in this state, if that is possible."""
        if self._result is None:
            facts = frozenset(self.problem.initial)
            failed = {Atom(*key) for key, state in self._failed.items() if state == facts}
            lacking = self.world.without_handler()
            problem = disable_actions(self.problem, lacking) if lacking else self.problem
            found = await self._search(seal(forbid_actions(problem, failed, ()))) if failed else None
            if found is None or found.plan is None:
                found = await self._search(problem)
            plan = None if found.plan is None else replace(found.plan, problem=self.problem)
            self._result = replace(found, plan=plan)
        return self._result

    async def _search(self, problem: Problem) -> Result:
        return await search_until_cancelled(lambda cancel: solve(problem, time_limit=self._time_limit, cancel=cancel))

    async def _explain(self, found: Result) -> str:
        if found.status is not Status.UNSOLVABLE:
            return found.describe()
        problem, limits = self.problem, Limits(self._time_limit)
        return str(await search_until_cancelled(lambda _: explain_no_plan(problem, limits)))

    async def _report(self, report: CallReport) -> CallReport:
        """Complete a report by what comes next, and look at the goal where it should hold."""
        if not self._reached and report.status != "WAITING":
            await self._look_at_goal()
        if self._reached:
            report = _complete(report, "reached", ())
        else:
            found = await self._find_plan()
            steps = tuple(map(partial(name_step, self.problem), await self.next_steps()))
            report = _complete(report, "impossible" if found.plan is None else "open", steps)
        self.reports.append(report)
        return report

    async def _look_at_goal(self) -> None:
        """Observe the goal if it should hold now."""
        if not Simulation(replace(self.problem, unknown=())).holds(self.problem.goal.hard):
            return
        nothing = PreparedPlan(ActionPlan.of(Plan((), self.problem), results={}), self.problem)
        outcome = await self._executor.run(nothing, run=f"{self._name}-{next(self._numbers)}-goal")
        self._reached = outcome.status in (RunStatus.SUCCEEDED, RunStatus.UNVERIFIED, RunStatus.LOWERED)
        if not self._reached:
            seen = outcome.state.beliefs.problem
            self.problem = seal(replace(self.problem, initial=seen.initial, objects=seen.objects))
            self._result = None

    def _is_handled(self, action: Action) -> bool:
        return action.name not in self.world.without_handler()


def _complete(report: CallReport, goal: str, steps: tuple[str, ...]) -> CallReport:
    names = ("step", "status", "result", "reason", "unexpected", "question")
    return CallReport(**{name: getattr(report, name) for name in names}, next=steps, goal=goal)


def _with_goal(problem: Problem, goal: Any) -> Problem:
    if goal is None:
        return problem
    from planner.language.declare.fields import CodePlace
    from planner.language.declare.problem_builder import ProblemBuilder

    place = CodePlace("the goal of the planned calls")
    builder = ProblemBuilder(problem.domain, {each.name: each for each in problem.objects}, place)
    return replace(problem, goal=Goal(builder.condition(goal, place)))


def _refuse_history(problem: Problem) -> None:
    """Raise `UnsupportedError` for what depends on earlier calls: each plan begins anew from the present state."""
    has = {
        "constraints on the way": problem.constraints,
        "deadlines": problem.deadline is not None,
    }
    found = [name for name, there in has.items() if there]
    if found:
        raise UnsupportedError(f"{' and '.join(found)} with planned calls", "an Executor carries such plans out")


def _find_kept(action: Action, data: Mapping[str, Any]) -> str:
    """Return which value in `data` the domain provides itself, so that no agent may give it."""
    for each in action.data:
        if each.name in data and each.source is not None:
            fact = unmarked(each.source.fact)
            return f"{each.name!r} of {action.signature} comes from the result that provided {fact}; leave it out"
        if each.name in data and each.fixed:
            return f"{each.name!r} of {action.signature} is fixed; leave it out"
    return ""


def _find_action(world: World, name: str) -> Action:
    action = world.model.actions.get(name)
    if action is None:
        raise InputError(f"the world has no action {name!r}", hint=did_you_mean(str(name), world.model.actions))
    return action


def _is_same(planned: Step, done: Step) -> bool:
    own = len(done.arguments)
    return planned.action == done.action and planned.arguments[:own] == done.arguments[: len(planned.arguments)]


def _result_of(record: StepRecord) -> Any:
    """Return what the handler returned: its data, or its text."""
    result = record.result or {}
    data, text = result.get("data"), result.get("text")
    return load_json(dump_json(data)) if data else text or None
