"""What a run in a workflow reaches the outside through: activities in place of handlers, observers, people, searches.

Workflow code is replayed, so that nothing here may depend on anything but the history: the time is that of the history,
and each result that comes from outside was recorded there. Handlers, checks and callbacks are activities on a task
queue; observers and searches are local activities, which the worker that drives the run carries out within the task of
the workflow, without a way to the server and back.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, TimeoutType, is_cancelled_exception
from temporalio.exceptions import TimeoutError as ActivityTimeout
from temporalio.worker import UnsandboxedWorkflowRunner, WorkflowInstance, WorkflowInstanceDetails

from executor.background_searches import SearchStopped
from executor.events.events import Asked
from executor.events.run_state import RunState
from executor.journal.reservations import Reservation
from executor.loop.attempt import CALLED_OFF, Attempt, Performer, Trial
from executor.loop.hooks import Changed
from executor.loop.locks_and_rates import HeldBack, wait_unless_cancelled
from executor.loop.parameters import Fill, Fillings, FillRequest
from executor.observe.observe import Failure, Lookout
from executor.plan_check.remaining_means import list_needed
from executor.plans.created_objects import Bindings
from executor.recovery.ask_people import Request
from executor.temporal.activities import WorldActivities, write_outline, write_policy
from executor.temporal.shared_limits import RunLimits
from executor.temporal.value_data import (
    Entry,
    keep_values,
    make_plain,
    pack_entries,
    read_answer,
    read_result,
    read_value,
    write_value,
)
from executor.tools.context import Context, Outline
from executor.tools.entities import Entities
from executor.tools.kept_values import recall_value
from executor.tools.observers import Observer
from executor.tools.results import ActionResult, Metrics, Wait
from executor.tools.step_policy import ExecutionPolicy
from executor.tools.world import World
from planner.errors import ForethoughtError
from planner.lightweight import replace
from planner.model import Action, Atom
from planner.model.arithmetic import Exact
from planner.plan import StoppedBy

ONCE: Final = RetryPolicy(maximum_attempts=1)
"""Temporal repeats no attempt: whether a step may be done again is decided by looking, as on one machine."""
AGES: Final = timedelta(days=3650)
"""Time limit of an activity without one, which Temporal wants."""
SLACK: Final = 60.0
"""Seconds beyond the time limit of a step after which Temporal itself gives its activity up."""
SEARCHING: Final = timedelta(hours=1)
"""Time limit of a search, beyond its own."""
LATE: Final = 5.0
"""Seconds after which a wait counts as over if its worker has died."""
NOWHERE: Final = Outline("", (), "", (), 0, "plan")
"""The outline for handlers without a context."""
STOPPED: Final = "the process stopped while it was being done"


@dataclass(frozen=True, slots=True)
class Setup:
    """How a run is carried out on Temporal.

    `queues` maps tags and names of actions to the task queues of their steps; others are on the queue of the run. A
    worker that has not said for `heartbeat` seconds that a step is at work counts as dead.
    """

    heartbeat: float = 10.0
    queues: Mapping[str, str] = field(default_factory=dict)
    capacity: int = 1000
    version: str = ""

    def queue_of(self, action: Action) -> str | None:
        """Return the task queue of steps of `action`: by its name, or else by the first of its tags with one."""
        names = [action.name, *sorted(action.tags)]
        return next((self.queues[each] for each in names if each in self.queues), None)


class HostRunner(UnsandboxedWorkflowRunner):
    """Runs workflows of a worker with the activities of that worker at hand."""

    def __init__(self, host: WorldActivities) -> None:
        self._host = host

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """Make a workflow, whose event loop leads to the host."""
        made = super().create_instance(det)
        _hosts[made] = self._host
        return made


_hosts: Final[WeakKeyDictionary[Any, WorldActivities]] = WeakKeyDictionary()
"""The host of each workflow of this process, by its event loop."""


def find_host() -> WorldActivities:
    """Return the activities of the worker that drives the present workflow."""
    return _hosts[asyncio.get_running_loop()]


class WorkflowClock:
    """The clock of a workflow: the time of its history."""

    def time(self) -> float:
        """Return the present time in seconds since 1970."""
        return workflow.time()


class _Names(Entities):
    """Makes no objects: activities do, from the names."""

    async def make_arguments(
        self, function: Callable[..., Any], names: Mapping[str, str], objects: Bindings
    ) -> dict[str, Any]:
        """Return the real name of each argument."""
        del function
        return {parameter: objects.real_name(name) for parameter, name in names.items()}


def view_world(world: World, performer: ActivityPerformer, name: str) -> World:
    """Return `world` as a workflow may use it: without objects, hooks, checks and handlers of its own.

    `name` is the name of the world with which the run began.

    No handler is like those of the world, so that nothing depends on which of them are at work in this process.
    """
    seen = copy.copy(world)
    seen.name = name
    seen.skills = {
        name: [replace(each, function=partial(each.function)) for each in skills]
        for name, skills in world.skills.items()
    }
    seen.entities = _Names(world.entities.parents)
    seen.hooks = []
    seen.checks = {name: performer.make_check(name) for name in world.checks}
    return seen


class ActivityPerformer(Performer):
    """Makes attempts at steps as activities.

    `moves` is called after each with the version of the worker's domain, if that is another than the run's, and
    `note_model_call` with each question that a handler has asked a language model.
    """

    __slots__ = ("limits", "moves", "note_model_call", "setup", "state")

    def __init__(self, setup: Setup, domain: str, limits: RunLimits) -> None:
        super().__init__(domain=domain)
        self.setup = setup
        self.limits = limits
        self.state: RunState
        self.moves: Callable[[str], None] = lambda _: None
        self.note_model_call: Callable[[str, Mapping[str, Any]], None] = lambda _, __: None

    async def reserve(self, run: str, step: str, amounts: Mapping[str, Exact]) -> list[Reservation]:
        """Reserve `amounts` by item for a step, once; return the earlier reservations of other runs on these items."""
        del run
        return await self.limits.reserve(step, amounts)

    async def wait_for_release(self, step: str, seconds: float, _: float) -> None:
        """Wait until others have released something that `step` waits for, but at most so many seconds."""
        await self.limits.wait_for_release(step, seconds)
        self.moves("")

    def release(self, run: str, step: str) -> None:
        """Release what a step of this run has reserved; other runs release theirs when they hear what became of it."""
        if run == self.limits.run:
            self.limits.release(step)

    def keep(self, run: str, steps: Collection[str]) -> None:
        """Release what other steps of the run than these have reserved."""
        del run
        self.limits.keep(steps)

    async def make_attempt(self, trial: Trial) -> Attempt:
        """Make an attempt by an activity when the run has the lock of the step.

        Raises `HeldBack` if `begin` does, or if the worker has another domain.
        """
        key = self.find_lock(trial)
        async with AsyncExitStack() as turn:
            if key is not None:
                locked = turn.enter_async_context(self.limits.lock(key))
                if not await wait_unless_cancelled(locked, trial.stopped):
                    trial.begin()
                    return Attempt(ActionResult.failed(CALLED_OFF), begun=False)
            trial.begin()
            return await self._perform(trial)

    async def _perform(self, trial: Trial) -> Attempt:
        """Make an attempt by an activity; raises `HeldBack` if the worker has another domain."""
        skill, call, policy, made = trial.skill, trial.call, trial.policy, trial.context()
        is_told = skill.takes_context or bool(find_host().world.hooks)
        told = self._describe(skill.action, trial.arguments, policy, made, is_told=is_told)
        given = {**told, "skill": skill.name, "key": call.key, "served": workflow.info().task_queue}
        needed = [each for each in list_needed(self.state) if each not in self.state.lost]
        here = [each for each in needed if self.setup.queue_of(self.state.domain.actions[each]) is None]
        given |= {"approved": list(trial.approved()), "needed": here}
        started = workflow.start_activity(
            "perform",
            given,
            task_queue=self.setup.queue_of(skill.action),
            activity_id=f"{made.step}.{made.attempt}",
            start_to_close_timeout=AGES if policy.timeout is None else timedelta(seconds=3 * policy.timeout + SLACK),
            heartbeat_timeout=timedelta(seconds=self.setup.heartbeat),
            retry_policy=ONCE,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=str(call.step),
        )
        try:
            told = await _await_or_cancel(started, made.aborted)
        except ActivityError as error:
            return self._explain(error, policy)
        self.moves(told.get("outdated", ""))
        if "outdated" in told:
            raise HeldBack
        return self._read(told, made, trial.changed)

    def _describe(
        self,
        action: Action,
        arguments: Mapping[str, Any],
        policy: ExecutionPolicy,
        made: Context,
        *,
        is_told: bool,
    ) -> dict[str, Any]:
        """Return what an activity has to know of a step; `arguments` are names of objects, and data parameters.

        Only who `is_told` of the run gets its memory, its results and the outline of its plan.
        """
        names, objects = [each.name.removeprefix("?") for each in action.parameters], self.state.objects
        given = {name: arguments[name] for name in names if name in arguments}
        outline = made.outline if is_told else NOWHERE
        results = {id_: made.results[id_] for id_ in made.results} if is_told else {}
        done = dict.fromkeys(each.action for each in outline.steps if each.id in results)
        latest = [name for name in done if made.results.get(name) is not None]
        return make_plain({
            "version": self.setup.version,
            "plan": made.plan,
            "run": made.run,
            "step": made.step,
            "action": action.name,
            "attempt": made.attempt,
            "key": made.key,
            "objects": given,
            "kinds": {each: objects.types_of(objects.plan_name(each)) for each in given.values()},
            "data": keep_values({name: each for name, each in arguments.items() if name not in given}),
            "policy": write_policy(policy),
            "memory": [[key, keep_values(made.memory.get(key))] for key in made.memory if is_told],
            "capacity": self.setup.capacity,
            "results": keep_values(results | {name: made.results[name] for name in latest}),
            "undoes": made.undoes,
            "asked": self.state.spent.asked,
            "duration": made.duration,
            "answer": made.answer,
            "outline": write_outline(outline),
        })  # fmt: skip

    def _read(self, told: Mapping[str, Any], made: Context, changed: Changed) -> Attempt:
        """Tell the run what the handler did to it, and return the attempt."""
        for values, by in told["changed"]:
            changed(recall_value(values), by)
        for key, value, relevance in told["memory"]:
            made.memory.set(key, recall_value(value), relevance=relevance)
        for metrics in told["asked"]:
            self.note_model_call(made.step, metrics)
        for reason in told["replanning"]:
            made.request_replanning(reason)
        wait = told["wait"]
        return Attempt(
            read_result(told["result"]),
            None if wait is None else Wait(**wait),
            None if told["raised"] is None else RuntimeError(told["raised"]),
            told["doubt"],
            begun=told["begun"],
            seconds=told["seconds"],
            is_to_be_retried=told["retried"],
            is_at_work=told["at_work"],
            traceback=told.get("traceback", ""),
        )

    def _explain(self, error: ActivityError, policy: ExecutionPolicy) -> Attempt:
        """Return the attempt whose activity gave no answer: its worker died, or took too long."""
        cause = error.cause
        if isinstance(cause, ActivityTimeout) and cause.type is not TimeoutType.HEARTBEAT:
            reason = f"no answer within {policy.timeout} s"
            return Attempt(ActionResult.failed(reason), in_doubt=reason)
        if isinstance(cause, ActivityTimeout) or is_cancelled_exception(error):
            return Attempt(ActionResult.failed(STOPPED), in_doubt=STOPPED, crashed=True)
        reason = f"its activity failed: {cause or error}"
        return Attempt(ActionResult.failed(reason), in_doubt=reason, crashed=True)

    def make_check(self, action: str) -> Callable[..., Awaitable[str | bool]]:
        """Return the check of an action: an activity that calls the check of the world."""

        async def check(context: Context, **arguments: Any) -> str | bool:
            world = find_host().world
            policy, checked = world.policy_of(action), world.model.actions[action]
            refused: str = await workflow.execute_activity(
                "check",
                self._describe(checked, arguments, policy, context, is_told=True),
                task_queue=self.setup.queue_of(checked),
                start_to_close_timeout=AGES if policy.timeout is None else timedelta(seconds=policy.timeout + SLACK),
                retry_policy=ONCE,
            )
            return refused or True

        return check


async def _await_or_cancel(started: workflow.ActivityHandle[Any], aborted: asyncio.Event) -> Any:
    """Await an activity; cancel it when `aborted` is set, and still await what comes of it."""
    stop = asyncio.ensure_future(aborted.wait())
    try:
        await workflow.wait([started, stop], return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            started.cancel()
        return await started
    finally:
        stop.cancel()


class ActivityLookout(Lookout):
    """Asks observers by local activities, until the run is `aborted`."""

    def __init__(self, world: World, objects: Bindings, aborted: asyncio.Event) -> None:
        super().__init__(world, objects)
        self._aborted = aborted

    async def gather_answers(self, looks: Sequence[tuple[Observer, Atom]]) -> list[Any]:
        """Ask the observers in an order that is the same in every process, and return the answers in the given one."""
        named = sorted(enumerate(looks), key=lambda each: (each[1][0].name, str(each[1][1])))
        answers = dict(
            zip(
                [place for place, _ in named],
                await asyncio.gather(*[self.ask_observer(*look) for _, look in named]),
                strict=True,
            )
        )
        return [answers[place] for place in range(len(looks))]

    async def ask_observer(self, observer: Observer, look: Atom) -> Any:
        """Return the answer of `observer`, or a `Failure` with the reason why there is none."""
        real = replace(look, args=tuple(map(self._objects.real_name, look.args)))
        kinds = {self._objects.real_name(each): self._objects.types_of(each) for each in look.args}
        known = observer.name, observer.pattern
        alike = [each for each in self._world.observers if (each.name, each.pattern) == known]
        given = {
            "observer": [observer.name, str(observer.pattern)],
            "number": alike.index(observer),
            "look": write_value(real),
            "kinds": make_plain({"": kinds})[""],
        }
        limit = AGES if observer.timeout is None else timedelta(seconds=observer.timeout + SLACK)
        while True:
            try:
                told = await workflow.execute_local_activity(
                    "observe", given, start_to_close_timeout=limit, retry_policy=ONCE
                )
            except ActivityError as error:
                return Failure(f"failed: {error.cause or error}")
            if "later" not in told:
                break
            try:  # its rate does not let it be asked yet: a timer of the run waits, and no activity
                await asyncio.wait_for(self._aborted.wait(), told["later"])
                return Failure("was not asked: the run was called off")
            except TimeoutError:
                pass
        if told["about"] != str(real):
            raise RuntimeError(f"the history of this run has an answer about {told['about']} where {real} is asked")
        return read_answer(told["answer"]) if "answer" in told else Failure(told["failed"])


def make_decision_callback(of: str) -> Callable[[Request], Awaitable[Any]]:
    """Return the callback `permit` or `approve`: an activity that calls the callback of a worker."""

    async def decide(request: Request) -> Any:
        told: dict[str, Any] = {name: getattr(request, name) for name in Request.__match_args__}
        return await _ask("decide", {"of": of, "request": make_plain(told)}, f"{of} {request.step}")

    return decide


async def ask_somebody(question: Asked) -> Any:
    """Ask `question` by an activity that calls the callback of a worker."""
    told: dict[str, Any] = {name: getattr(question, name) for name in Asked.__match_args__}
    return await _ask("answer", make_plain(told), question.question)


def make_filler(entries: Sequence[Entry], model: str | None, capacity: int) -> Fill:
    """Return the callback `fill` of the run with these `entries`: an activity that calls the callback of a worker."""

    async def fill(request: FillRequest) -> Fillings:
        given = {
            "entries": pack_entries(entries),
            "step": request.record.id,
            "parameters": [each.name for each in request.parameters],
            "values": keep_values(request.values),
            "model": model,
            "capacity": capacity,
        }
        told = await _ask("fill", make_plain(given), f"fill {request.record.step}")
        if "raised" in told:
            raise ForethoughtError(told["raised"])
        return Fillings(
            **{
                **told,
                "values": recall_value(told["values"]),
                "metrics": Metrics(**told["metrics"]),
                "known": tuple(told["known"]),
            }
        )

    return fill


async def _ask(name: str, given: Mapping[str, Any], summary: str) -> Any:
    """Ask people; the question is asked again if the worker that asked has died."""
    return await workflow.execute_activity(
        name, given, start_to_close_timeout=AGES, heartbeat_timeout=timedelta(seconds=30), summary=summary
    )


async def pause_by_activity(seconds: float) -> None:
    """Wait for a short time by an activity: timers of Temporal come up to a second late.

    It is no local one: the clock of a workflow stands still while local activities are at work.
    """
    limit = timedelta(seconds=seconds + LATE)
    with suppress(ActivityError):  # a worker that has died waits no more, and neither does a run that has news
        await workflow.execute_activity(
            "pause", seconds, start_to_close_timeout=limit, retry_policy=ONCE, summary="wait"
        )


async def search_by_activity(search: Callable[[], Any]) -> Any:
    """Run `search` by a local activity of the worker that drives the run, and return what it found, or was recorded.

    On replay nothing is searched. Raises `ForethoughtError` as the search does.
    """
    searches = find_host().searches
    key = f"{workflow.info().run_id} {workflow.uuid4()}"
    searches[key] = search
    try:
        told = await workflow.execute_local_activity("search", key, start_to_close_timeout=SEARCHING, retry_policy=ONCE)
    finally:
        searches.pop(key, None)
    if "stopped" in told:
        raise SearchStopped(StoppedBy[told["stopped"]])
    if "error" in told:
        raise ForethoughtError(told["error"])
    return read_value(told["found"])
