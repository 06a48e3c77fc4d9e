"""Find runs on Temporal, and read their events: from the result of one that is over, else from a worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from temporalio.client import (
    Client,
    RPCError,
    WorkflowExecution,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowQueryFailedError,
)
from temporalio.service import RPCStatusCode

from executor.errors import RunError
from executor.journal.records import Entry as JournalEntry
from executor.temporal.value_data import Entry, unpack_entries
from executor.tools.json_data import load_json

WORKFLOW: Final = "forethought-run"
"""Name of the type of the workflows of runs."""
_STARTS: Final = {"RunStarted": "ACTIVE", "RunResumed": "ACTIVE"}
NOBODY: Final = frozenset({
    RPCStatusCode.FAILED_PRECONDITION,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.CANCELLED,
    RPCStatusCode.ABORTED,
})  # fmt: skip
"""Statuses of a question that no worker has answered."""
ANSWERS: Final = timedelta(seconds=10)
"""Longest time until a worker tells of a run."""


class SilentError(RunError):
    """No worker tells of a run that is not over; `queue` is the task queue that it should serve."""

    def __init__(self, run: str, queue: str) -> None:
        hint = f"start one for its world, which serves the queue {queue!r}"
        super().__init__(f"no worker tells of the run {run!r}", hint=hint)
        self.queue = queue


async def read_entries(client: Client, run: str) -> list[Entry]:
    """Return the events of a run: from its result if it is over, else from a worker; raises `RunError`."""
    handle = client.get_workflow_handle(run)
    try:
        described = await handle.describe()
        if described.status is WorkflowExecutionStatus.COMPLETED:
            result: Mapping[str, Any] = await handle.result()
            return unpack_entries(result["entries"])
        if described.close_time is not None:
            return []
        told: Mapping[str, Any] = await handle.query("told", rpc_timeout=ANSWERS)
    except WorkflowFailureError:
        return []
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND and "amespace" not in error.message:
            raise RunError(f"there is no run {run!r} on this server") from None
        if error.status not in NOBODY:
            raise
        raise SilentError(run, described.task_queue) from None
    return unpack_entries(told["entries"])


async def read_last_entries(client: Client, run: str) -> list[Entry]:
    """Return the events of a run that is over, also of one that was ended by hand; none if nobody can tell."""
    try:
        found = await read_entries(client, run)
        if not found:
            told: Mapping[str, Any] = await client.get_workflow_handle(run).query("told", rpc_timeout=ANSWERS)
            found = unpack_entries(told["entries"])
    except (RunError, RPCError, WorkflowQueryFailedError):
        return []
    return found


def find_status(entry: Entry, before: str) -> str:
    """Return the name of the status of a run after an event, and `before` it."""
    kind, data, _ = entry
    return str(load_json(data)["status"]) if kind == "RunEnded" else _STARTS.get(kind, before)


def number_entries(entries: list[Entry]) -> Iterator[JournalEntry]:
    """Yield events as a journal does: numbered, each with the status of the run after it."""
    status = ""
    for number, entry in enumerate(entries, 1):
        kind, data, time = entry
        status = find_status(entry, status)
        yield JournalEntry(number, time, kind, data, status)


async def list_workflows(client: Client, queue: str = "") -> list[WorkflowExecution]:
    """Return the latest workflow of each run, the oldest first."""
    query = f'WorkflowType="{WORKFLOW}"' + (f' AND TaskQueue="{queue}"' if queue else "")
    found: dict[str, WorkflowExecution] = {}
    async for each in client.list_workflows(query):
        if each.id not in found or found[each.id].start_time < each.start_time:
            found[each.id] = each
    return sorted(found.values(), key=lambda each: each.start_time)
