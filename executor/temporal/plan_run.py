"""The workflow of a run: the loop of an executor, in the deterministic event loop of Temporal.

`PlanRun.run` tells the story: search for a plan if there is none, drive the run, and, where it waits for something from
outside, wait until somebody takes it up. All that happens is an event, as in a journal. The workflow keeps the events,
tells them to whoever asks, and hands them to the workflow that goes on in its place when its history has grown long,
when the workers have another version of the domain, or when it is taken up after it lacked something of their world.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

from executor.background_searches import search_by
from executor.errors import RunError
from executor.events.events import (
    Event,
    GoalDropped,
    ModelAsked,
    RunEnded,
    RunResumed,
    RunStarted,
    RunStatus,
    StepStatus,
    event_from_data,
    event_to_data,
)
from executor.events.memory_values import complete_appended, list_set, shorten_event
from executor.events.run_state import RunState
from executor.executor import Executor
from executor.observe.observe import Lookout
from executor.plan_check.remaining_means import is_lacking
from executor.plans.action_plan import ActionPlan, aim_of
from executor.plans.prepare import PreparedPlan
from executor.run import NOT_KEPT, Done, Run
from executor.temporal.effect_ledger import WorkflowBook
from executor.temporal.joined_requests import end_mark
from executor.temporal.outside import (
    AGES,
    ActivityLookout,
    ActivityPerformer,
    Setup,
    WorkflowClock,
    ask_somebody,
    find_host,
    make_decision_callback,
    make_filler,
    pause_by_activity,
    search_by_activity,
    view_world,
)
from executor.temporal.recorded_world import is_described, restore_world
from executor.temporal.run_events import WORKFLOW
from executor.temporal.shared_limits import RunLimits
from executor.temporal.value_data import (
    Entry,
    pack_entries,
    read_result,
    read_value,
    unpack_entries,
    write_result,
    write_value,
)
from executor.tools.context import Memory
from executor.tools.json_data import dump_json, load_json
from executor.tools.kept_values import recall_value
from executor.tools.results import ActionResult
from planner.errors import ForethoughtError
from planner.model import Atom

MOST_SEARCHES: Final = 5
"""Most attempts to search for the plan of a run: its worker may die."""
CHANGED: Final = "the domain has changed since the run began"


class WorkflowRun(Run):
    """A run that a workflow drives: its events are kept in `entries`, and all calls come within the workflow."""

    def __init__(self, executor: Executor, run: str, entries: list[Entry]) -> None:
        super().__init__(executor, run, find_host().pricing)
        self._entries = entries
        self._listening = ExitStack()
        self.is_moving = False

    def take(self, state: RunState) -> None:
        """Build the parts of the run on `state`, and let listeners follow it."""
        super().take(state)
        if state.timetable is not None:
            self._loop.inbox.pause = pause_by_activity
        self._listening.enter_context(self.audience.at(state, self.id))

    def make_lookout(self, state: RunState, aborted: asyncio.Event) -> Lookout:
        """Make what asks observers by activities, until the run is `aborted`."""
        return ActivityLookout(self._executor.world, state.objects, aborted)

    def emit(self, event: Event) -> None:
        """Keep an event, and apply it."""
        kind, now = type(event).__name__, self._executor.clock.time()
        if kind not in NOT_KEPT:
            self._entries.append((kind, self.write(event), now))
            self._written.note(event)
        self._apply(shorten_event(event, self.state.memory), now)
        if not workflow.unsafe.is_replaying():
            self.audience.tell(complete_appended(event, self.state.memory))
        self._make_room(list(list_set(event)))

    async def follow_plan(self) -> RunEnded:
        """Drive the run until it ends or waits, and return its end, which is not kept yet."""
        await self._stepper.clearance.flights.take_up()
        try:
            ended = await self._loop.drive()
        except asyncio.CancelledError:  # a worker drops the workflow, and another goes on
            self._stepper.abort()
            raise
        self._stepper.clearance.flights.break_off()
        return ended

    def wake(self) -> None:
        """Look anew at what the run waits for."""
        self._loop.wake()

    def end(self, ended: RunEnded) -> None:
        """Emit the end of the run, the last event that listeners hear."""
        self.emit(ended)
        self.leave()

    def leave(self) -> None:
        """Let listeners go: this workflow drives the run no more."""
        self._listening.close()

    def move_on(self) -> None:
        """Begin no more steps here: another workflow goes on when those at work are over."""
        self.is_moving = True
        self.interrupt()

    def request_replanning(self, reason: str) -> None:
        """Look whether the plan still works, and patch it if not."""
        self._stepper.replanning_requests.append(reason)

    def find_deadline(self) -> float | None:
        """Return when the first wait of a step is over, in the time of the event loop; None if none ends by itself."""
        return self._loop.inbox.find_next_alarm(self.state.with_status(StepStatus.WAITING))

    def keep_early_results(self, results: Mapping[str, ActionResult]) -> None:
        """Keep results of events for which no step was waiting yet."""
        for event, result in results.items():
            self._loop.inbox.keep_early_result(event, result)

    @property
    def early_results(self) -> dict[str, ActionResult]:
        """Results of events for which no step was waiting yet."""
        return self._loop.inbox.early_results

    def find_waiting(self, event: str) -> list[str]:
        """Return the steps that wait for `event`."""
        waiting = self.state.with_status(StepStatus.WAITING)
        return [each.id for each in waiting if (each.wait or {}).get("event") == event]

    def _do_if_driven(self, act: Callable[[], None]) -> None:
        if self._state is not None:
            act()

    def _do_in_home_loop(self, act: Callable[[], Done]) -> Done:
        return act()


@dataclass(slots=True)
class _News:
    """What came from outside while nobody drove the run."""

    answers: dict[str, Any] = field(default_factory=dict)
    results: dict[str, ActionResult] = field(default_factory=dict)
    facts: dict[Atom, bool] = field(default_factory=dict)
    aim: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> _News:
        """Read what `TemporalRun.take_up`, or `write`, has written."""
        results = {step: read_result(result) for step, result in told["results"].items()}
        return cls(dict(told["answers"]), results, _read_facts(told["facts"]), told["aim"])

    def write(self) -> dict[str, Any]:
        """Return the news as data."""
        results = {step: write_result(result) for step, result in self.results.items()}
        facts = [[write_value(fact), holds] for fact, holds in self.facts.items()]
        return {"answers": self.answers, "results": results, "facts": facts, "aim": self.aim}

    def add(self, later: _News) -> None:
        """Add what came later."""
        self.answers |= later.answers
        self.results |= later.results
        self.facts |= later.facts
        self.aim = later.aim or self.aim


@workflow.defn(name=WORKFLOW)
class PlanRun:
    """One run; its input is what `TemporalExecutor` writes, and its result has the events as one packed text."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._run: WorkflowRun | None = None
        self._early: dict[str, ActionResult] = {}
        self._news: _News | None = None
        self._outdated = ""
        """The version of the workers' domain, if the run has to go on by what they have now."""
        self._misfit = ""
        """Why the events do not fit the domain: there is no run as long as they do not."""
        self._untold: _News | None = None
        """What came before it was known that they do not fit, for the workflow that goes on."""
        self._is_parked = self._is_over = self._is_moving = self._is_called_off = self._is_interrupted = False
        self._searching: workflow.ActivityHandle[dict[str, Any]] | None = None
        self._refusal: dict[str, Any] = {}
        """Why the run could not begin."""
        run = workflow.info().workflow_id
        self._limits = RunLimits(run)
        self._book = WorkflowBook(run, is_at_hand=find_host().world.is_simulated)

    @workflow.run
    async def run(self, given: dict[str, Any]) -> dict[str, Any]:
        """Carry out a plan to its end."""
        search_by(search_by_activity)
        self._entries += unpack_entries(given["entries"])
        self._early |= {event: read_result(result) for event, result in given["early"].items()}
        self._limits.claims |= given.get("claims", {})
        self._news = _News.read(given["news"]) if given.get("news") else None
        self._is_called_off |= given.get("called_off", False)
        try:
            executor = _make_executor(given, self._entries, self._limits, self._book)
            if given["parked"]:
                self._run = self._rebuild(executor, given)
                await self._wait_for_news(given)
            while not self._is_over:
                ended = await self._drive(executor, given)
                if ended is None:
                    break
                if self._run is not None and self._run.is_moving and not (ended.status.is_over or self._is_interrupted):
                    await self._hand_over(given, parked=False)
                self._note_end(ended)
                if not self._is_over:
                    await self._wait_for_news(given)
        except ForethoughtError as error:
            if not self._entries:
                raise ApplicationError(str(error), type=type(error).__name__, non_retryable=True) from error
            self._end_at_once(str(error))
        self._is_over = True
        await self._end_mark(given)
        self._limits.keep(())
        await self._limits.finish()
        await self._book.finish()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return {"entries": pack_entries(self._entries), "refusal": self._refusal}

    async def _drive(self, executor: Executor, given: dict[str, Any]) -> RunEnded | None:
        """Begin the run or take it up, and drive it until it ends or waits; None if there is no plan."""
        news, self._news = self._news, None
        self._book.look_again()
        if self._entries:
            run = self._run = self._rebuild(executor, given)
            if run is None:
                self._untold = news
                return self._end_as_misfit()
            if news == _News() and not self._is_called_off and (lack := run.find_lack_still()):
                return RunEnded(RunStatus.WAITING, lack)
        else:
            made = await self._find_plan(executor, given)
            if made is None:
                return None
            run = self._run = self._make_run(executor, given, executor.make_state(made))
            _begin(run, made, given)
        self._is_parked = False
        if news is not None:
            _take_up(run, news)
        if given["moved"]:
            run.drop_lost()
            run.request_replanning(given["moved"])
            given["moved"] = ""
        driving = asyncio.ensure_future(run.follow_plan())
        while True:
            try:
                return await asyncio.shield(driving)
            except asyncio.CancelledError:  # Temporal calls the workflow off
                if driving.done():
                    raise
                self._is_called_off = True
                run.cancel()

    def _make_run(self, executor: Executor, given: Mapping[str, Any], state: RunState) -> WorkflowRun:
        run = WorkflowRun(executor, given["run"], self._entries)
        performer = executor.performer
        assert isinstance(performer, ActivityPerformer), "made here"
        performer.state = state
        performer.note_model_call = lambda step, metrics: run.emit(ModelAsked(step, metrics))

        def consider_moving(outdated: str) -> None:
            self._outdated = outdated or self._outdated
            info, most = workflow.info(), given["most_events"]
            is_long = most is not None and info.get_current_history_length() > most
            if outdated or is_long or info.is_continue_as_new_suggested():
                run.move_on()

        performer.moves = self._book.moves = consider_moving
        if self._is_called_off:
            run.called_off.set()
        run.take(state)
        if self._is_interrupted:
            run.interrupt()
        early, self._early = self._early, {}
        run.keep_early_results(early)
        return run

    def _rebuild(self, executor: Executor, given: Mapping[str, Any]) -> WorkflowRun | None:
        """Make the run of the events so far; None where they do not fit the domain."""
        events = [(event_from_data(kind, load_json(data)), at) for kind, data, at in self._entries]
        try:
            state = executor.rebuild_state(events)
        except (ForethoughtError, LookupError, ValueError) as error:
            self._misfit = f"{executor.describe_wanted_domain()}; {CHANGED}: {error}"
            return None
        return self._make_run(executor, given, state)

    def _end_as_misfit(self) -> RunEnded:
        """Return the end of a run whose events do not fit the domain: nothing is done, and nothing undone."""
        if self._is_called_off:
            return RunEnded(RunStatus.CANCELLED, f"called off; {self._misfit}")
        return RunEnded(RunStatus.WAITING, self._misfit)

    def _note_end(self, ended: RunEnded) -> None:
        """Keep how the run ended, unless it waits for the same as before."""
        self._is_over = ended.status.is_over
        is_known = is_lacking(ended.reason) and self._find_reason() == ended.reason
        if self._run is not None:
            self._run.leave() if is_known else self._run.end(ended)
        elif not is_known:
            self._entries.append(("RunEnded", dump_json(event_to_data(ended)), WorkflowClock().time()))

    def _find_reason(self) -> str:
        """Return the reason why the run waits, or is over; an empty text where it does not."""
        kind, data, _ = self._entries[-1]
        return str(load_json(data)["reason"]) if kind == "RunEnded" else ""

    async def _find_plan(self, executor: Executor, given: Mapping[str, Any]) -> PreparedPlan | None:
        """Return the plan of the run, searched by an activity if it is not given; None if there is none."""
        told = {"plan": given["plan"], "dropped": given["dropped"]}
        if given["search"] is not None:
            self._searching = workflow.start_activity(
                "plan",
                {name: given[name] for name in ("plan", "search", "model", "memory")},
                start_to_close_timeout=AGES,
                heartbeat_timeout=timedelta(seconds=given["heartbeat"]),
                retry_policy=RetryPolicy(maximum_attempts=MOST_SEARCHES),
                summary="search for a plan",
            )
            try:
                told = await self._searching
            except (ActivityError, asyncio.CancelledError):
                if not self._is_called_off:
                    raise
        if "plan" not in told:
            self._refusal = told
            return None
        plan = ActionPlan.model_validate(told["plan"])
        problem = plan.problem(executor.world.model)
        given_up = {condition for condition, _ in told["dropped"]}
        dropped = [each for each in problem.goal.soft if str(each.condition) in given_up]
        return PreparedPlan(plan, problem, tuple(dropped))

    async def _wait_for_news(self, given: dict[str, Any]) -> None:
        """Wait until the run is taken up, or until the wait of one of its steps is over.

        A run that lacked something goes on in another workflow, by the world that its worker has then.
        """
        self._is_parked, self._is_interrupted = True, False
        await self._end_mark(given)
        if workflow.info().is_continue_as_new_suggested():
            await self._hand_over(given, parked=True)
        deadline = None if self._run is None else self._run.find_deadline()
        left = None if deadline is None else max(deadline - asyncio.get_running_loop().time(), 0.0)
        try:
            await workflow.wait_condition(lambda: self._news is not None, timeout=left)
        except TimeoutError:
            self._news = self._news or _News()
        except asyncio.CancelledError:  # Temporal calls the workflow off
            self._is_called_off = True
            self._news = self._news or _News()
        if is_lacking(self._find_reason()):
            self._outdated = find_host().version
            await self._hand_over(given, parked=False)

    async def _end_mark(self, given: dict[str, Any]) -> None:
        """Let equal requests begin another run from now on."""
        mark, given["mark"] = given.get("mark", ""), ""
        if mark:
            await end_mark(mark, given["run"])

    async def _hand_over(self, given: dict[str, Any], *, parked: bool) -> None:
        """Go on in another workflow with the same id, and a history of its own."""
        self._is_moving = True
        await self._limits.finish()
        await self._book.finish()
        await workflow.wait_condition(workflow.all_handlers_finished)
        self._is_moving = False
        if parked and self._news is not None:
            return
        news, early = self._untold or self._news, {}
        if news is not None and self._news is not None and news is not self._news:
            news.add(self._news)
        if self._run is not None:
            early = self._run.early_results
            self._run.leave()
        host = find_host()
        moved = host.described | {"moved": CHANGED if host.version != given["version"] else ""}
        workflow.continue_as_new({
            **given,
            "entries": pack_entries(self._entries),
            "early": {event: write_result(result) for event, result in (early | self._early).items()},
            "claims": self._limits.claims,
            "parked": parked,
            "news": None if news is None else news.write(),
            "called_off": self._is_called_off,
            "search": None,
            "moved": "",
            **(moved if self._outdated else {}),
        })  # fmt: skip

    def _end_at_once(self, reason: str) -> None:
        """End a run that cannot go on and has no state by which it could end otherwise."""
        ended = RunEnded(RunStatus.FAILED, reason)
        self._entries.append(("RunEnded", dump_json(event_to_data(ended)), WorkflowClock().time()))

    @workflow.query
    def told(self, since: int = 0) -> dict[str, Any]:
        """Return the events from number `since` on, and whether the run waits to be taken up, or is over."""
        return {"entries": pack_entries(self._entries[since:]), "parked": self._is_parked, "over": self._is_over}

    @workflow.update
    async def settle(self) -> str:
        """Wait until the run is `over`, waits to be taken up (`parked`), or goes on in another workflow (`moving`)."""
        await workflow.wait_condition(lambda: self._is_over or self._is_moving or self._is_waiting)
        return "over" if self._is_over else "moving" if self._is_moving else "parked"

    @property
    def _is_waiting(self) -> bool:
        """Whether the run waits, and nobody has taken it up."""
        return self._is_parked and self._news is None

    @workflow.signal
    def cancel(self) -> None:
        """Call the run off."""
        self._is_called_off = True
        if self._searching is not None and not self._searching.done():
            self._searching.cancel()
        if self._is_parked:
            self._news = self._news or _News()
        elif self._run is not None:
            self._run.cancel()

    @workflow.signal
    def reserved(self, claim: str, earlier: list[list[str]]) -> None:
        """Hear what others have reserved before a claim of the run."""
        self._limits.hear(claim, earlier)

    @workflow.signal
    def flight_changed(self, item: str) -> None:
        """Hear that the flight of a step, for which this run waits, has changed."""
        self._book.hear(item)
        if self._is_parked:
            self._news = self._news or _News()
        elif self._run is not None:
            self._run.wake()

    @workflow.signal
    def interrupt(self) -> None:
        """Begin no more steps, and wait to be taken up when those at work are over."""
        if not self._is_parked:
            self._is_interrupted = True
            if self._run is not None:
                self._run.interrupt()

    @workflow.update
    def take_up(self, told: dict[str, Any]) -> None:
        """Take the run up with answers, results of steps, facts that have changed, and another goal."""
        news = _News.read(told)
        if not self._is_parked:
            self._tell_at_once(news)
            return
        self._news = self._news or _News()
        self._news.add(news)

    @take_up.validator
    def _check_news(self, told: dict[str, Any]) -> None:
        if self._is_misfit and _News.read(told) == _News():
            return
        run = self._require_run()
        for question, answer in told["answers"].items():
            run.check_answer(question, answer)
        for step, result in told["results"].items():
            run.read_result_for(step, read_result(result))
        if told["aim"] is not None and run.state.is_undoing:
            raise RunError(f"the run {run.id!r} keeps its goal: it undoes what was done", hint="start another one")

    def _tell_at_once(self, news: _News) -> None:
        """Tell a run that is at work what came from outside."""
        run = self._require_run()
        if news.facts:
            run.report(news.facts)
        if news.aim is not None:
            goal = ActionPlan.model_validate(news.aim["plan"])
            run.change_goal(goal.problem(run.state.domain), news.aim["reason"], basis=goal.basis)
        for question, answer in news.answers.items():
            run.answer(question, answer)
        for step, result in news.results.items():
            run.complete(step, result)

    @workflow.update
    def announce(self, event: str, result: dict[str, Any]) -> int:
        """Complete all steps that wait for `event`, or else the first that will; return how many wait."""
        restored = read_result(result)
        if self._is_misfit:
            self._early[event] = restored
            return 0
        run = self._require_run()
        if not self._is_parked:
            return run.announce(event, restored)
        found = run.find_waiting(event)
        if found:
            self._news = self._news or _News()
            self._news.results |= dict.fromkeys(found, restored)
        else:
            self._early[event] = restored
        return len(found)

    @announce.validator
    def _check_announcement(self, event: str, result: dict[str, Any]) -> None:
        del event, result
        if not self._is_misfit:
            self._require_run()

    @property
    def _is_misfit(self) -> bool:
        """Whether the run waits for a domain that its events fit."""
        return self._is_parked and self._run is None and not self._is_moving

    def _require_run(self) -> WorkflowRun:
        """Return the run; raises `RunError` before it has begun, after its end, and where nothing fits its events."""
        if self._is_misfit:
            raise RunError(self._misfit, hint="take it up there first, and tell it then")
        if self._run is None or self._is_over or self._is_moving:
            raise RunError("nobody drives the run at this moment", hint="wait until it has begun")
        return self._run


