"""Begin and follow runs on Temporal: `TemporalExecutor`, with the interface of `Executor`, and `TemporalRun`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal
from uuid import uuid4

from temporalio.client import (
    Client,
    RPCError,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCStatusCode

from executor.arguments import check_again, check_id, check_named
from executor.background_searches import search_until_cancelled
from executor.errors import JournalError, RunError, RunExists
from executor.events.events import Event, RunStatus, event_from_data
from executor.events.run_state import RunState
from executor.events.stored_runs import RunInfo
from executor.executor import Executor
from executor.joining import IDENTIFYING, hash_terms, state_terms
from executor.learning.experience import Experience, Pricing
from executor.loop.children import STEP
from executor.loop.look_first import Look
from executor.loop.parameters import Fill
from executor.observe.reports import check_result
from executor.plan_check.remaining_means import is_lacking
from executor.plans.action_plan import ActionPlan, Basis, statement_of
from executor.plans.execution_models import ExecutionModel
from executor.plans.prepare import PreparedPlan, add_alternatives, alternatives_of, prepare_given, search_plan
from executor.recovery.ask_people import Callback
from executor.recovery.recovery_policy import Recovery
from executor.report.live import Follower, Listener
from executor.run import ModelAccess, RunOutcome, find_running_loop
from executor.temporal.connection import explain, name_place
from executor.temporal.effect_ledger import name_effects
from executor.temporal.joined_requests import SharedRequest
from executor.temporal.recorded_world import describe_world
from executor.temporal.run_events import WORKFLOW, read_entries
from executor.temporal.temporal_journal import list_runs
from executor.temporal.temporal_worker import TemporalWorker, check_learned, name_queue
from executor.temporal.value_data import (
    Entry,
    keep_values,
    make_plain,
    pack_entries,
    unpack_entries,
    write_result,
    write_value,
)
from executor.tools.context import CAPACITY, Memory
from executor.tools.json_data import load_json
from executor.tools.results import ActionResult
from executor.tools.world import World
from planner.errors import ForethoughtError, InputError, NoPlan, PlanError
from planner.model import Atom, Problem
from planner.plan import Result, Status, StoppedBy
from planner.problem_kinds import is_other_problem, resolve_problem

CALLBACKS: Final = ("permit", "approve", "ask", "fill")
"""Functions that workers call."""
NOT_HERE: Final[Mapping[str, str]] = {
    "entities": "objects must be known where handlers run: let workers load them by `world.entity`",
    "learned": "workers search by what was learned: TemporalWorker(world, client, learned=…)",
    "fill": "workers call the callback: TemporalWorker(world, client, fill=…)",
    "approve": "workers call the callback: TemporalWorker(world, client, approve=…)",
    "client": "workers have the language model: TemporalWorker(world, client, model_client=…)",
    "deps": "workers make them where handlers run: @world.deps",
    "enqueue": "a run waits for a worker by itself: executor.enqueue(…)",
}
"""Options of a run that an `Executor` takes, and why a run on Temporal does not."""
POLL: Final = 0.2
"""Pause between two questions for new events, in seconds."""
MOST_TAKEN_UP: Final = 10
"""Times that a run may be taken up by itself between the words that it waits and for what."""
TASK: Final = timedelta(seconds=10)
"""Time after which a workflow whose worker has died between two steps is given to another."""


@dataclass(slots=True, eq=False)
class TemporalExecutor:
    """Carries out plans in `world` on Temporal; the fields that `Executor` has too mean the same.

    `client` is a connected client of Temporal. Workers serve `queue`, the task queue of runs, and `queues`, which maps
    tags or names of actions to other task queues: `worker()` gives one that serves all in this process. The callbacks
    are called by workers; a `TemporalWorker` of another process has its own, and here `permit=True` says so. Workers
    search by what was `learned`, and give handlers the language model of `model_client`, the `client` of `Executor`.

    A worker that has not said for `heartbeat` seconds that a step is at work counts as dead: the step is in doubt, and
    observers settle that. A run goes on in a workflow with a new history where Temporal suggests it, or after
    `most_events` events of Temporal.
    """

    world: World
    client: Client
    queue: str = ""
    queues: Mapping[str, str] = field(default_factory=dict)
    model: ExecutionModel | None = None
    concurrency: int | None = None
    recovery: Recovery = field(default_factory=Recovery)
    permit: Callback | Literal[True] = None
    approve: Callback | Literal[True] = None
    ask: Callback | Literal["later", True] = None
    fill: Fill | Literal[True] | None = None
    learned: Experience | Literal[False] = False
    model_client: ModelAccess | None = None
    stay: bool = False
    seed: int = 0
    capacity: int = CAPACITY
    listeners: tuple[Listener | Follower, ...] = ()
    heartbeat: float = 10.0
    task_timeout: timedelta = TASK
    look: Look = "plan"
    most_events: int | None = None
    _local: Executor = field(init=False)
    """Builds states of runs from their events."""
    _described: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self._local = Executor(
            self.world,
            model=self.model,
            concurrency=self.concurrency,
            recovery=self.recovery,
            ask=self.ask if self.ask == "later" else None,
            capacity=self.capacity,
            listeners=self.listeners,
            look=self.look,
        )
        check_learned(self.learned)
        if not isinstance(self.client, Client):
            raise InputError(
                f"client must be a client of Temporal, got {self.client!r}",
                hint="await temporalio.client.Client.connect('localhost:7233')",
            )
        for name in CALLBACKS:
            value = getattr(self, name)
            if not (value in (None, True) or callable(value) or (name == "ask" and value == "later")):
                raise InputError(f"{name} must be a function, None or True, got {value!r}")
        if not (isinstance(self.heartbeat, int | float) and self.heartbeat > 0):
            raise InputError(f"heartbeat must be a number of seconds above 0, got {self.heartbeat!r}")
        self.queue = self.queue or name_queue(self.world)
        self._described = describe_world(self.world)

    def worker(self, **options: Any) -> TemporalWorker:
        """Return a worker for the runs of this executor: `async with executor.worker(): …`."""
        callbacks = {name: getattr(self, name) for name in CALLBACKS}
        given: dict[str, Any] = {name: each for name, each in callbacks.items() if callable(each)}
        given |= {"learned": self.learned, "model_client": self.model_client, "listeners": self.listeners}
        return TemporalWorker(self.world, self.client, self.queue, queues=self.queues.values(), **{**given, **options})

    async def enqueue(self, what: Any, **options: Any) -> str:
        """Leave a run to workers, and return its id as soon as the server has it; see `start`."""
        if options.get("run") is None and STEP.get(None) is None:
            options["run"] = uuid4().hex[:IDENTIFYING]  # each is a run of its own
        begun = self.start(what, **options)
        await begun.wait_until_begun()
        return begun.id

    async def run(self, what: Any, **options: Any) -> RunOutcome:
        """Carry out a plan, or the solution of a problem, and return the outcome; see `start`."""
        outcome: RunOutcome = await self.start(what, **options)
        return outcome

    def start(
        self,
        what: Any,
        *,
        run: str | None = None,
        memory: Mapping[str, Any] | None = None,
        alternatives: Iterable[Any] = (),
        reported: Mapping[Atom, bool] | None = None,
        occasion: str = "",
        again: Collection[str] = (),
        join: bool = True,
        **planning: Any,
    ) -> TemporalRun:
        """Begin to carry out a plan, or the solution of a problem, which a worker searches; `planning` as for `solve`.

        A handler that begins a run without an id begins a child of its step, whose id is the key of the step; another
        attempt at the step follows the same child. A request that names a known `run`, with the same goal and values,
        joins it; with others, or with `join=False`, it raises `RunExists` when it is awaited. Equal requests without a
        name, in whatever processes, are one run as long as it is at work; its `id` is sure once it is awaited, or
        `wait_until_begun`. Raises as `Executor.start` does, and `InputError` for the options of `NOT_HERE`.
        """
        check_id(run)
        check_named(memory=memory)
        for name in NOT_HERE.keys() & planning.keys():
            raise InputError(f"a run on Temporal has no option {name!r}", hint=NOT_HERE[name])
        made = prepare_given(self.world, what, planning, memory or (), model=self.model, fills=self.fill is not None)
        if find_running_loop() is None:
            raise RunError("a run needs a running event loop", hint="asyncio.run(executor.run(…)) has one")
        step = None if run else STEP.get(None)
        begun = TemporalRun(self, run or (uuid4().hex[:IDENTIFYING] if step is None else step.take_name()))
        if made is not None:
            made = add_alternatives(made, alternatives)
            self._local.make_state(made)
            given = {"plan": made.plan, "dropped": made.dropped, "search": None}
        else:
            given = {"plan": what, "dropped": (), "search": planning, "alternatives": alternatives}
        values = Memory.from_dict(memory or {}, self.capacity)
        wanted: Any = made or resolve_problem(what)
        again = check_again(again, self.world, wanted if made is None else made.problem)
        request = hash_terms(state_terms(wanted, values, self.world.label, occasion, again))
        told = {"memory": values.to_dict(), "reported": reported or {}, "occasion": occasion, "again": again}
        if join and run is None and step is None:
            begun.begin(self._begin_shared(begun, given | told, request))
        else:
            begun.begin(self._begin(begun, given | told, request, join=join or step is not None))
        return begun

    async def _begin(self, begun: TemporalRun, given: dict[str, Any], request: str, *, join: bool) -> None:
        """Start the workflow of a run, or take up the one that there is, if it is for the same `request`.

        Raises `RunExists`, and what the search for a hierarchical plan raises.
        """
        if not await self._start_workflow(begun.id, await self._state_plan(given), request):
            await self._join(begun, request, join=join)

    async def _begin_shared(self, begun: TemporalRun, given: dict[str, Any], request: str) -> None:
        """Start a run without a name, or join the one at work that was begun for an equal request."""
        given = await self._state_plan(given)
        stem = hash_terms({"request": request, "by": make_plain(self._describe(""))})[:IDENTIFYING]
        shared = SharedRequest(self.client, name_effects(self.world.first_name), stem)
        run = f"{stem}-{begun.id}"
        try:
            begun.id = await shared.begin(run, lambda: self._start_workflow(run, given, request, shared.mark))
        except RPCError as error:
            raise self.explain(error) from None

    async def _start_workflow(self, run: str, given: dict[str, Any], request: str, mark: str = "") -> bool:
        """Start the workflow of a run, which ends the `mark` of its request; return False if there is one already."""
        try:
            await self.client.start_workflow(
                WORKFLOW,
                make_plain(self._describe(run) | given | {"memory": keep_values(given["memory"]), "mark": mark}),
                id=run,
                task_queue=self.queue,
                task_timeout=self.task_timeout,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                memo={"domain": self.world.model.name, "world": self.world.label, "request": request},
                static_summary=str(given["plan"]["name"]),
            )
        except WorkflowAlreadyStartedError:
            return False
        except RPCError as error:
            raise self.explain(error) from None
        return True

    async def _join(self, begun: TemporalRun, request: str, *, join: bool) -> None:
        """Take up a run that there is already; raises `RunExists` unless it was begun for the same `request`."""
        try:
            described = await self.client.get_workflow_handle(begun.id).describe()
        except RPCError as error:
            raise self.explain(error) from None
        is_equal = (await described.memo()).get("request", request) == request
        if not (join and is_equal):
            raise RunExists(begun.id, "" if is_equal else "and it was begun for something else")
        if described.close_time is None:
            await begun.take_up()

    async def _state_plan(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return `given` with its plan as data: for a problem, a plan without steps, whose steps a worker searches.

        The plan of a hierarchical problem is searched here.
        """
        plan, dropped, planning = given["plan"], given["dropped"], given["search"]
        others = given.pop("alternatives", ())
        if planning is not None:
            problem = resolve_problem(plan)
            if is_other_problem(problem):
                made = add_alternatives(await self._search_here(problem, planning, given["memory"]), others)
                plan, dropped, planning = made.plan, made.dropped, None
            else:
                plan = ActionPlan(**statement_of(problem), alternatives=alternatives_of(others, problem))
                planning = _write_planning(planning)
        told = [[str(each.condition), float(each.utility)] for each in dropped]
        stated = {"plan": plan.model_dump(mode="json"), "dropped": told, "search": planning}
        return {**given, **stated, "reported": _write_facts(given["reported"])}

    async def _search_here(self, problem: Any, planning: Mapping[str, Any], memory: Mapping[str, Any]) -> PreparedPlan:
        """Search for the plan of a hierarchical problem."""
        fills, pricing = self.fill is not None, Pricing.of(self.learned, None)
        options: dict[str, Any] = {"memory": memory, "model": self.model, "fills": fills, "pricing": pricing}
        return await search_until_cancelled(
            lambda called_off: search_plan(self.world, problem, planning, called_off, **options)
        )

    def _describe(self, run: str) -> dict[str, Any]:
        """Return what the workflow of a run has to know beside its plan."""
        return {
            **self._described,
            "run": run,
            "model": self.model,
            "concurrency": self.concurrency,
            "recovery": write_value(self.recovery),
            "permit": self.permit is not None,
            "approve": self.approve is not None,
            "ask": self.ask if self.ask in (None, "later") else "callback",
            "fill": self.fill is not None,
            "stay": self.stay,
            "seed": self.seed,
            "capacity": self.capacity,
            "heartbeat": self.heartbeat,
            "queues": dict(self.queues),
            "look": self.look,
            "most_events": self.most_events,
            "entries": pack_entries(()),
            "early": {},
            "claims": {},
            "parked": False,
            "moved": "",
        }

    async def resume(
        self, run: str, *, answers: Mapping[str, Any] | None = None, results: Mapping[str, Any] | None = None
    ) -> RunOutcome:
        """Take a run up with `answers` to open questions and `results` of waiting steps; return the outcome.

        Raises `RunError` for an unknown run or question, and `InputError` for an answer that does not fit. A run that
        is at work gets them at once.
        """
        outcome: RunOutcome = await self.take_up(run, answers=answers, results=results)
        return outcome

    def take_up(
        self,
        run: str,
        *,
        answers: Mapping[str, Any] | None = None,
        results: Mapping[str, Any] | None = None,
        facts: Mapping[Atom, bool] | None = None,
    ) -> TemporalRun:
        """Begin to take up a run, and return it; awaiting it raises as `resume` does."""
        check_named(answers=answers, results=results)
        taken = TemporalRun(self, run)
        taken.begin(taken.take_up(answers=answers, results=results, facts=facts))
        return taken

    def explain(self, error: RPCError) -> JournalError:
        """Return the error of ours for one of the server."""
        return explain(error, name_place(self.client.service_client.config.target_host, self.client.namespace))

    def follow(self, run: str) -> TemporalRun:
        """Return a run that was begun before, here or elsewhere, without taking it up."""
        return TemporalRun(self, run)

    async def state_of(self, run: str) -> RunState:
        """Return the state of a run by its events; raises `RunError` for an unknown run."""
        entries = await read_entries(self.client, run)
        if not entries:
            raise RunError(f"the run {run!r} has no plan yet", hint="await it, or follow its events")
        return self.build_state(entries)

    def build_state(self, entries: Iterable[Entry]) -> RunState:
        """Build the state of a run from its events."""
        return self._local.rebuild_state((event_from_data(kind, load_json(data)), at) for kind, data, at in entries)

    async def runs(self) -> dict[str, RunInfo]:
        """Return the runs that the server knows by id, the oldest first; the newest may be missing for a second."""
        return await list_runs(self.client, self.queue)

    async def complete(self, run: str, step: str, result: Any = None) -> None:
        """Complete a waiting step of a run; raises `RunError` if it does not wait."""
        await self.follow(run).complete(step, result)

    async def announce(self, event: str, result: Any = None) -> int:
        """Complete all steps of unfinished runs that wait for `event`; return their number."""
        open_ = [each.run for each in (await self.runs()).values() if not each.status.is_over]
        return sum([await self.follow(run).announce(event, result) for run in open_])


