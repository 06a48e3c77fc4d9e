"""Find the run at work for an equal request: `RequestMark` is a workflow that names it as long as it is at work.

Its id is made of the request, so that there is one at a time: whoever begins it begins the run, and all others join
that run. It keeps the name of the run in its memo, which needs no worker. The run ends it when it is over, or waits
for somebody; where the run could not, as it was terminated, the next request does.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from temporalio import workflow
from temporalio.client import Client, RPCError, WorkflowQueryFailedError
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import FailureError, WorkflowAlreadyStartedError
from temporalio.service import RPCStatusCode

from executor.temporal.entity_workflows import PAUSE

MARK: Final = "forethought-request"
"""Name of the type of these workflows, and the beginning of their ids."""
RUN: Final = "run"
"""Name of the field of the memo that names the run."""
ANSWERING: Final = timedelta(seconds=2)
"""Time for a worker to say whether a run is at work."""
BEGINNING: Final = 10.0
"""Seconds after which who has begun a mark, and not the run, counts as dead."""


@workflow.defn(name=MARK)
class RequestMark:
    """Names the run at work for a request; it ends when that run says so."""

    def __init__(self) -> None:
        self._ended: set[str] = set()

    @workflow.run
    async def run(self, run: str) -> None:
        """Wait until `run` is over, or waits for somebody."""
        await workflow.wait_condition(lambda: run in self._ended)

    @workflow.signal
    def end(self, run: str) -> None:
        """Hear that `run` is over, or waits for somebody."""
        self._ended.add(run)


async def end_mark(mark: str, run: str) -> None:
    """Say, in the workflow of `run`, that requests do not join it any more."""
    with suppress(FailureError):  # it was terminated
        await workflow.get_external_workflow_handle(mark).signal("end", run)


@dataclass(frozen=True, slots=True)
class SharedRequest:
    """A request that equal ones join: `stem` is made of what it is for, and workers serve its mark on `queue`."""

    client: Client
    queue: str
    stem: str

    @property
    def mark(self) -> str:
        """The id of the workflow that names the run at work."""
        return f"{MARK}-{self.stem}"

    async def begin(self, run: str, start: Callable[[], Awaitable[Any]]) -> str:
        """Begin `run` by `start`, unless there is a run at work for an equal request; return which it is."""
        while not await self._begin_mark(run):
            found = await self._find_at_work()
            if found:
                return found
        try:
            await start()
        except BaseException:
            with suppress(RPCError):  # somebody has ended it
                await self.client.get_workflow_handle(self.mark).signal("end", run)
            raise
        return run

    async def _begin_mark(self, run: str) -> bool:
        """Begin the mark of `run`; return False where there is a mark already."""
        try:
            await self.client.start_workflow(
                MARK,
                run,
                id=self.mark,
                task_queue=self.queue,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                memo={RUN: run},
                static_summary=f"equal requests join {run}",
            )
        except WorkflowAlreadyStartedError:
            return False
        return True

    async def _find_at_work(self) -> str:
        """Return the run that the mark names, if it is at work; end the mark if not."""
        described = await self.client.get_workflow_handle(self.mark).describe()
        if described.close_time is not None:
            return ""
        run, until = str(await described.memo_value(RUN)), time.monotonic() + BEGINNING
        while (is_at_work := await is_run_at_work(self.client, run)) is None and time.monotonic() < until:  # noqa: ASYNC110 - whoever begins it tells nobody
            await asyncio.sleep(PAUSE)
        if is_at_work:
            return run
        with suppress(RPCError):  # it has ended meanwhile
            await self.client.get_workflow_handle(self.mark, run_id=described.run_id).terminate(f"{run} is not at work")
        return ""


async def is_run_at_work(client: Client, run: str) -> bool | None:
    """Return whether a run is neither over nor waiting, as far as anybody says; None if there is no such run."""
    handle = client.get_workflow_handle(run)
    try:
        if (await handle.describe()).close_time is not None:
            return False
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return None
    with suppress(RPCError, WorkflowQueryFailedError):  # no worker has it yet
        told = await handle.query("told", sys.maxsize, rpc_timeout=ANSWERING)
        return not (told["parked"] or told["over"])
    return True