def _begin(run: WorkflowRun, made: PreparedPlan, given: Mapping[str, Any]) -> None:
    """Emit the first events of a run."""
    plan, values = run.state.plan, Memory.from_dict(recall_value(given["memory"]), given["capacity"]).to_dict()
    told = plan.model_dump(mode="json"), plan.model, values, run.state.domain.name
    world = given.get("label", given["world"])
    run.emit(RunStarted(run.id, *told, occasion=given["occasion"], again=tuple(given["again"]), world=world))
    for wish in made.dropped:
        run.emit(GoalDropped(str(wish.condition), float(wish.utility)))
    if given["reported"]:
        run.report(_read_facts(given["reported"]))


def _take_up(run: WorkflowRun, news: _News) -> None:
    """Emit what came from outside while nobody drove the run."""
    run.emit(RunResumed(run.id))
    aim = None
    if news.aim is not None:
        goal = ActionPlan.model_validate(news.aim["plan"])
        aim = aim_of(goal.problem(run.state.domain), goal.basis)
    run.learn(news.facts, aim)
    for question, answer in news.answers.items():
        run.answer(question, answer)
    for step, result in news.results.items():
        run.complete(step, result)


def _read_facts(told: list[Any]) -> dict[Atom, bool]:
    return {read_value(fact): holds for fact, holds in told}


def _make_executor(
    given: Mapping[str, Any], entries: Sequence[Entry], limits: RunLimits, book: WorkflowBook
) -> Executor:
    """Make the executor that drives the run with these `entries` by activities."""
    host = find_host()
    setup = Setup(given["heartbeat"], given["queues"], given["capacity"], given["version"])
    world = host.world if is_described(given, host.described) else restore_world(given, host.world)
    performer = ActivityPerformer(setup, world.model.name, limits)
    ask = given["ask"]
    made = Executor(
        view_world(world, performer, given["world"]),
        model=given["model"],
        concurrency=given["concurrency"],
        recovery=read_value(given["recovery"]),
        permit=make_decision_callback("permit") if given["permit"] else None,
        approve=make_decision_callback("approve") if given["approve"] else None,
        ask=ask_somebody if ask == "callback" else ask,
        fill=make_filler(entries, given["model"], given["capacity"]) if given["fill"] else None,
        stay=given["stay"],
        seed=given["seed"],
        capacity=given["capacity"],
        clock=WorkflowClock(),
        listeners=host.listeners,
        look=given["look"],
    )
    made.performer, made.book = performer, book
    return made
