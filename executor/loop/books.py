"""Keep the book of a run: the ledger of its world or journal, and what became of flights whose owners are other runs.

The events of a run in the journal say it, whatever its process could still do. Without a journal, all runs are in this
process, and say themselves how they end.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from executor.errors import NoRunError
from executor.events.events import (
    Event,
    RunEnded,
    StepEnded,
    StepReturned,
    StepStarted,
    StepStatus,
    StepWaiting,
    event_from_data,
)
from executor.journal.effects import GONE
from executor.journal.interface import AnyJournal, EffectHistory
from executor.ledger.records import WAITS, Entry, Flight, Ledger, Outcome
from executor.loop.asker import BY_WORD
from executor.loop.flights import LOST, entry_of, name_end, outcome_of
from executor.loop.locks_and_rates import find_pause
from executor.tools.json_data import load_json
from planner.errors import InputError
from planner.lightweight import replace

WORDS: Final = {"happened": Outcome.DONE, "not": Outcome.NOT_DONE}
"""What people say of an attempt in doubt."""


_BOOKS: Final[weakref.WeakKeyDictionary[Ledger, weakref.WeakSet[BookHere]]] = weakref.WeakKeyDictionary()
"""The books of the ledgers in this process: a book is gone with its executor."""


class BookHere:
    """A ledger for the runs of this process: each settles its own flights, and none can die without it."""

    tells_changes = False

    def __init__(self, ledger: Ledger, *, owns_names: bool = False) -> None:
        self.ledger, self.owns_names = ledger, owns_names
        self._taken: dict[str, Flight] = {}
        """The flights that runs of this book have taken: another executor may have a run of the same name."""
        _BOOKS.setdefault(ledger, weakref.WeakSet()).add(self)

    async def read(self, item: str) -> tuple[Flight | None, list[Entry]]:
        """Return the flight of a step, if there is one, and its entries, the oldest first."""
        return self.ledger.read(item)

    async def take(self, flight: Flight, instead: Flight | None = None) -> Flight:
        """Take a flight if there is none, or only the flight `instead`; return the flight that there is now."""
        taken = self.ledger.take(flight, instead)
        if taken.is_same(flight):
            self._taken[flight.item] = taken
        return taken

    async def find_like(self, marks: Collection[str]) -> list[str]:
        """Return the identities of the steps that have one of the `marks`."""
        return self.ledger.find_like(marks)

    async def find_own(self, run: str, _: Collection[str]) -> list[Flight]:
        """Return the flights that `run` has, or an earlier run of its name."""
        found = [each for each in self.ledger.flights() if each.run == run]
        return [each for each in found if self.owns_names or self.has_taken(each)]

    def has_taken(self, flight: Flight) -> bool:
        """Return whether a run of this book has taken `flight`."""
        return flight.is_same(self._taken.get(flight.item))

    async def settle(self, flight: Flight) -> Flight | None:
        """Settle a flight of another run whose step is over; return the flight that is left, with its doubt if any."""
        return self._find_left(flight)

    def _find_left(self, flight: Flight) -> Flight | None:
        """Return what is left of an open flight: it is in doubt if the executor that has taken it is gone."""
        if self.owns_names or any(each.has_taken(flight) for each in _BOOKS[self.ledger]):
            return flight
        left = replace(flight, doubt=GONE, until=time.time())
        self.ledger.doubt(left)
        return left

    async def is_at_work(self, flight: Flight) -> bool:
        """Return whether nobody has said that `flight` is in doubt."""
        return not flight.doubt

    async def wait_for_change(self, _: Flight, waited: float) -> None:
        """Wait until a flight of another run may have changed, for which somebody has `waited`."""
        await asyncio.sleep(find_pause(waited))

    def is_free(self, item: str) -> bool:
        """Return whether no step that waits for something from outside has the flight of a step."""
        flight, _ = self.ledger.read(item)
        left = self._find_left(flight) if flight is not None and flight.is_waiting else flight
        return left is None or not left.is_waiting

    def doubt(self, flight: Flight) -> None:
        """Keep the doubt of `flight`, since when it is over, and what it brings, if there is still this flight."""
        self.ledger.doubt(flight)

    def end(self, flight: Flight, entry: Entry | None) -> None:
        """End `flight`, if it is still the flight that there is, and add `entry` in the same moment."""
        self.ledger.end(flight, entry)

    def add(self, entry: Entry) -> None:
        """Add an entry without a flight."""
        self.ledger.add(entry)


class BookInJournal(BookHere):
    """The ledger of a journal, for its runs in all processes."""

    def __init__(self, journal: AnyJournal) -> None:
        super().__init__(journal.ledger, owns_names=True)
        self._journal = journal

    async def is_at_work(self, flight: Flight) -> bool:
        """Return whether some process drives the run that has `flight`."""
        return is_driven(self._journal, flight)

    def _find_left(self, flight: Flight) -> Flight | None:
        """Settle a flight whose run nobody drives, by its events; return what is left of it."""
        return settle_by_events(self._journal, flight)


def is_driven(journal: EffectHistory, flight: Flight) -> bool:
    """Return whether some process drives the run that has `flight`."""
    try:
        return journal.is_driven(flight.run)
    except NoRunError:
        return False


def settle_by_events(journal: EffectHistory, flight: Flight) -> Flight | None:
    """Settle a flight whose run nobody drives, by its events; return what is left of it."""
    if is_driven(journal, flight):
        return flight
    left, entry = read_fate(flight, lambda run: list(read_events(journal, run)))
    if left is None:
        journal.ledger.end(flight, entry)
        journal.reservations.release(flight.run, flight.step)
    elif left.doubt != flight.doubt:
        left = replace(left, until=left.until or journal.clock.time())
        journal.ledger.doubt(left)
    return left


def read_events(journal: EffectHistory, run: str) -> Iterator[tuple[Event, float]]:
    """Yield the events of a run in `journal`, with their times in seconds since 1970; raises `JournalError`."""
    return ((event_from_data(each.kind, load_json(each.data)), each.time) for each in journal.read(run))


def list_begun(events: Iterable[tuple[Event, float]]) -> list[str]:
    """Return the steps of a run that nobody drives which have begun and are not over; none of a run that is over."""
    found = dict[str, None]()
    for event, _ in events:
        match event:
            case StepStarted(step):
                found[step] = None
            case StepEnded(step, status) if status is not StepStatus.IN_DOUBT:
                found.pop(step, None)
            case RunEnded(status) if status.is_over:
                found.clear()
    return list(found)


def list_doubtful(journal: EffectHistory, flights: Iterable[Flight]) -> list[Flight]:
    """Return `flights` of `journal`, with the doubt of those whose run nobody drives any more."""
    found = [each if each.doubt else settle_by_events(journal, each) for each in flights]
    return [each for each in found if each is not None]


def settle_by_word(journal: EffectHistory, flights: Iterable[Flight], id_: str, word: str) -> Flight:
    """Settle the flight in doubt whose identity begins with `id_`, as somebody says; return it; raises `InputError`."""
    found = [each for each in flights if id_ and each.item.startswith(id_)]
    if len(found) != 1:
        many = "several steps have IDs" if found else "no step under way or in doubt has an ID"
        raise InputError(
            f"{many} that begin{'' if found else 's'} with {id_!r}", hint="`forethought runs ledger` lists them"
        )
    if not found[0].doubt or found[0].is_waiting:
        raise InputError(f"{found[0].text} is at work in run {found[0].run!r}", hint="wait until it is over")
    if word not in WORDS:
        raise InputError(f"{word!r} does not say whether it happened", hint=f"say {' or '.join(WORDS)}")
    outcome = WORDS[word]
    entry = entry_of(found[0], outcome, journal.clock.time(), seen=False, reason=BY_WORD)
    journal.ledger.end(found[0], entry)
    journal.reservations.release(found[0].run, found[0].step)
    return found[0]


def read_fate(
    flight: Flight, read_events: Callable[[str], list[tuple[Event, float]]]
) -> tuple[Flight | None, Entry | None]:
    """Return what is left of a flight whose run nobody drives, and the entry that ends it, if anything was done."""
    try:
        events = read_events(flight.run)
    except NoRunError:
        events = []
    if not events:
        return replace(flight, doubt=GONE), None
    has_begun, left, entry = False, flight, None
    for event, at in events:
        match event:
            case StepStarted(step, _, _, key) if (step, key) == (flight.step, flight.key):
                has_begun, left, entry = True, replace(flight, doubt=LOST), None
            case StepWaiting(step, wait) if has_begun and step == flight.step and "question" not in wait:
                left = replace(flight, doubt=WAITS)
            case RunEnded(status) if has_begun and status.is_over and left.is_waiting:
                left = replace(flight, doubt=name_end(status), until=at)
            case StepReturned(step) if has_begun and step == flight.step:
                left = replace(flight, doubt=LOST)
            case StepEnded(step) if has_begun and step == flight.step:
                outcome = outcome_of(event.status, repeatable=event.repeatable, denied=event.denied)
                left = replace(flight, doubt=event.reason or LOST, until=at)
                entry = (
                    None if outcome is None else entry_of(flight, outcome, at, seen=event.is_seen, reason=event.reason)
                )
    if not has_begun or entry is not None:
        return None, entry
    return left, None
