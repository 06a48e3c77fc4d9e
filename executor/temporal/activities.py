"""The activities of a worker: perform a step, look, check, ask people, search; each takes and returns JSON data.

`WorldActivities` calls the handlers, observers, checks and callbacks of one world by the same code as an executor on
one machine: `executor.loop.attempt` makes the attempt at a step, with its time limit, hooks and rate. `server` is the
client of a worker, whose rates hold for all workers; its locks are against handlers that were given up in this process.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Final, cast

from temporalio import activity
from temporalio.client import Client

from executor.background_searches import SearchStopped, run_search
from executor.events.answers import as_journal_data
from executor.events.events import Asked, StepStatus, event_from_data
from executor.events.fluent_values import places_of
from executor.executor import Executor
from executor.learning.experience import LearnedFrom, Pricing
from executor.loop.abandoned_calls import Call, find_abandoned
from executor.loop.aftermath import is_to_be_retried
from executor.loop.attempt import Attempt, Performer, Trial, run_check
from executor.loop.books import BookHere
from executor.loop.children import STEP, Child
from executor.loop.locks_and_rates import Slots, Turns, wait_for_handler
from executor.loop.parameters import Fill, FillRequest, check_approved, check_fillings, convert_value
from executor.observe.discovery import describe_misfit
from executor.observe.observe import Failure, Lookout
from executor.plans.action_plan import ActionPlan
from executor.plans.created_objects import Bindings
from executor.plans.prepare import add_alternatives, search_plan
from executor.recovery.ask_people import Callback, Request, ask_for_answer, ask_for_decision
from executor.report.live import Follower, Listener
from executor.run import ModelAccess
from executor.temporal.earlier_runs import EarlierRuns
from executor.temporal.effect_ledger import CALLS, EffectsOnServer
from executor.temporal.recorded_world import describe_world
from executor.temporal.shared_limits import SERVED, LimitedTurns, find_closed, tell_limits
from executor.temporal.value_data import (
    keep_values,
    make_plain,
    read_value,
    unpack_entries,
    write_answer,
    write_result,
    write_value,
)
from executor.tools.containment import OutOfTime, await_within, contain_errors, describe_error
from executor.tools.context import Context, Memory, Outline, OutlineStep
from executor.tools.deps import Deps
from executor.tools.json_data import data_of, load_json
from executor.tools.kept_values import recall_value
from executor.tools.observers import Facts, Observer
from executor.tools.results import ActionResult
from executor.tools.step_policy import ExecutionPolicy, Rate
from executor.tools.world import Skill, World
from planner.errors import ForethoughtError, InputError, NoPlan
from planner.lightweight import replace
from planner.model import Action, Atom, DomainModel
from planner.plan import Step

BEAT: Final = 0.25
"""Part of the heartbeat timeout after which an activity says again that it is alive."""


@dataclass(slots=True)
class _NamedObjects:
    """Stands in for the `Bindings` of a run: real names, and the types of each."""

    kinds: Mapping[str, tuple[str, ...]]
    made: dict[tuple[str, Any], Any] = field(default_factory=dict)

    def get(self, _name: str, default: Any = None) -> Any:
        return default

    def real_name(self, name: str) -> str:
        return name

    def types_of(self, name: str) -> tuple[str, ...]:
        return self.kinds.get(name, ())


def _bind(kinds: Mapping[str, Any]) -> Bindings:
    return cast("Bindings", _NamedObjects({name: tuple(types) for name, types in kinds.items()}))


@dataclass(slots=True)
class Notes:
    """What a handler does to its run while it is at work."""

    memory: list[list[Any]] = field(default_factory=list)
    replanning: list[str] = field(default_factory=list)
    changed: list[list[Any]] = field(default_factory=list)
    asked: list[Mapping[str, Any]] = field(default_factory=list)


class WorldActivities:
    """The activities of one world; `permit`, `approve`, `ask` and `fill` are the callbacks of an executor.

    Searches use what was `learned` from earlier runs, and handlers ask the language model of `client`.
    """

    def __init__(
        self,
        world: World,
        origin: str = "",
        *,
        permit: Callback = None,
        approve: Callback = None,
        ask: Callback = None,
        fill: Fill | None = None,
        learned: LearnedFrom = False,
        client: ModelAccess | None = None,
        listeners: Iterable[Listener | Follower] = (),
        server: Client | None = None,
    ) -> None:
        self.world = world
        self.pricing = Pricing.of(learned, None)
        self.listeners = tuple(listeners)
        """What is told the events of the runs that this process drives, once."""
        self.described = describe_world(world)
        self.version: str = self.described["version"]
        self.searches: dict[str, Callable[[], Any]] = {}
        """The searches that runs of this process ask for, by key."""
        self._origin = origin
        self._callbacks = {"permit": permit, "approve": approve}
        self._ask, self._fill, self._client = ask, fill, client
        self._server = server
        turns = Turns() if server is None else LimitedTurns(server)
        self._performer = Performer(Slots(), world.model.name, turns, world.hooks, world.is_simulated)
        self._performing: set[tuple[str, str]] = set()
        """Runs and steps whose handlers are at work here."""
        self._book: Any = BookHere(world.ledger)
        self._earlier: EarlierRuns | None = None
        if server is not None and not world.is_simulated:
            self._book = EffectsOnServer(server, world.first_name, self._performing.__contains__)
            self._earlier = EarlierRuns(server, world, self._book)

    def list_all(self) -> list[Callable[..., Any]]:
        """Return all activities, for a `Worker`."""
        asking = [self.decide, self.answer, self.fill]
        sharing: list[Callable[..., Any]] = [self.tell_limits, self.find_closed, self.keep_book]
        return [self.perform, self.observe, self.check, *asking, self.plan, self.search, self.pause, *sharing]

    @activity.defn(name="perform")
    async def perform(self, given: dict[str, Any]) -> dict[str, Any]:
        """Make one attempt at a step; return it as data, or `outdated` if this worker has another domain.

        So it is where a worker of the queue of the run lacks the handler, or that of a later step: the run looks what
        there is now.
        """
        has_all = self._list_skills(given) and all(map(self.world.skills.get, given.get("needed", ())))
        is_lacking = not has_all and activity.info().task_queue == given["served"]
        if given["version"] != self.version or is_lacking:
            return {"outdated": self.version}
        notes, aborted = Notes(), asyncio.Event()
        STEP.set(Child(given["key"]))
        SERVED.set(given["served"])
        context = self._make_context(given, notes, aborted)
        place = given["run"], given["step"]
        self._performing.add(place)
        try:
            attempt = await _work_until_cancelled(self.make_attempt(given, context, notes), aborted)
        finally:
            self._performing.discard(place)
        policy = self.world.policy_of(given["action"])
        return make_plain({
            "result": write_result(attempt.result),
            "wait": None if attempt.wait is None else data_of(attempt.wait),
            "raised": None if attempt.raised is None else describe_error(attempt.raised),
            "traceback": attempt.traceback,
            "retried": is_to_be_retried(policy, attempt),
            "doubt": attempt.in_doubt,
            "begun": attempt.begun,
            "at_work": bool(attempt.is_at_work),
            "seconds": attempt.seconds,
            "memory": [[key, keep_values(value), relevance] for key, value, relevance in notes.memory],
            "replanning": notes.replanning,
            "changed": [[keep_values(values), by] for values, by in notes.changed],
            "asked": notes.asked,
        })  # fmt: skip

    async def make_attempt(self, given: Mapping[str, Any], context: Context, notes: Notes) -> Attempt:
        """Make the attempt that `given` describes; `notes` gets what the handler does to its run.

        A handler that was given up has as long to end as effects have to be seen.
        """
        skill = next(iter(self._list_skills(given)), None)
        if skill is None:
            lack = f"this worker has no handler {given['skill']!r} of {given['action']}"
            return Attempt(ActionResult.failed(f"{lack}; @world.handler(…) says who does"), begun=False)
        policy = _read_policy(given["policy"], self.world.policy_of(given["action"]))
        try:
            data = _convert_parameters(skill.action, recall_value(given["data"]))
            objects = await self._load_objects(skill.function, given, policy)
        except (ForethoughtError, InputError) as error:
            return Attempt(ActionResult.failed(str(error)), begun=False)

        def change(values: Mapping[str, Any], by: str) -> Mapping[str, Any]:
            changed = _convert_parameters(skill.action, values)
            check_approved(changed, {name: data[name] for name in given.get("approved", ()) if name in data}, by)
            notes.changed.append([changed, by])
            return changed

        names = [each.name.removeprefix("?") for each in skill.action.parameters]
        step = Step(given["action"], tuple([given["objects"][name] for name in names if name in given["objects"]]))
        call = Call(self._origin, given["key"], step, data, self.world.skills.get(given["action"], ()))
        trial = Trial(skill, call, objects | data, policy, lambda: context, change, context.aborted)
        attempt = await self._performer.make_attempt(trial)
        settled = max([each.settle_within or 0.0 for each in self.world.observers], default=0.0)
        attempt.is_at_work = not await wait_for_handler(find_abandoned(call), settled)
        return attempt

    def _list_skills(self, given: Mapping[str, Any]) -> list[Skill]:
        """Return the handler of the step that `given` describes, if this worker has it."""
        return [each for each in self.world.skills.get(given["action"], ()) if each.name == given["skill"]]

    async def _load_objects(
        self, function: Callable[..., Any], given: Mapping[str, Any], policy: ExecutionPolicy
    ) -> dict[str, Any]:
        """Load the objects that `function` takes; raises `InputError` if one cannot be loaded."""
        entities = self.world.entities
        made = entities.make_arguments(function, given["objects"], _bind(given["kinds"]))
        try:
            return await (await_within(made, policy.timeout) if entities.loads and policy.timeout is not None else made)
        except OutOfTime:
            raise InputError(f"objects of {given['action']} were not loaded within {policy.timeout} s") from None

    def _make_context(self, given: Mapping[str, Any], notes: Notes, aborted: asyncio.Event) -> Context:
        memory = Memory(max(given["capacity"], 1))
        known = {key: recall_value(value) for key, value in given["memory"]}
        for key, value in known.items():
            memory.restore(key, value)

        def remember(key: str, value: Any, relevance: float = 0.0, *, step: str = "") -> None:
            memory.restore(key, memory.follow(key, value), relevance, step=step)
            notes.memory.append([key, memory.version(key).read() if key in memory else None, relevance])

        memory.listen(remember)
        client = None if self._client is None else self._client.for_run(given["asked"])
        deps = Deps(None, self.world.make_deps)
        deps.run, deps.read_memory = given["run"], lambda: dict(known)
        return Context(
            plan=given["plan"],
            run=given["run"],
            step=given["step"],
            action=given["action"],
            attempt=given["attempt"],
            key=given["key"],
            token=int(activity.info().started_time.timestamp() * 1000),
            memory=memory.of_step(given["step"]),
            results=recall_value(given["results"]),
            undoes=tuple(given["undoes"]),
            aborted=aborted,
            model=None if client is None else client.for_step(notes.asked.append),
            duration=given["duration"],
            answer=given.get("answer"),
            _outline=partial(_read_outline, given["outline"]),
            _on_progress=_tell_progress,
            _on_replanning=notes.replanning.append,
            _deps=deps.get,
        )

    @activity.defn(name="observe")
    async def observe(self, given: dict[str, Any]) -> dict[str, Any]:
        """Ask an observer; return what it answers, or `failed` with the reason why there is no answer.

        Where its rate does not let it be asked now, return in how many seconds to try again, as `later`.
        """
        look: Atom = read_value(given["look"])
        found = [each for each in self.world.observers if (each.name, str(each.pattern)) == tuple(given["observer"])]
        if len(found) <= given["number"]:
            return {"about": str(look), "failed": "is none of this worker"}
        observer = found[given["number"]]
        lookout = Lookout(self.world, _bind(given["kinds"]))
        if observer.rate is not None:
            SERVED.set(activity.info().task_queue)
            key = lookout.name_turn(observer, look)
            reserved, delay = await self._performer.turns.reserve_start(key, observer.rate, 0.0)
            if reserved is None:
                told = {"later": delay} if observer.rate.wait else {"failed": f"was not asked: at most {observer.rate}"}
                return {"about": str(look), **told}
        answer = await lookout.ask_observer(observer, look)
        if isinstance(answer, Failure):
            return {"about": str(look), "failed": answer.reason}
        try:
            with contain_errors():
                return {"about": str(look), "answer": _write_checked(observer, look, answer, self.world.model)}
        except Exception as error:  # noqa: BLE001 - reading asks values of the observer for their text
            return {"about": str(look), "failed": f"failed: {describe_error(error)}"}

    @activity.defn(name="check")
    async def check(self, given: dict[str, Any]) -> str:
        """Run the check before a step; return its reason to refuse, or an empty text."""
        function = self.world.checks.get(given["action"])
        if function is None:
            return ""
        policy = _read_policy(given["policy"], self.world.policy_of(given["action"]))
        context = self._make_context(given, Notes(), asyncio.Event())
        try:
            data = _convert_parameters(self.world.model.actions[given["action"]], recall_value(given["data"]))
            objects = await self._load_objects(function, given, policy)
        except ForethoughtError as error:
            return str(error)
        return await run_check(function, objects | data, context, policy.timeout)

    @activity.defn(name="decide")
    async def decide(self, given: dict[str, Any]) -> Any:
        """Ask `permit` or `approve` for a decision on a step."""
        function = self._callbacks[given["of"]]
        if function is None:
            return None
        told = given["request"]
        request = Request(**{**told, "returned": tuple(told["returned"]), "undoes": tuple(told["undoes"])})
        return await _work_until_cancelled(ask_for_decision(function, request))

    @activity.defn(name="answer")
    async def answer(self, given: dict[str, Any]) -> Any:
        """Ask for an answer to a question; None while nobody has one."""
        if self._ask is None:
            return None
        told: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in given.items()}
        answer = await _work_until_cancelled(ask_for_answer(self._ask, Asked(**told)))
        return make_plain({"": as_journal_data(answer)})[""]

    @activity.defn(name="fill")
    async def fill(self, given: dict[str, Any]) -> dict[str, Any]:
        """Ask for the open parameters of a step; return the fillings as data, or what was `raised`."""
        if self._fill is None:
            return {"raised": "no worker fills open parameters"}
        events = [(event_from_data(kind, load_json(data)), at) for kind, data, at in unpack_entries(given["entries"])]
        state = Executor(self.world, model=given["model"], capacity=given["capacity"]).rebuild_state(events)
        record = state.steps[given["step"]]
        action = self.world.model.actions[record.step.action]
        parameters = tuple([each for each in action.data if each.name in given["parameters"]])
        try:
            request = FillRequest(
                record, action, parameters, _convert_parameters(action, recall_value(given["values"])), state
            )
            with contain_errors():
                found = check_fillings(await _work_until_cancelled(_await(self._fill(request))))
            return make_plain(asdict(found) | {"values": keep_values(found.values)})
        except Exception as error:  # noqa: BLE001 - whoever fills parameters may raise anything
            return {"raised": describe_error(error)}

    @activity.defn(name="plan")
    async def plan(self, given: dict[str, Any]) -> dict[str, Any]:
        """Search for a plan; return it with the soft goals that it gives up, or why there is `no_plan`."""
        stated, called_off = ActionPlan.model_validate(given["plan"]), threading.Event()
        options: dict[str, Any] = {
            "memory": recall_value(given["memory"]),
            "model": given["model"],
            "pricing": self.pricing,
        }

        def search() -> dict[str, Any]:
            problem, planning = stated.problem(self.world.model), read_value(given["search"])
            try:
                made = search_plan(self.world, problem, planning, called_off, fills=self._fill is not None, **options)
                if stated.alternatives:
                    plan = made.plan.model_copy(update={"alternatives": stated.alternatives})
                    made = add_alternatives(replace(made, plan=plan), ())
            except NoPlan as error:
                result = error.result
                return {"no_plan": [result.status.name, result.stopped_by.name, str(result.reason)]}
            except ForethoughtError as error:
                return {"refused": str(error)}
            dropped = [[str(each.condition), float(each.utility)] for each in made.dropped]
            return {"plan": made.plan.model_dump(mode="json"), "dropped": dropped}

        searching = _work_until_cancelled(asyncio.to_thread(run_search, search))
        try:
            found: dict[str, Any] = await searching
        finally:
            called_off.set()
        return found

    @activity.defn(name="search")
    async def search(self, key: str) -> dict[str, Any]:
        """Run the search `key` that a run of this process asks for in a thread; return its result as data."""
        search = self.searches[key]
        try:
            return {"found": write_value(await asyncio.to_thread(run_search, search))}
        except SearchStopped as stop:
            return {"stopped": stop.stopped_by.name}
        except ForethoughtError as error:
            return {"error": str(error)}

    @activity.defn(name="pause")
    async def pause(self, seconds: float) -> None:
        """Wait for a short time."""
        await asyncio.sleep(seconds)

    @activity.defn(name="tell_limits")
    async def tell_limits(self, queue: str, signal: str, arguments: list[Any]) -> None:
        """Signal what the runs of a task queue share."""
        assert self._server is not None, "a worker has one"
        await tell_limits(self._server, queue, signal, arguments)

    @activity.defn(name="find_closed")
    async def find_closed(self, runs: list[str]) -> list[str]:
        """Return those of `runs` that are over, or unknown to the server."""
        assert self._server is not None, "a worker has one"
        return await find_closed(self._server, runs)

    @activity.defn(name="keep_book")
    async def keep_book(self, of: str, given: Any) -> Any:
        """Ask, or tell, the ledger of the world about an irreversible step."""
        assert of in CALLS, "a workflow asks for nothing else"
        if self._earlier is not None:
            await self._earlier.fill()
        told = getattr(self._book, of)(*read_value(given))
        return write_value(await told if inspect.isawaitable(told) else told)


async def _await(work: Awaitable[Any]) -> Any:
    return await work


async def _work_until_cancelled(work: Coroutine[Any, Any, Any], aborted: asyncio.Event | None = None) -> Any:
    """Do `work` with heartbeats; if the activity is cancelled, set `aborted` and go on, or else cancel the work.

    A worker that shuts down cancels the work: the step is in doubt then, as after a crash.
    """
    task, beat = asyncio.ensure_future(work), asyncio.ensure_future(_beat())
    try:
        while True:
            try:
                await asyncio.wait([task])
                return task.result()
            except asyncio.CancelledError:
                if task.done():
                    raise
                if aborted is None or activity.is_worker_shutdown():
                    task.cancel()
                    raise
                aborted.set()
    finally:
        beat.cancel()


async def _beat() -> None:
    """Say again and again that the activity is alive."""
    timeout = activity.info().heartbeat_timeout
    while timeout is not None:
        activity.heartbeat()
        await asyncio.sleep(timeout.total_seconds() * BEAT)


def _tell_progress(text: str, fraction: float | None) -> None:
    with suppress(RuntimeError):  # a thread that was given up may outlive its activity
        activity.heartbeat(text, fraction)


def _convert_parameters(action: Action, values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert data parameters to the types that the action declares; raises `Missing` for a value that does not fit."""
    return {each.name: convert_value(each, values[each.name]) for each in action.data if each.name in values}


