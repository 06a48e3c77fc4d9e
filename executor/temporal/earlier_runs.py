"""Fill the ledger on Temporal with what runs have done and left in doubt that it was not told of, once for each world.

These are the runs from before it, and the steps of actions that only a later version of the domain calls irreversible.

`EarlierRuns.fill` does so in a worker before it tells the ledger anything, or asks it. Marks of the world and its
actions in the ledger say that it was done.
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
from executor.loop.past_effects import find_past_effects, find_unread, name_actions
from executor.temporal.effect_ledger import EffectsOnServer
from executor.temporal.run_events import list_workflows, number_entries, read_entries, read_last_entries
from executor.tools.world import World

_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class EarlierRuns:
    """The runs of a world of which its ledger was not told all, on the server of `client`."""

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
        model, world = self.world.model, self.world.first_name
        filled, names = await self.book.list_filled(), {world, *name_actions(model, world)}
        is_told_of = world in filled and not (filled - {world} and find_unread(filled, model, world))
        if not is_told_of and not await self._read_runs(filled):
            return
        await self.book.note_filled(names - filled)

    async def _read_runs(self, filled: frozenset[str]) -> bool:
        """Add what runs have done that the `filled` ledger was not told of; return whether all could be read."""
        model, world = self.world.model, self.world.first_name
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
        journal, labels = cast("AnyJournal", _Past(told, filled)), (self.world.label, *self.world.earlier_names)
        await self._add(*find_past_effects(journal, model, world, labels))
        if unknown:
            what = "what these runs from before the ledger have done is not known: %s; nobody tells of them"
            _LOG.warning(what, ", ".join(unknown))
        return not unknown

    async def _list(self) -> list[WorkflowExecution]:
        """Return the runs of this world, and those from before the ledger of this domain."""
        found, labels = list[WorkflowExecution](), {self.world.label, *self.world.earlier_names}
        for each in await list_workflows(self.client):
            memo: Mapping[str, Any] = await each.memo()
            is_early = "request" not in memo and memo.get("domain") == self.world.model.name
            if is_early or memo.get("world") in labels:
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
    filled: frozenset[str]

    @property
    def ledger(self) -> _Past:
        """The ledger: nothing."""
        return self

    def list_filled(self) -> frozenset[str]:
        """Return the names of what was filled in."""
        return self.filled

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
