"""Reach workflows that keep what runs share: each begins with the first request, and goes on as long as it has to.

Who asks outside of a workflow uses an `Entity`. A run, which may only do what is replayed, has an `Outbox`, whose
requests are local activities.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from temporalio import workflow
from temporalio.client import (
    Client,
    RPCError,
    WithStartWorkflowOperation,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCStatusCode

ASKING: Final = timedelta(seconds=30)
"""Time limit of one request, which is repeated."""
PASSING: Final = frozenset({
    RPCStatusCode.RESOURCE_EXHAUSTED,
    RPCStatusCode.NOT_FOUND,
    RPCStatusCode.ABORTED,
    RPCStatusCode.UNAVAILABLE,
})  # fmt: skip
"""Statuses of a request that came while too many others did, or while the workflow began anew."""
PAUSE: Final = 0.2
"""Pause before such a request is repeated, in seconds."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A workflow of type `kind` on a task queue, whose id names what it keeps."""

    kind: str
    id: str
    queue: str
    summary: str

    @property
    def _begin(self) -> dict[str, Any]:
        """Options with which the workflow begins, unless it is there already."""
        return {
            "id": self.id,
            "task_queue": self.queue,
            "id_conflict_policy": WorkflowIDConflictPolicy.USE_EXISTING,
            "static_summary": self.summary,
        }

    async def tell(self, client: Client, signal: str, arguments: list[Any]) -> None:
        """Signal the workflow, and begin it if there is none."""
        options = {"start_signal": signal, "start_signal_args": arguments, **self._begin}
        await client.start_workflow(self.kind, {}, **options)

    async def ask(self, client: Client, update: str, arguments: list[Any]) -> Any:
        """Return the answer of the workflow to an update, and begin it if there is none."""
        while True:
            begin: Any = WithStartWorkflowOperation(self.kind, {}, **self._begin)
            request: Callable[..., Any] = client.execute_update_with_start_workflow
            try:
                return await request(update, args=arguments, start_workflow_operation=begin)
            except WorkflowUpdateRPCTimeoutOrCancelledError:  # no worker drives the workflow at this moment
                continue
            except RPCError as error:
                if error.status not in PASSING:
                    raise
                await asyncio.sleep(PAUSE)


def is_long(most: int) -> bool:
    """Return whether this workflow should go on in a new history: Temporal suggests it, or it has `most` events."""
    info = workflow.info()
    return info.is_continue_as_new_suggested() or info.get_current_history_length() > most


@dataclass(slots=True, eq=False)
class Outbox:
    """Requests that a workflow sends by `deliver`, one after the other, without waiting for them."""

    deliver: Callable[[list[Any]], Awaitable[None]]
    _unsent: deque[list[Any]] = field(init=False, default_factory=deque)
    _sender: asyncio.Task[None] | None = field(init=False, default=None)

    def send(self, *request: Any) -> None:
        """Send a request after those before it."""
        self._unsent.append(list(request))
        if self._sender is None:
            self._sender = asyncio.ensure_future(self._send_all())

    async def finish(self) -> None:
        """Wait until all requests are sent."""
        await workflow.wait_condition(lambda: not self._unsent)

    async def _send_all(self) -> None:
        while True:
            await workflow.wait_condition(lambda: bool(self._unsent))
            await self.deliver(self._unsent[0])
            self._unsent.popleft()
