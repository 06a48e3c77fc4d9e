"""Carry out the runs of one world: `TemporalWorker`, an asynchronous context manager around workers of Temporal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from datetime import timedelta
from typing import Any, Final, Literal, Self

from temporalio.client import Client
from temporalio.worker import Worker

from executor.learning.experience import Experience
from executor.loop.parameters import Fill
from executor.recovery.ask_people import Callback
from executor.report.live import Follower, Listener
from executor.run import ModelAccess
from executor.temporal.activities import WorldActivities
from executor.temporal.effect_ledger import StepEffect, name_effects
from executor.temporal.joined_requests import RequestMark
from executor.temporal.outside import HostRunner
from executor.temporal.plan_run import PlanRun
from executor.temporal.shared_limits import SharedLimits
from executor.tools.world import World
from planner.errors import InputError

DEADLOCK_SECONDS: Final = 30.0
"""Longest work of a workflow without a pause, in seconds: reading a plan of ten thousand steps takes some."""
THROTTLE: Final = timedelta(seconds=1)
"""Shortest time between two heartbeats that reach the server, and so until a handler hears that it is called off."""


def name_queue(world: World) -> str:
    """Return the default task queue of the runs of `world`."""
    return f"forethought-{world.name}"


def check_learned(learned: object) -> None:
    """Raise `InputError` if `learned` is no experience: nobody reads all runs of a server for each search."""
    if learned is not False and not isinstance(learned, Experience):
        raise InputError(f"learned must be an Experience, got {learned!r}", hint="learned=learn(TemporalJournal(…))")


_serving: Final[dict[tuple[object, ...], tuple[Worker, list[None]]]] = {}
"""The workers of ledgers in this process, by client and task queue, each with an item for everyone who needs it."""


@asynccontextmanager
async def _serve_effects(client: Client, queue: str, runner: HostRunner) -> AsyncIterator[None]:
    """Serve the ledger of a world, and the marks of requests, on `queue`.

    Temporal wants one such worker of a client, whoever needs it.
    """
    key = client.service_client, client.namespace, queue
    if key not in _serving:
        worker = Worker(client, task_queue=queue, workflows=[StepEffect, RequestMark], workflow_runner=runner)
        _serving[key] = worker, []
        await worker.__aenter__()
    worker, users = _serving[key]
    users.append(None)
    try:
        yield
    finally:
        users.pop()
        if not users:
            await _serving.pop(key)[0].__aexit__(None, None, None)


class TemporalWorker:
    """Serves the task queue of `world`, and `queues` beside it, while its context is open; or for ever by `run`.

    With `runs` False it performs steps only, such as those that `TemporalExecutor(queues=…)` sends to a machine with
    what they need; workflows, observers and searches are left to the others. `permit`, `approve`, `ask` and `fill` are
    callbacks as of `Executor`, and `model_client` is its `client`. `learned` is an `Experience` that searches go by.
    `listeners` are told the events of the runs that this worker drives, each once.
    `kind` makes the activities; `options` are those of `temporalio.worker.Worker`.
    """

    def __init__(
        self,
        world: World,
        client: Client,
        queue: str = "",
        *,
        queues: Iterable[str] = (),
        runs: bool = True,
        permit: Callback = None,
        approve: Callback = None,
        ask: Callback = None,
        fill: Fill | None = None,
        learned: Experience | Literal[False] = False,
        model_client: ModelAccess | None = None,
        listeners: Iterable[Listener | Follower] = (),
        kind: type[WorldActivities] = WorldActivities,
        **options: Any,
    ) -> None:
        queue = queue or name_queue(world)
        check_learned(learned)
        self.activities = kind(
            world,
            f"{client.namespace}/{queue}",
            permit=permit,
            approve=approve,
            ask=ask,
            fill=fill,
            learned=learned,
            client=model_client,
            listeners=listeners,
            server=client,
        )
        self._workers = [self._make_worker(client, queue, [PlanRun, SharedLimits] if runs else [], options)]
        self._workers += [
            self._make_worker(client, each, [], options) for each in dict.fromkeys(queues) if each != queue
        ]
        self._effects: AbstractAsyncContextManager[None] = nullcontext()
        if runs:
            self._effects = _serve_effects(client, name_effects(world.first_name), HostRunner(self.activities))
        self._stack = AsyncExitStack()

    def _make_worker(self, client: Client, queue: str, workflows: list[type], options: dict[str, Any]) -> Worker:
        made = Worker(
            client,
            task_queue=queue,
            activities=self.activities.list_all(),
            workflows=workflows,
            workflow_runner=HostRunner(self.activities),
            **{"max_heartbeat_throttle_interval": THROTTLE, **options},
        )
        driving: Any = getattr(made, "_workflow_worker", None)
        if hasattr(driving, "_deadlock_timeout_seconds"):  # Temporal has no public name for it
            driving._deadlock_timeout_seconds = DEADLOCK_SECONDS  # noqa: SLF001
        return made

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._effects)  # it ends last: runs ask to the end
        for each in self._workers:
            await self._stack.enter_async_context(each)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def run(self) -> None:
        """Serve until the task is cancelled."""
        async with self:
            await asyncio.Event().wait()