def _write_planning(planning: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a search as data; raises `InputError` for one that cannot go to a worker."""
    for name, value in planning.items():
        try:
            write_value(value)
        except InputError as error:
            raise InputError(
                f"the option {name!r} does not go to the worker that searches: {error}",
                hint="search here, and carry out the plan: executor.run(solve(problem, …))",
            ) from None
    found: dict[str, Any] = write_value(dict(planning))
    return found


def _write_facts(facts: Mapping[Atom, bool] | None) -> list[Any]:
    return [[write_value(fact), holds] for fact, holds in (facts or {}).items()]


class TemporalRun:
    """A run on Temporal; `await run` returns its `RunOutcome`, as soon as it is over or waits for somebody."""

    def __init__(self, executor: TemporalExecutor, run: str) -> None:
        self.id = run
        self._executor = executor
        self._begun: asyncio.Task[None] | None = None

    @property
    def _handle(self) -> WorkflowHandle[Any, Any]:
        return self._executor.client.get_workflow_handle(self.id)

    def begin(self, work: Any) -> None:
        """Do `work` first, in a task: the start of the workflow, or what it has to be told."""
        self._begun = asyncio.ensure_future(work)

    def __await__(self) -> Generator[Any, None, RunOutcome]:
        return self._follow().__await__()

    async def wait_until_begun(self) -> None:
        """Wait until the server has the run, or has told it what there was to tell."""
        if self._begun is not None:
            await self._begun

    async def _follow(self) -> RunOutcome:
        """Wait until the run is over or waits for somebody, and return its outcome so far."""
        await self.wait_until_begun()
        for _ in range(MOST_TAKEN_UP):
            settled = "moving"
            while settled == "moving":
                settled = await self._wait_until_settled()
            if settled == "over":
                return self._read_end(await self._await_result())
            told = await self._handle.query("told")
            outcome = self._make_outcome(unpack_entries(told["entries"]))
            if outcome.status is not RunStatus.ACTIVE:
                break
        return outcome

    async def _wait_until_settled(self) -> str:
        try:
            settled: str = await self._handle.execute_update("settle")
        except (RPCError, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError) as error:
            return "moving" if _is_passing(error) else "over"
        return settled

    async def _await_result(self) -> Mapping[str, Any]:
        """Return the result of the workflow; raises `RunError` if it failed, and if there is none."""
        try:
            result: Mapping[str, Any] = await self._handle.result()
        except WorkflowFailureError as error:
            raise _read_error(error.cause) from None
        except RPCError as error:
            raise _as_run_error(error, self.id) from None
        return result

    def _read_end(self, result: Mapping[str, Any]) -> RunOutcome:
        """Return the outcome; raises `NoPlan` or `PlanError` for a run that had no plan."""
        refusal = result["refusal"]
        if "no_plan" in refusal:
            status, stopped_by, reason = refusal["no_plan"]
            raise NoPlan(Result(Status[status], StoppedBy[stopped_by], reason=reason))
        if refusal:
            raise PlanError(refusal["refused"])
        return self._make_outcome(unpack_entries(result["entries"]))

    def _make_outcome(self, entries: list[Entry]) -> RunOutcome:
        """Return the outcome by the events; raises `RunError` where these do not fit the domain of the executor."""
        try:
            return RunOutcome.of(self.id, self._executor.build_state(entries))
        except (ForethoughtError, LookupError, ValueError) as error:
            kind, data, _ = entries[-1]
            ended = load_json(data)["reason"] if kind == "RunEnded" else ""
            misfit = f"the run {self.id!r} is one of another domain: {error}"
            raise RunError(ended if is_lacking(ended) else "; ".join(filter(None, [misfit, ended]))) from error

    async def tell(
        self,
        *,
        answers: Mapping[str, Any] | None = None,
        results: Mapping[str, Any] | None = None,
        facts: Mapping[Atom, bool] | None = None,
        aim: Mapping[str, Any] | None = None,
    ) -> None:
        """Tell the run what it waits for; a run that nobody drives is taken up, and one that is over stays so."""
        await self.wait_until_begun()
        await self.take_up(answers=answers, results=results, facts=facts, aim=aim)

    async def take_up(
        self,
        *,
        answers: Mapping[str, Any] | None = None,
        results: Mapping[str, Any] | None = None,
        facts: Mapping[Atom, bool] | None = None,
        aim: Mapping[str, Any] | None = None,
    ) -> None:
        """Tell a run, begun before, what it waits for."""
        told = {
            "answers": make_plain(dict(answers or {})),
            "results": {step: _write_result(each) for step, each in (results or {}).items()},
            "facts": _write_facts(facts),
            "aim": aim,
        }
        await self._update("take_up", told)

    async def _update(self, name: str, *arguments: Any) -> Any:
        while True:
            try:
                return await self._handle.execute_update(name, args=arguments)
            except WorkflowUpdateFailedError as error:
                raise _read_error(error.cause) from None
            except RPCError as error:
                if not await self._is_over(error):
                    raise self._executor.explain(error) from None
                return None

    async def _is_over(self, error: RPCError) -> bool:
        """Return whether the run is over; raises `RunError` if there is none."""
        if error.status is not RPCStatusCode.NOT_FOUND:
            return False
        try:
            found = await self._handle.describe()
        except RPCError as other:
            raise _as_run_error(other, self.id) from None
        return found.close_time is not None

    async def answer(self, question: str, answer: Any) -> None:
        """Answer an open question; raises `RunError` for an unknown question, `InputError` for an invalid answer."""
        await self.tell(answers={question: answer})

    async def complete(self, step: str, result: Any = None) -> None:
        """Complete a waiting step; raises `RunError` if it does not wait, `InputError` for an invalid result."""
        await self.tell(results={step: result})

    async def report(self, facts: Mapping[Atom, bool]) -> None:
        """Report values of facts from outside; a run that nobody drives is taken up."""
        await self.tell(facts=facts)

    async def announce(self, event: str, result: Any = None) -> int:
        """Complete all steps that wait for `event`, or else the first that will; return how many wait."""
        await self.wait_until_begun()
        return int(await self._update("announce", event, _write_result(result)) or 0)

    async def change_goal(self, problem: Problem, reason: str = "", *, basis: Basis | None = None) -> None:
        """Change the goal of the run to that of `problem`, as `Run.change_goal` does; a parked run is taken up."""
        stated = ActionPlan(**statement_of(resolve_problem(problem)), basis=basis or Basis())
        await self.tell(aim={"plan": stated.model_dump(mode="json"), "reason": reason})

    async def cancel(self) -> None:
        """Call the run off: begin no more steps, and signal the handlers at work; does nothing if it is over."""
        await self._signal("cancel")

    async def interrupt(self) -> None:
        """Begin no more steps; when the steps at work are over, the run waits to be taken up."""
        await self._signal("interrupt")

    async def _signal(self, name: str) -> None:
        await self.wait_until_begun()
        try:
            await self._handle.signal(name)
        except RPCError as error:
            if not await self._is_over(error):
                raise self._executor.explain(error) from None

    async def events(self) -> AsyncIterator[Event]:
        """Yield the events of the run from the first on, until it is over or waits for somebody."""
        await self.wait_until_begun()
        known, is_last = 0, False
        while not is_last:
            told = await self._read(known)
            for kind, data, _ in unpack_entries(told["entries"]):
                known += 1
                yield event_from_data(kind, load_json(data))
            is_last = told["over"] or told["parked"]
            if not is_last:
                await asyncio.sleep(POLL)

    async def _read(self, since: int) -> Mapping[str, Any]:
        try:
            told: Mapping[str, Any] = await self._handle.query("told", since)
        except RPCError as error:
            raise _as_run_error(error, self.id) from None
        return told


def _write_result(result: Any) -> dict[str, Any]:
    """Return a result from outside as data; raises `InputError` for an invalid one."""
    return write_result(result if isinstance(result, ActionResult) else check_result(result))


def _is_passing(error: BaseException) -> bool:
    """Return whether an update failed for reasons that pass, and not because the workflow is over."""
    if isinstance(error, WorkflowUpdateRPCTimeoutOrCancelledError):
        return True
    return isinstance(error, RPCError) and error.status is not RPCStatusCode.NOT_FOUND


_ERRORS: Final[Mapping[str, Callable[[str], Exception]]] = {"InputError": InputError, "PlanError": PlanError}


def _read_error(cause: BaseException | None) -> Exception:
    """Return the error of ours that a workflow or one of its updates raised."""
    if isinstance(cause, ApplicationError):
        return _ERRORS.get(cause.type or "", RunError)(cause.message)
    return RunError(f"the workflow ended: {cause}")


def _as_run_error(error: RPCError, run: str) -> Exception:
    if error.status is RPCStatusCode.NOT_FOUND:
        return RunError(f"there is no run {run!r} on this server", hint="runs() tells those that there are")
    return RunError(f"the server of Temporal does not tell of {run!r}: {error.message}")
