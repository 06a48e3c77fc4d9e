"""Read what Temporal keeps of runs: `TemporalJournal` tells their events as a journal does.

Whoever reads a journal reads this one: `run_page` of the viewer, `summary`, `learn`. A run that is over is read from
the result of its workflow; one that is not is asked for its events, which takes a worker for its world.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from temporalio.client import Client, RPCError, WorkflowExecutionStatus

from executor.errors import NoRunError, RunError
from executor.events.events import RunStatus
from executor.events.stored_runs import RunInfo
from executor.journal.records import Entry as JournalEntry
from executor.journal.records import RunRecord
from executor.journal.reservations import Reservations, ReservationsInMemory
from executor.ledger.records import Entry as Effect
from executor.ledger.records import Flight
from executor.temporal.connection import DEFAULT_NAMESPACE, connect, explain, name_place
from executor.temporal.effect_ledger import EFFECT, MEMO
from executor.temporal.run_events import (
    SilentError,
    list_workflows,
    number_entries,
    read_entries,
    read_last_entries,
)
from executor.temporal.shared_limits import find_closed
from executor.temporal.value_data import read_value, write_value
from executor.tools.clock import WALL, Clock
from executor.tools.json_data import load_json

ENDED: Final = {WorkflowExecutionStatus.CANCELED: "CANCELLED", WorkflowExecutionStatus.RUNNING: "PROPOSED"}
"""Status of a run of which nobody tells; others were ended by hand."""
Answer = TypeVar("Answer")


async def list_records(client: Client, queue: str = "") -> dict[str, tuple[RunRecord, str]]:
    """Return all runs by id, the oldest first, each with the id of its plan.

    A run of which no worker tells counts as PROPOSED, and one that was ended by hand as FAILED.
    """
    found, silent = {}, set[str]()
    for each in await list_workflows(client, queue):
        told: list[JournalEntry] = []
        try:
            if each.task_queue not in silent or each.close_time is not None:
                told = list(number_entries(await read_entries(client, each.id)))
        except SilentError as error:
            silent.add(error.queue)
        except RunError:  # it was deleted at this moment
            pass
        begun, end = each.start_time.timestamp(), ENDED.get(each.status or WorkflowExecutionStatus.FAILED, "FAILED")
        created, updated = (told[0].time, told[-1].time) if told else (begun, begun)
        record = RunRecord(each.id, created, updated, len(told), told[-1].status if told else end)
        plan = load_json(told[0].data)["plan"]["id"] if told else ""
        found[each.id] = record, plan
    return found


async def list_runs(client: Client, queue: str = "") -> dict[str, RunInfo]:
    """Return all runs by id, the oldest first."""
    return {
        run: RunInfo(run, plan, RunStatus[each.status or "PROPOSED"], each.created, each.updated, each.events)
        for run, (each, plan) in (await list_records(client, queue)).items()
    }


async def list_effects(client: Client) -> list[tuple[Flight | None, list[Effect]]]:
    """Return the flight and the latest entries of each irreversible step."""
    found = client.list_workflows(f'WorkflowType="{EFFECT}" AND ExecutionStatus="Running"')
    told = [await each.memo_value(MEMO, None) async for each in found]
    return [read_value(each) for each in told if each is not None]


class LedgerOnServer:
    """The ledger of all worlds on a server of Temporal, for people; news may be missing for a second."""

    def __init__(self, journal: TemporalJournal) -> None:
        self._journal = journal

    def doubt(self, flight: Flight) -> None:
        """Keep the doubt of `flight`, and since when it is over, if it is still the flight that there is."""
        self._journal.tell_effect(flight, "doubt", write_value(flight))

    def end(self, flight: Flight, entry: Effect | None) -> None:
        """End `flight`, if it is still the flight that there is, and add `entry` in the same moment."""
        self._journal.tell_effect(flight, "end", write_value(flight), write_value(entry))

    def flights(self) -> list[Flight]:
        """Return all flights, the oldest first."""
        found = [flight for flight, _ in self._journal.list_effects() if flight is not None]
        return sorted(found, key=lambda each: each.since)

    def entries(self) -> list[Effect]:
        """Return all entries, the oldest first."""
        return sorted([each for _, known in self._journal.list_effects() for each in known], key=lambda each: each.at)


class TemporalJournal:
    """The runs on the server at `address`, as a journal that can be read; `options` are those of `connect`.

    It is used from plain code, and connects in a thread of its own. With a `queue`, it has the runs of this task queue
    only. Raises as `connect` does, and each method `JournalError` where the server does not answer.
    """

    def __init__(self, address: str, *, queue: str = "", namespace: str = DEFAULT_NAMESPACE, **options: Any) -> None:
        self._place, self._queue = name_place(address, namespace), queue
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="forethought temporal")
        self._thread.start()
        try:
            self._client: Client = self._ask(connect(address, namespace=namespace, **options))
        except BaseException:
            self.close()
            raise

    @property
    def place(self) -> Path | str:
        """The address of the server, for messages."""
        return self._place

    @property
    def clock(self) -> Clock:
        """The clock of this machine."""
        return WALL

    @property
    def reservations(self) -> Reservations:
        """Nothing: runs on Temporal release what they have reserved when they hear what became of it."""
        return ReservationsInMemory()

    @property
    def ledger(self) -> LedgerOnServer:
        """What irreversible steps of all runs on the server have done."""
        return LedgerOnServer(self)

    def list_effects(self) -> list[tuple[Flight | None, list[Effect]]]:
        """Return the flight and the latest entries of each irreversible step."""
        return self._ask(list_effects(self._client))

    def tell_effect(self, flight: Flight, signal: str, *given: Any) -> None:
        """Tell the workflow of an irreversible step what became of its flight."""
        self._ask(self._client.get_workflow_handle(f"{EFFECT}-{flight.item}").signal(signal, args=given))

    def is_driven(self, run: str) -> bool:
        """Return whether `run` is open."""
        return not self._ask(find_closed(self._client, [run]))

    def _ask(self, question: Coroutine[Any, Any, Answer]) -> Answer:
        try:
            return asyncio.run_coroutine_threadsafe(question, self._loop).result()
        except RPCError as error:
            raise explain(error, self._place) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the server."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def read(self, run: str) -> Iterator[JournalEntry]:
        """Yield the events of `run` so far; raises `NoRunError` without such a run."""
        try:
            entries = self._ask(read_entries(self._client, run)) or self._ask(read_last_entries(self._client, run))
        except RunError as error:
            raise NoRunError(self.place, error.message, error.hint or "runs() tells those that there are") from None
        return number_entries(entries)

    def runs(self) -> list[RunRecord]:
        """Return all runs in the order of their creation; the newest may be missing for a second."""
        return [each for each, _ in self._ask(list_records(self._client, self._queue)).values()]

    def iterate_first_events(self) -> Iterator[tuple[RunRecord, JournalEntry | None]]:
        """Yield all runs in the order of their creation, each with its first event."""
        for each in self.runs():
            with contextlib.suppress(NoRunError):  # the server has forgotten it at this moment
                yield each, next(self.read(each.run), None) if each.events else None