def write_policy(policy: ExecutionPolicy) -> dict[str, Any]:
    """Return what an activity has to know of a policy."""
    rate = policy.rate
    told = [rate.most, rate.seconds, list(rate.by), rate.wait] if isinstance(rate, Rate) else None
    lock = list(policy.lock) if isinstance(policy.lock, tuple) else policy.lock
    return {"timeout": policy.timeout, "lock": lock, "rate": told, "cache_for": policy.cache_for}


def _write_checked(observer: Observer, look: Atom, answer: Any, domain: DomainModel) -> Any:
    """Return the data of a valid answer; of one with entities of a wrong class, the facts that name them."""
    facts = observer.read(look, answer, domain=domain).facts
    places = [each for fact in facts for each in places_of(fact, domain)]
    has_misfits = any(describe_misfit(term, parameter.types, domain) for term, parameter in places)
    return write_answer(Facts({str(each): facts[each] for each in facts}) if has_misfits else answer)


def _read_policy(data: Mapping[str, Any], own: ExecutionPolicy) -> ExecutionPolicy:
    """Return the policy `own` of an action with what `data` says of a step."""
    lock = tuple(data["lock"]) if isinstance(data["lock"], list) else data["lock"]
    most, seconds, by, wait = data["rate"] or (0, 0, (), True)
    rate = None if data["rate"] is None else Rate(most, seconds, tuple(by), wait)
    return replace(own, timeout=data["timeout"], lock=lock, rate=rate, cache_for=data["cache_for"])


def write_outline(outline: Outline) -> dict[str, Any]:
    """Return an outline as data."""
    steps = [[each.id, each.action, dict(each.arguments), each.status.name, each.description] for each in outline.steps]
    told = {name: getattr(outline, name) for name in ("plan", "goal", "model", "number", "purpose")}
    return {**told, "steps": steps}


def _read_outline(data: Mapping[str, Any]) -> Outline:
    rows = data["steps"]
    steps = [OutlineStep(id_, name, given, StepStatus[status], text) for id_, name, given, status, text in rows]
    return Outline(data["plan"], tuple(data["goal"]), data["model"], tuple(steps), data["number"], data["purpose"])
