"""Fill the ledger on Temporal with what runs from before it have done and left in doubt, once for each world.

`EarlierRuns.fill` does so in a worker before it tells the ledger anything, or asks it. A mark of the world in the
ledger says that it was done. Runs that have the ledger say in their memo what they were asked for; all others are read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from temporalio.client import Client, WorkflowExecution

from executor.errors import RunError
from executor.journal.interface import AnyJournal
from executor.journal.records import Entry as JournalEntry
from executor.journal.records import RunRecord
from executor.ledger.records import Entry, Flight
from executor.loop.past_effects import find_past_effects
from executor.temporal.effect_ledger import EffectsOnServer
from executor.temporal.run_events import list_workflows, number_entries, read_entries, read_last_entries
from executor.tools.world import World

_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class EarlierRuns:
    """The runs of a world from before its ledger, on the server of `client`."""

    client: Client
    world: World
    book: EffectsOnServer
    _filling: asyncio.Task[None] | None = field(init=False, default=None)

    async def fill(self) -> None:
        """Fill the ledger, unless that was done before; whoever comes meanwhile waits, and none breaks it off."""
        if self._filling is None or (self._filling.done() and self._filling.exception() is not None):
            self._filling = asyncio.ensure_future(self._fill())
        await asyncio.shield(self._filling)

    async def _fill(self) -> None:
        if await self.book.is_filled():
            return
        told, unknown = dict[str, list[JournalEntry]](), list[str]()
        for each in await self._list():
            try:
                entries = await read_entries(self.client, each.id) or await read_last_entries(self.client, each.id)
            except RunError:  # nobody tells of it
                entries = []
            if entries:
                told[each.id] = list(number_entries(entries))
            else:
                unknown.append(each.id)
        journal = cast("AnyJournal", _Past(told))
        await self._add(*find_past_effects(journal, self.world.model, self.world.first_name))
        if unknown:
            what = "what these runs from before the ledger have done is not known: %s; nobody tells of them"
            _LOG.warning(what, ", ".join(unknown))
        else:
            await self.book.note_filled()

    async def _list(self) -> list[WorkflowExecution]:
        """Return the runs of this domain whose memo does not say what they were asked for."""
        found = []
        for each in await list_workflows(self.client):
            memo: Mapping[str, Any] = await each.memo()
            if "request" not in memo and memo.get("domain") == self.world.model.name:
                found.append(each)
        return found

    async def _add(self, flights: Iterable[Flight], entries: Iterable[Entry]) -> None:
        """Add what the ledger does not know of the runs."""
        for entry in entries:
            flight, known = await self.book.read(entry.item)
            if entry.run not in {each.run for each in (flight, *known) if each is not None}:
                await self.book.add(entry)
        for each in flights:
            flight, known = await self.book.read(each.item)
            if flight is None and each.run not in {entry.run for entry in known}:
                await self.book.take(each, None)


@dataclass(frozen=True, slots=True)
class _Past:
    """The events of runs, as a journal whose ledger knows nothing yet."""

    told: Mapping[str, list[JournalEntry]]

    @property
    def ledger(self) -> _Past:
        """The ledger: nothing."""
        return self

    def list_filled(self) -> frozenset[str]:
        """Return that nobody has filled it."""
        return frozenset()

    def flights(self) -> list[Flight]:
        """Return that it knows no flights."""
        return []

    def entries(self) -> list[Entry]:
        """Return that it knows no entries."""
        return []

    def runs(self) -> list[RunRecord]:
        """Return the runs."""
        return [RunRecord(run, *(each[0].time, each[-1].time), len(each), "") for run, each in self.told.items()]

    def read(self, run: str) -> Iterator[JournalEntry]:
        """Yield the events of a run."""
        return iter(self.told[run])
