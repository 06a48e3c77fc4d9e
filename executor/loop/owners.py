"""Find out what became of flights whose owners are other runs: at work, over, broken off, or never begun.

The events of a run in the journal say it, whatever its process could still do. Without a journal, all runs are in this
process, and say themselves how they end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from executor.errors import NoRunError
from executor.events.events import Event, StepEnded, StepReturned, StepStarted, StepWaiting, event_from_data
from executor.journal.interface import AnyJournal
from executor.ledger.records import WAITS, Entry, Flight, Outcome
from executor.loop.clearance import LOST, entry_of, outcome_of
from executor.tools.json_data import load_json
from planner.errors import InputError
from planner.lightweight import dataclass, replace

GONE: Final = "its run was deleted"
WORDS: Final = {"happened": Outcome.DONE, "not": Outcome.NOT_DONE}
"""What people say of an attempt in doubt."""


class OwnersHere:
    """The runs of this process: each settles its own flights, and none can die without it."""

    async def settle(self, flight: Flight) -> Flight | None:
        """Return `flight`: nobody else can settle it."""
        return flight

    def is_at_work(self, flight: Flight) -> bool:
        """Return whether nobody has said that `flight` is in doubt."""
        return not flight.doubt


@dataclass(slots=True, eq=False)
class OwnersInJournal:
    """The runs of `journal`, in all its processes."""

    journal: AnyJournal

    def is_at_work(self, flight: Flight) -> bool:
        """Return whether some process drives the run that has `flight`."""
        try:
            return self.journal.is_driven(flight.run)
        except NoRunError:
            return False

    async def settle(self, flight: Flight) -> Flight | None:
        """Settle a flight whose run nobody drives, by its events; return what is left of it."""
        return self.settle_now(flight)

    def settle_now(self, flight: Flight) -> Flight | None:
        """Settle a flight as `settle` does."""
        if self.is_at_work(flight):
            return flight
        left, entry = read_fate(flight, self._read_events)
        if left is None:
            self.journal.ledger.end(flight, entry)
        elif left.doubt != flight.doubt:
            self.journal.ledger.doubt(flight, left.doubt)
        return left

    def _read_events(self, run: str) -> list[tuple[Event, float]]:
        return [(event_from_data(each.kind, load_json(each.data)), each.time) for each in self.journal.read(run)]


def list_doubtful(journal: AnyJournal) -> list[Flight]:
    """Return the flights of `journal`, with the doubt of those whose run nobody drives any more, the oldest first."""
    owners, found = OwnersInJournal(journal), []
    for flight in journal.ledger.flights():
        left = flight if flight.doubt else owners.settle_now(flight)
        found += [] if left is None else [left]
    return found


def settle_by_word(journal: AnyJournal, flights: Iterable[Flight], id_: str, word: str) -> None:
    """Settle the flight in doubt whose identity begins with `id_`, as somebody says; raises `InputError`."""
    found = [each for each in flights if id_ and each.item.startswith(id_)]
    if len(found) != 1:
        many = "several steps" if found else "no step"
        raise InputError(
            f"{many} under way or in doubt begin with {id_!r}", hint="`forethought runs ledger` lists them"
        )
    if not found[0].doubt or found[0].is_waiting:
        raise InputError(f"{found[0].text} is at work in run {found[0].run!r}", hint="wait until it is over")
    if word not in WORDS:
        raise InputError(f"{word!r} does not say whether it happened", hint=f"say {' or '.join(WORDS)}")
    outcome = WORDS[word]
    entry = entry_of(found[0], outcome, journal.clock.time(), seen=False, reason="somebody settled it in the ledger")
    journal.ledger.end(found[0], entry)
    journal.reservations.release(found[0].run, found[0].step)


def read_fate(
    flight: Flight, read_events: Callable[[str], list[tuple[Event, float]]]
) -> tuple[Flight | None, Entry | None]:
    """Return what is left of a flight whose run nobody drives, and the entry that ends it, if anything was done."""
    try:
        events = read_events(flight.run)
    except NoRunError:
        return replace(flight, doubt=GONE), None
    has_begun, left, entry = False, flight, None
    for event, at in events:
        match event:
            case StepStarted(step, _, _, key) if (step, key) == (flight.step, flight.key):
                has_begun, left = True, replace(flight, doubt=LOST)
            case StepWaiting(step, wait) if has_begun and step == flight.step and "question" not in wait:
                left = replace(flight, doubt=WAITS)
            case StepReturned(step) if has_begun and step == flight.step:
                left = replace(flight, doubt=LOST)
            case StepEnded(step) if has_begun and step == flight.step:
                outcome = outcome_of(event.status, repeatable=event.repeatable, denied=event.denied)
                left = replace(flight, doubt=event.reason or LOST)
                entry = (
                    None if outcome is None else entry_of(flight, outcome, at, seen=event.is_seen, reason=event.reason)
                )
    if not has_begun or entry is not None:
        return None, entry
    return left, None
