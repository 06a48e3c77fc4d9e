"""`PlannedCalls`: an agent keeps its loop, is offered the tools that come next, and every call is observed.

The calls drive one run of the executor, which holds all that is known: its plan, what was observed and what failed,
open questions, working memory and reservations. Each call says which step comes next.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, TypeVar

from executor import Executor, Recovery, RunStatus, StepStatus, World
from executor.adapters.agent_call import AgentCall, Wish, describe_dead_end, find_choice, find_waiting, read_call
from executor.adapters.offers import Offer, make_offer, name_step
from executor.adapters.session import Session
from executor.arguments import check_request
from executor.events.answers import (
    check_meaning,
    describe_flight,
    describe_question,
    is_approval,
    is_clear,
    is_wait,
    name_approval,
    read_approved_form,
)
from executor.events.events import UNFINISHED, Asked, Rung
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.loop.look_first import Look
from executor.loop.parameters import Missing, check_given_values, convert_value, fill_parameters, needs_no_approval
from executor.observe.believed_problem import (
    make_believed_problem,
    name_differences,
    predict_facts,
    real_facts,
    real_step,
)
from executor.recovery.ask_people import Callback
from executor.run import Run
from executor.tools.json_data import dump_json, dump_json_value, load_json
from planner.errors import InputError, UnsupportedError, did_you_mean, kind_of
from planner.lightweight import replace
from planner.model import Action, Atom, Goal, Problem
from planner.model.problem import is_temporal
from planner.plan import Plan, Step
from planner.problem_kinds import resolve_classical
from planner.ranking.relevant_actions import relevant_actions

By = Literal["plan", "goal"]
"""How to choose the offered tools: by the plan's next steps, or by relevance to the goal."""
MOST_RANKED: Final = 200
"""Most relevant actions among which those are looked for that may be called now."""
REACHED: Final = frozenset({RunStatus.SUCCEEDED, RunStatus.UNVERIFIED, RunStatus.LOWERED})
PERSISTENCE: Final = 10**6
"""Number of patches and of repetitions that an agent may cause: how often it tries is up to its framework."""
Done = TypeVar("Done")


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

    The calls drive one run, which is begun at the first of them. With a `journal`, the run called `run` is taken up
    where it was left, by whatever process; without a name, it is the unfinished one for the same request, if any.

    `by` says what is offered: with "plan", the steps of the plan that may come next; with "goal", up to `limit` tools
    that are relevant to the goal and may be called now. Tools in `always` are offered whenever there is something left
    to do. Any reversible tool of the world that is applicable may be called; an irreversible one only when the plan
    needs it next.

    `memory` are the initial values of working memory. `approve` is a callback as in `Executor`; without one, a call
    that needs an approval waits, and `answer` answers. `occasion` and `again` are as in `Executor.start`, `look` and
    `deps` as in `Executor`. Each search for a plan takes `time_limit` seconds of processor time at most, and four times
    as much when it is tried once more.
    """

    def __init__(
        self,
        world: World,
        problem: Problem,
        goal: Any = None,
        *,
        run: str | None = None,
        memory: Mapping[str, Any] | None = None,
        by: By = "plan",
        limit: int = 8,
        always: Iterable[str] = (),
        approve: Callback = None,
        journal: Any = None,
        time_limit: float = 5.0,
        occasion: str = "",
        again: Collection[str] = (),
        look: Look = "plan",
        deps: Any = None,
    ) -> None:
        if not isinstance(world, World):
            raise InputError(f"the first argument is a World, not {kind_of(world)}", hint="World(domain) makes one")
        if by not in ("plan", "goal"):
            raise InputError(f"tools are offered by 'plan' or by 'goal', not by {by!r}")
        self.world = world
        self._source = _with_goal(resolve_classical(problem, "PlannedCalls", "give its classical part"), goal)
        _refuse_clock(self._source)
        self.reports: list[CallReport] = []
        self.always = tuple([_find_action(world, name).name for name in always])
        self._by, self._limit = by, limit
        recovery = Recovery(
            rungs=(Rung.CANDIDATE, Rung.PATCH, Rung.REPLAN),
            time_limit=time_limit,
            most_patches=PERSISTENCE,
            most_repeats=PERSISTENCE,
        )
        check_request(run, occasion, again, world, self._source)
        executor = Executor(world, journal, approve=approve, ask="later", recovery=recovery, look=look, deps=deps)
        request = {"memory": dict(memory or {}), "occasion": occasion, "again": tuple(again)}
        self._session = Session(executor, self._source, run, request, time_limit)
        self._guard = asyncio.Lock()
        self._at_work: set[asyncio.Task[Any]] = set()

    @property
    def run(self) -> str | None:
        """The name of the run; None before it has begun, if none was given."""
        return self._session.name

    @property
    def is_reached(self) -> bool:
        """Whether the goal was observed at the end of the latest call, or holds and cannot be observed."""
        run = self._session.run
        return run is not None and run.state.status in REACHED

    @property
    def problem(self) -> Problem:
        """The problem from the state that is believed now."""
        run = self._session.run
        if run is None:
            return self._source
        return make_believed_problem(self._source, run.state, run.options.make_problem())

    def take_deps(self, deps: Any) -> None:
        """Let handlers that are called from now on have the `deps` of the framework, unless others were given."""
        executor = self._session.executor
        executor.deps = deps if executor.deps is None else executor.deps

    async def plan(self) -> Plan | None:
        """Return the rest of the plan from the believed state; None if none is known."""
        state = (await self._refresh()).state
        steps = [real_step(state, record.step) for record in state.pending()]
        return Plan(tuple(steps), self.problem) if steps or self.is_reached else None

    async def next_steps(self) -> tuple[Step, ...]:
        """Return the steps of the plan that may come next, in any order."""
        return _list_next(await self._refresh())

    async def offers(self) -> tuple[Offer, ...]:
        """Return the tools that are offered now; none if there is nothing left to do."""
        run = await self._refresh()
        if run.state.status.is_over:
            return ()
        steps, problem = _list_next(run), self.problem
        names = self._list_relevant(problem) if self._by == "goal" else []
        names += [step.action for step in steps]
        names += list(self.always) if run.state.with_status(*UNFINISHED) else []
        return tuple([make_offer(self.world.model.actions[name], problem, steps) for name in dict.fromkeys(names)])

    def _list_relevant(self, problem: Problem) -> list[str]:
        """Return the reversible tools that are relevant to the goal and may be called now."""
        lacking = set(self.world.without_handler())
        ready = [each for each in relevant_actions(problem, limit=MOST_RANKED) if each.ready]
        names = [each.name for each in ready if "irreversible" not in each.action.tags and each.name not in lacking]
        return names[: self._limit]

    def offers_of(self, names: Iterable[str]) -> tuple[Offer, ...]:
        """Return tools with these names, whatever comes next; raises `InputError` for unknown ones."""
        return tuple([make_offer(_find_action(self.world, each), self.problem) for each in names])

    def list_asked(self) -> tuple[Offer, ...]:
        """Return the tools that have been called and wait for an approval."""
        if self._session.run is None:
            return ()
        state = self._session.run.state
        asked = [each for each in state.open_questions.values() if is_approval(each)]
        return self.offers_of(dict.fromkeys(state.steps[each.step].step.action for each in asked))

    async def describe(self) -> str:
        """Return instructions for the agent: the goal, what comes next, and why if there is no plan."""
        run = await self._refresh()
        state, goal = run.state, str(self._source.goal.hard)
        if self.is_reached:
            return f"The goal is reached: {goal}. Call no more tools."
        left = state.with_status(*UNFINISHED)
        if state.status.is_over or not left:
            return f"The goal is {goal}. No plan is known: {describe_dead_end(state)}"
        rest = f" (a plan of {len(left)} steps)" if len(left) > 1 else ""
        steps = " or ".join(map(partial(name_step, self._source), _list_next(run)))
        return f"The goal is {goal}. Next{rest}: {steps or f'nothing; {state.reason}'}."

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None, *, approved: Any = None) -> CallReport:
        """Call a tool, observe what it did, and report that with what comes next; never raises for an agent's mistake.

        `approved` is what somebody has decided on this very call: a refusal is False, or a text that says why, and a
        form such as `{"values": {"amount": 20}}` approves it with other values. If the
        caller is cancelled, the call goes on as long as its event loop does; whether it happened stays in the run.
        """
        return await self._finish(self._call(name, arguments or {}, approved=approved))

    async def _call(self, name: str, arguments: Mapping[str, Any], *, approved: Any) -> CallReport:
        run = await self._session.refresh()
        call = self._read_call(name, arguments)
        waiting = find_waiting(run.state, call.step)
        if not call.wrong and waiting is not None and "question" not in (waiting.wait or {}):
            return self._report(waiting.id)
        asked = None if call.wrong or approved is None else self._find_asked(call)
        if asked is not None:
            decision = {"values": dict(call.values)} if approved is True and call.values else approved
            return await self._answer(asked.question, decision if is_clear(asked, decision) else f"no: {decision}")
        wrong = call.wrong or find_choice(call, run.list_offered(), run.options)[1]
        if wrong:
            question = None if call.wrong else self._make_question("")
            return self._keep(CallReport(str(call.shown), "REFUSED", reason=wrong, question=question))
        refused = not (approved is None or approved is True or read_approved_form(approved) is not None)
        tags = self.world.model.actions[call.step.action].tags
        if refused and tags.isdisjoint({"irreversible", "needs_approval"}):
            reason = f"approval was refused{f': {approved}' if approved else ''}"
            return self._keep(CallReport(str(call.shown), "REFUSED", reason=reason))
        wish = Wish(call, refused)
        options: dict[str, Any] = {} if approved is None else {"approve": lambda _: approved}
        run = await self._session.drive(driver=wish, **options)
        if not wish.chosen or run.state.steps[wish.chosen].is_pending:
            reason = wish.refused or run.state.reason
            return self._keep(CallReport(str(call.shown), "REFUSED", reason=reason, question=self._make_question("")))
        return self._report(wish.chosen, wish.expected)

    async def answer(self, question: str, answer: Any) -> CallReport:
        """Answer the question that a call has asked, and report what came of it; raises `InputError` for others."""
        return await self._finish(self._answer(question, answer))

    async def _answer(self, question: str, answer: Any) -> CallReport:
        state = (await self._session.refresh()).state
        name = question.removeprefix(f"{self._session.name}:")
        asked = state.open_questions.get(name)
        if asked is None:
            closed = state.explain_closed(name)
            if closed:
                raise InputError(f"the answer to {question!r} comes too late", hint=closed)
            known = ", ".join(state.open_questions) or "none"
            raise InputError(f"no call has asked {question!r}", hint=f"the open questions: {known}")
        record = state.steps.get(asked.step)
        is_settled = record is not None and (record.attempts == 0 or is_wait(asked))
        expected = predict_facts(state, record.step) if record is not None and is_settled else None
        await self._session.drive(answers={name: answer})
        return self._report(asked.step, expected)

    async def find_question(self) -> Mapping[str, Any] | None:
        """Return the question that is open in the run, to which `answer` gives the answer; None if there is none."""
        await self._refresh()
        return self._make_question("")

    async def ask_for_approval(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Let the run ask for the approval that a call needs, and return the question; None if it needs none.

        The question is open in the run, so that whoever lists it may answer it. None is asked where a callback decides,
        and where the call would be refused, as while one with other values waits for its approval.
        """
        return await self._finish(self._ask_for_approval(name, arguments))

    async def _ask_for_approval(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        run = await self._session.refresh()
        call = self._read_call(name, arguments)
        if not call.wrong and self._session.executor.approve is None and self._needs_approval(run, call):
            await self._session.drive(driver=Wish(call))
        asked = None if call.wrong or _is_for_others(run.state, call) else self._find_asked(call)
        return None if asked is None else describe_question(asked)

    async def object_to_approval(self, name: str, arguments: Mapping[str, Any], answer: Any) -> str:
        """Return why `answer` is none to the approval that a call waits for; an empty text where it is one."""
        await self._refresh()
        call = self._read_call(name, arguments)
        asked = None if call.wrong else self._find_asked(call)
        if asked is None:
            return ""
        try:
            check_meaning(asked, answer)
            check_given_values(asked, self.world.model.actions[name], answer)
        except InputError as error:
            return str(error)
        return ""

    def _find_asked(self, call: AgentCall) -> Asked | None:
        """Return the open question whether the step of a call may be done."""
        assert self._session.run is not None, "it was refreshed before"
        state = self._session.run.state
        waiting = find_waiting(state, call.step)
        return None if waiting is None else state.open_questions.get(name_approval(waiting.id))

    def _needs_approval(self, run: Run, call: AgentCall) -> bool:
        """Return whether a call that may be made now would wait for an approval."""
        state, action = run.state, self.world.model.actions[call.step.action]
        choice = find_choice(call, run.list_offered(), run.options)[0]
        if choice is None:
            return False
        record = (
            state.steps[choice.step]
            if isinstance(choice.step, str)
            else StepRecord(choice.step, choice.step.step(state.domain))
        )
        filled = replace(record, filled={**record.filled, **choice.values}, marked=record.marked or choice.marked)
        try:
            values, sources = fill_parameters(state, filled, action)
        except Missing:
            return False
        return not needs_no_approval(state, filled, action, values, sources)

    def _read_call(self, name: str, arguments: Mapping[str, Any]) -> AgentCall:
        assert self._session.run is not None, "it was refreshed before"
        return read_call(self.world, self.problem, self._session.run.state, name, arguments)

    async def _refresh(self) -> Run:
        return await self._finish(self._session.refresh())

    async def _finish(self, work: Coroutine[Any, Any, Done]) -> Done:
        """Await `work` in its turn, and let it go on if the caller is cancelled."""

        async def take_turn() -> Done:
            async with self._guard:
                return await work

        task = asyncio.create_task(take_turn())
        self._at_work.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        """Forget a task that has ended; a cancelled caller does not hear what it raised."""
        self._at_work.discard(task)
        if not task.cancelled():
            task.exception()

    def _report(self, step: str, expected: frozenset[Atom] | None = None) -> CallReport:
        """Report the step of a call; `expected` are the facts that should hold after it."""
        assert self._session.run is not None, "it was refreshed before"
        state = self._session.run.state
        record, unexpected = state.steps[step], tuple[str, ...]()
        if expected is not None and record.status is not StepStatus.WAITING:
            now = real_facts(state, state.beliefs.problem.initial)
            unexpected = name_differences(now, real_facts(state, expected))
        shown, question = str(real_step(state, record.step)), self._make_question(step)
        status, reason = record.status.name, record.reason
        if record.is_obstructed:
            status = "REFUSED"
        elif "flight" in (record.wait or {}):
            reason = describe_flight(record.wait or {})
        elif record.is_pending:  # it was put back before it began
            status, reason = ("REFUSED", state.reason) if question is None else ("WAITING", reason)
        return self._keep(CallReport(shown, status, _result_of(record), reason, unexpected, question=question))

    def _keep(self, report: CallReport) -> CallReport:
        """Complete a report by what comes next, and keep it."""
        assert self._session.run is not None, "it was refreshed before"
        run = self._session.run
        is_open = not run.state.status.is_over and run.state.with_status(*UNFINISHED)
        goal = "reached" if self.is_reached else "open" if is_open else "impossible"
        steps = tuple(map(partial(name_step, self._source), _list_next(run)))
        self.reports.append(replace(report, next=steps, goal=goal))
        return self.reports[-1]

    def _make_question(self, step: str) -> Mapping[str, Any] | None:
        """Return the open question about `step`, or about anything; None if there is none."""
        assert self._session.run is not None, "it was refreshed before"
        state = self._session.run.state
        for name, each in state.open_questions.items():
            if step in ("", each.step):
                return {**describe_question(each), "question": f"{self.run}:{name}"}
        return None


def _list_next(run: Run) -> tuple[Step, ...]:
    """Return the steps that are offered, with real names."""
    return () if run.state.status.is_over else tuple([real_step(run.state, each.step) for each in run.list_offered()])


def _is_for_others(state: RunState, call: AgentCall) -> bool:
    """Return whether the step of a call waits for the approval of other values."""
    waiting, data = find_waiting(state, call.step), state.domain.actions[call.step.action].data
    shown = {} if waiting is None else (waiting.wait or {}).get("parameters", {})
    try:
        given = {each.name: convert_value(each, call.values[each.name]) for each in data if each.name in call.values}
    except Missing:
        return True
    return any(dump_json_value(each) != dump_json_value(shown.get(name, each)) for name, each in given.items())


def _with_goal(problem: Problem, goal: Any) -> Problem:
    if goal is None:
        return problem
    from planner.language.declare.fields import CodePlace
    from planner.language.declare.problem_builder import ProblemBuilder

    place = CodePlace("the goal of the planned calls")
    builder = ProblemBuilder(problem.domain, {each.name: each for each in problem.objects}, place)
    return replace(problem, goal=Goal(builder.condition(goal, place)))


def _refuse_clock(problem: Problem) -> None:
    """Raise `UnsupportedError` for what only a run of a plan in time keeps."""
    if is_temporal(problem) and (problem.deadline is not None or problem.due or problem.timed):
        found = "deadlines and changes at known times in time, where an agent chooses when steps begin"
        raise UnsupportedError(found, "an Executor carries out plans in time")


def _find_action(world: World, name: str) -> Action:
    action = world.model.actions.get(name)
    if action is None:
        raise InputError(f"the world has no action {name!r}", hint=did_you_mean(str(name), world.model.actions))
    return action


def _result_of(record: StepRecord) -> Any:
    """Return what the handler returned: its data, or its text."""
    result = record.result or {}
    data, text = result.get("data"), result.get("text")
    return load_json(dump_json(data)) if data else text or None
