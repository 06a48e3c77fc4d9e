"""Keep the ledger of effects on Temporal: a workflow for each irreversible step has its flight and its entries.

`StepEffect` is that workflow; others of its kind name the steps that have a mark. It begins with the first request
about a step, whichever run and host that comes from, and stays as long as it knows anything: entries outlive runs. All
workers of a world serve it, on a task queue of its own. `WorkflowBook` is what a run reads and writes it by: requests
are local activities, so that they are replayed, and `EffectsOnServer` carries them out in the worker. Who waits for a
flight is signalled when it changes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from temporalio import workflow
from temporalio.client import Client, RPCError
from temporalio.exceptions import FailureError
from temporalio.service import RPCStatusCode

from executor.events.events import event_from_data
from executor.ledger.records import Entry, Flight, LedgerInMemory, list_marks
from executor.loop.books import read_fate
from executor.temporal.entity_workflows import ASKING, Entity, Outbox, is_long
from executor.temporal.run_events import read_last_entries
from executor.temporal.shared_limits import find_closed
from executor.temporal.value_data import read_value, write_value
from executor.tools.json_data import load_json
from planner.lightweight import replace

EFFECT: Final = "forethought-effect"
"""Name of the type of these workflows, and the beginning of their ids."""
IDLE: Final = timedelta(minutes=1)
"""Time without a flight or an entry after which the workflow ends."""
MOST_EVENTS = 2000
"""Events of Temporal after which it goes on in a new history, if Temporal does not suggest it before."""
DOUBT = 30.0
"""Seconds without news of a flight after which a run looks whether the owner of the flight still exists."""
SIMULATED_PAUSE: Final = 1.0
"""Polling interval for a flight in a simulated world, in seconds."""
MEMO: Final = "ledger"
"""Name of the field of the memo that shows flight and entries."""
AT_ONCE: Final = 50
"""Most marks that the server is asked about at once."""
MOST_SHOWN: Final = 20
"""Most entries that the memo shows, the latest: a memo holds 32 KB."""
CALLS: Final = frozenset({"read", "take", "doubt", "end", "add", "watch", "settle", "is_at_work", "find_like"})
"""What a run may ask of the ledger."""


def name_effects(world: str) -> str:
    """Return the task queue on which the workers of a world serve its ledger."""
    return f"forethought-effects-{world}"


@workflow.defn(name=EFFECT)
class StepEffect:
    """The flight and the entries of one irreversible step."""

    @workflow.init
    def __init__(self, given: dict[str, Any]) -> None:
        self._ledger = LedgerInMemory()
        self._watchers: dict[str, Flight] = {}
        """The flight that each waiting run knows."""
        self._items: list[str] = []
        """The steps that have this mark, if it is that of a mark."""
        flight, entries, watchers, self._items = read_value(given["state"]) if given else (None, (), {}, [])
        if flight is not None:
            self._ledger.take(flight)
        for each in entries:
            self._ledger.add(each)
        self._watchers |= watchers
        self._shown: tuple[Flight | None, list[Entry]] = (None, [])
        """What the memo of the workflow says."""

    @workflow.run
    async def run(self, given: dict[str, Any]) -> None:
        """Tell waiting runs of each change, until nothing is known."""
        del given
        while await self._wait():
            for run in self._find_due():
                await self._tell(run)
            if self._shown != self._known:
                self._show()
            if is_long(MOST_EVENTS):
                workflow.continue_as_new({"state": write_value((*self._known, self._watchers, self._items))})

    async def _wait(self) -> bool:
        """Wait for something to do; return False if nothing is known for a while."""
        await workflow.wait_condition(lambda: self._has_news or is_long(MOST_EVENTS) or self._is_empty)
        if self._is_empty and not self._watchers:
            with suppress(TimeoutError):
                await workflow.wait_condition(lambda: bool(self._watchers) or not self._is_empty, timeout=IDLE)
        return bool(self._watchers) or not self._is_empty

    @property
    def _known(self) -> tuple[Flight | None, list[Entry]]:
        return next(iter(self._ledger.flights()), None), self._ledger.entries()

    @property
    def _has_news(self) -> bool:
        return bool(self._find_due()) or self._shown != self._known

    @property
    def _is_empty(self) -> bool:
        return self._known == (None, []) and not self._items

    def _show(self) -> None:
        """Write into the memo, which people read without a worker, what is known."""
        flight, entries = self._shown = self._known
        shown = None if flight is None else replace(flight, traces="", brings="")
        workflow.upsert_memo({MEMO: write_value((shown, entries[-MOST_SHOWN:]))})

    def _find_due(self) -> list[str]:
        """Return the waiting runs that know another flight than there is."""
        flight, _ = self._known
        return [run for run, known in self._watchers.items() if known != flight]

    async def _tell(self, run: str) -> None:
        """Tell a run that the flight has changed; forget the run, which may be over."""
        flight = self._watchers.pop(run)
        with suppress(FailureError):
            await workflow.get_external_workflow_handle(run).signal("flight_changed", flight.item)

    @workflow.update
    def take(self, flight: Any, instead: Any) -> Any:
        """Take the flight if there is none, or only `instead`; return the flight that there is now."""
        return write_value(self._ledger.take(read_value(flight), read_value(instead)))

    @workflow.signal
    def doubt(self, flight: Any, reason: str = "") -> None:
        """Keep the doubt of `flight`, or the `reason` that an earlier version gave."""
        found = read_value(flight)
        self._ledger.doubt(replace(found, doubt=reason) if reason else found)

    @workflow.signal
    def end(self, flight: Any, entry: Any) -> None:
        """End `flight`, and add `entry` in the same moment."""
        self._ledger.end(read_value(flight), read_value(entry))

    @workflow.signal
    def add(self, entry: Any) -> None:
        """Add an entry, once: a request may be repeated."""
        added = read_value(entry)
        if added not in self._ledger.entries():
            self._ledger.add(added)

    @workflow.signal
    def mark(self, item: str) -> None:
        """Note that a step has this mark."""
        if item not in self._items:
            self._items.append(item)

    @workflow.query
    def items(self) -> list[str]:
        """Return the steps that have this mark."""
        return self._items

    @workflow.signal
    def watch(self, run: str, flight: Any) -> None:
        """Tell `run`, once, when the flight is another than this one."""
        self._watchers[run] = read_value(flight)

    @workflow.query
    def told(self) -> Any:
        """Return the flight, if there is one, and the entries, the oldest first."""
        return write_value(self._known)


class WorkflowBook:
    """The ledger as the run of a workflow reads and writes it; what is written is sent before anything is read.

    `is_at_hand` tells that the ledger is that of a simulated world, which is in the worker and tells no changes.
    """

    owns_names = True
    tells_changes = True

    def __init__(self, run: str, *, is_at_hand: bool) -> None:
        self._run, self._is_at_hand = run, is_at_hand
        self._outbox = Outbox(lambda request: _ask_by_activity(*request))
        self._watched: dict[str, Flight] = {}
        """Flights of other runs whose change has not been told."""
        self.moves: Callable[[str], None] = lambda _: None
        """Called while the run waits: it may have to go on in another workflow."""

    async def _ask(self, of: str, *given: Any) -> Any:
        await self.finish()
        return await _ask_by_activity(of, *given)

    async def read(self, item: str) -> tuple[Flight | None, list[Entry]]:
        """Return the flight of a step, if there is one, and its entries, the oldest first."""
        flight, entries = await self._ask("read", item)
        self._watched.pop(item, None)
        if flight is not None and flight.is_waiting and flight.run != self._run:
            self._watch(flight)
        return flight, entries

    async def take(self, flight: Flight, instead: Flight | None = None) -> Flight:
        """Take a flight if there is none, or only the flight `instead`; return the flight that there is now."""
        taken: Flight = await self._ask("take", flight, instead)
        return taken

    async def find_like(self, marks: Collection[str]) -> list[str]:
        """Return the identities of the steps that have one of the `marks`."""
        return list(await self._ask("find_like", list(marks)))

    async def find_own(self, run: str, items: Collection[str]) -> list[Flight]:
        """Return the flights that `run` has of the steps `items`."""
        found = [(await self.read(each))[0] for each in dict.fromkeys(items)]
        return [each for each in found if each is not None and each.run == run]

    async def settle(self, flight: Flight) -> Flight | None:
        """Settle a flight whose run is over by its events; return the flight that is left, with its doubt if any."""
        left: Flight | None = await self._ask("settle", flight)
        return left

    async def is_at_work(self, flight: Flight) -> bool:
        """Return whether the run that has this flight is still at it."""
        return bool(await self._ask("is_at_work", flight))

    async def wait_for_change(self, flight: Flight, _: float) -> None:
        """Wait until a flight of another run may have changed."""
        self._watch(flight)
        pause = SIMULATED_PAUSE if self._is_at_hand else DOUBT
        with suppress(TimeoutError):
            await workflow.wait_condition(lambda: flight.item not in self._watched, timeout=pause)
        self.moves("")

    def _watch(self, flight: Flight) -> None:
        self._watched[flight.item] = flight
        if not self._is_at_hand:
            self._outbox.send("watch", self._run, flight)

    def hear(self, item: str) -> None:
        """Hear that the flight of a step has changed."""
        self._watched.pop(item, None)

    def look_again(self) -> None:
        """Take every flight for one that may have changed: somebody takes the run up."""
        self._watched.clear()

    def is_free(self, item: str) -> bool:
        """Return whether the flight of a step may have changed since it was seen to wait for something from outside."""
        return item not in self._watched

    def doubt(self, flight: Flight) -> None:
        """Keep the doubt of `flight`, since when it is over, and what it brings, if there is still this flight."""
        self._outbox.send("doubt", flight)

    def end(self, flight: Flight, entry: Entry | None) -> None:
        """End `flight`, if it is still the flight that there is, and add `entry` in the same moment."""
        self._outbox.send("end", flight, entry)

    def add(self, entry: Entry) -> None:
        """Add an entry without a flight."""
        self._outbox.send("add", entry)

    async def finish(self) -> None:
        """Wait until the ledger has heard all."""
        await self._outbox.finish()


async def _ask_by_activity(of: str, *given: Any) -> Any:
    told = [of, write_value(list(given))]
    return read_value(await workflow.execute_local_activity("keep_book", args=told, start_to_close_timeout=ASKING))


class EffectsOnServer:
    """The ledger of a world on a server of Temporal, for a worker; `is_performing` tells of steps in this process."""

    def __init__(self, client: Client, world: str, is_performing: Callable[[tuple[str, str]], bool]) -> None:
        self._client, self._queue, self._is_performing = client, name_effects(world), is_performing
        self._world = world

    def _find(self, record: Flight | Entry) -> Entity:
        return Entity(EFFECT, f"{EFFECT}-{record.item}", self._queue, record.text)

    async def _tell(self, record: Flight | Entry, signal: str, *given: Any) -> None:
        await self._find(record).tell(self._client, signal, [write_value(each) for each in given])

    async def read(self, item: str) -> tuple[Flight | None, list[Entry]]:
        """Return the flight of a step, if there is one, and its entries, the oldest first."""
        told = await self._query(item, "told")
        flight, entries = (None, []) if told is None else read_value(told)
        return flight, entries

    async def _query(self, item: str, what: str) -> Any:
        """Return what the workflow of a step or a mark says; None without one."""
        try:
            return await self._client.get_workflow_handle(f"{EFFECT}-{item}").query(what, rpc_timeout=ASKING)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return None

    async def take(self, flight: Flight, instead: Flight | None) -> Flight:
        """Take a flight if there is none, or only the flight `instead`; return the flight that there is now."""
        given = [write_value(flight), write_value(instead)]
        await self._mark(flight, instead)
        taken: Flight = read_value(await self._find(flight).ask(self._client, "take", given))
        return taken

    async def doubt(self, flight: Flight) -> None:
        """Keep the doubt of `flight`, since when it is over, and what it brings, if there is still this flight."""
        await self._tell(flight, "doubt", flight)

    async def end(self, flight: Flight, entry: Entry | None) -> None:
        """End `flight`, if it is still the flight that there is, and add `entry` in the same moment."""
        await self._tell(flight, "end", flight, entry)

    async def add(self, entry: Entry) -> None:
        """Add an entry without a flight."""
        await self._mark(entry)
        await self._tell(entry, "add", entry)

    async def find_like(self, marks: Collection[str]) -> list[str]:
        """Return the identities of the steps that have one of the `marks`."""
        waiting, found = [*marks], list[Any]()
        while waiting:
            now, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
            found += await asyncio.gather(*[self._query(mark, "items") for mark in now])
        return list(dict.fromkeys(item for items in found for item in items or ()))

    async def _mark(self, record: Flight | Entry, instead: Flight | None = None) -> None:
        for mark in list_marks(record, instead):
            of_mark = Entity(EFFECT, f"{EFFECT}-{mark}", self._queue, f"for the same as {record.text}")
            await of_mark.tell(self._client, "mark", [record.item])

    async def list_filled(self) -> frozenset[str]:
        """Return the names of what was filled in: the world stands for what runs from before the ledger have done."""
        found = await self.find_like([self._filled])
        return frozenset([self._world if each == self._filled else each for each in found])

    async def note_filled(self, names: Collection[str]) -> None:
        """Note the names of what was filled in."""
        kept = Entity(EFFECT, f"{EFFECT}-{self._filled}", self._queue, "what runs from before the ledger have done")
        items = [self._filled if name == self._world else name for name in names]
        await asyncio.gather(*[kept.tell(self._client, "mark", [each]) for each in items])

    @property
    def _filled(self) -> str:
        """The mark of a world whose earlier runs were read."""
        return f"earlier-runs-{self._world}"

    async def watch(self, run: str, flight: Flight) -> None:
        """Have `run` told, once, when the flight is another than this one."""
        await self._tell(flight, "watch", run, flight)

    async def is_at_work(self, flight: Flight) -> bool:
        """Return whether the run that has `flight` is open, or its handler is at work in this process."""
        if self._is_performing((flight.run, flight.step)):
            return True
        return not await find_closed(self._client, [flight.run])

    async def settle(self, flight: Flight) -> Flight | None:
        """Settle a flight whose run is over by its events; return what is left of it."""
        if await self.is_at_work(flight):
            return flight
        told = await read_last_entries(self._client, flight.run)
        events = [(event_from_data(kind, load_json(data)), at) for kind, data, at in told]
        left, entry = read_fate(flight, lambda _: events)
        if left is None:
            await self.end(flight, entry)
        elif left.doubt != flight.doubt:
            left = replace(left, until=left.until or time.time())
            await self.doubt(left)
        return left
