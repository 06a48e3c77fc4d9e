"""What a ledger knows of an irreversible step, whichever run took it: its flight, and its entries.

`Ledger` is what runs ask of it: `LedgerInMemory` belongs to a world without a journal, and journals have others.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection
from enum import Enum
from typing import Final, Protocol

from planner.lightweight import dataclass, replace

WAITS: Final = "it waits for something from outside"
"""The doubt of a flight whose step waits: nobody can say whether it happened, and its run goes on with it."""


class Outcome(Enum):
    """How a flight ended, or what a person decided."""

    DONE = "it was done"
    NOT_DONE = "it was not done"
    REFUSED = "it was refused"


@dataclass(frozen=True, slots=True)
class Flight:
    """The one attempt at an irreversible step that is under way, of all runs and processes.

    `item` is the identity of the step, `text` names it for people. `run` and `step` are its owner, and `since` is when
    it was taken, in seconds since 1970. With a `doubt`, the attempt is over and nobody can say whether it happened.
    `traces` is what observers saw right before it began, as JSON text: see `executor.loop.evidence`. `until` is when it
    was known to be over: until then its handler may have acted. `brings` is what the step brings about and is for, as
    the JSON text of a `Brought`: see `executor.loop.step_identity`. Its *marks* are the terms by which the ledger, as
    an inverted index, finds the step.
    """

    item: str
    text: str
    run: str
    step: str
    key: str
    since: float
    occasion: str = ""
    doubt: str = ""
    traces: str = ""
    until: float = 0.0
    brings: str = ""

    @property
    def is_waiting(self) -> bool:
        """Whether the handler has returned, and its step waits for something from outside."""
        return self.doubt == WAITS

    def is_same(self, other: Flight | None) -> bool:
        """Return whether `other` is this flight, whatever is known of it by now."""
        return other is not None and (self.item, self.run, self.step, self.since) == (
            other.item,
            other.run,
            other.step,
            other.since,
        )

    def is_of(self, run: str, step: str) -> bool:
        """Return whether this flight belongs to the step `step` of `run`."""
        return (self.run, self.step) == (run, step)


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of an irreversible step on an `occasion`, by which run and step, and `at` what time.

    A step that was done was `seen` to be done if an observer saw its effect; else its handler, or a person, said so.
    `brings` is what it is for, as in its flight.
    """

    item: str
    text: str
    outcome: Outcome
    run: str
    step: str
    key: str
    at: float
    occasion: str = ""
    seen: bool = False
    reason: str = ""
    brings: str = ""


def list_marks(record: Flight | Entry, instead: Flight | None = None) -> list[str]:
    """Return the marks of a step: steps for the same fact, or of the same action and objects, have one in common.

    With the flight `instead` of which it is taken, return none if the ledger has them already: both bring the same.
    """
    if not record.brings or (instead is not None and instead.brings == record.brings):
        return []
    return [str(each) for each in json.loads(record.brings)["marks"]]


class LedgerView(Protocol):
    """What people see of a ledger, and how they settle what is in doubt; every method commits before it returns."""

    def doubt(self, flight: Flight) -> None:
        """Keep the doubt of `flight`, since when it is over, and what it brings, if there is still this flight."""

    def end(self, flight: Flight, entry: Entry | None) -> None:
        """End `flight`, if it is still the flight that there is, and add `entry` in the same moment."""

    def flights(self) -> list[Flight]:
        """Return all flights, the oldest first."""

    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first."""


class Ledger(LedgerView, Protocol):
    """The flights and entries of all irreversible steps; every method is atomic."""

    def read(self, item: str) -> tuple[Flight | None, list[Entry]]:
        """Return the flight of a step, if there is one, and its entries, the oldest first."""

    def take(self, flight: Flight, instead: Flight | None = None) -> Flight:
        """Take a flight if there is none, or only the flight `instead`; return the flight that there is now."""

    def add(self, entry: Entry) -> None:
        """Add an entry without a flight."""

    def find_like(self, marks: Collection[str]) -> list[str]:
        """Return the identities of the steps that have one of the `marks`."""


class LedgerInMemory:
    """The ledger of one world object: it is lost when its process ends."""

    def __init__(self) -> None:
        self._flights: dict[str, Flight] = {}
        self._entries: dict[str, list[Entry]] = {}
        self._items: dict[str, dict[str, None]] = {}
        """The steps that have a mark, by mark."""
        self._guard = threading.Lock()

    def read(self, item: str) -> tuple[Flight | None, list[Entry]]:
        """Return the flight of a step, if there is one, and its entries, the oldest first."""
        with self._guard:
            return self._flights.get(item), list(self._entries.get(item, ()))

    def take(self, flight: Flight, instead: Flight | None = None) -> Flight:
        """Take a flight if there is none, or only the flight `instead`; return the flight that there is now."""
        with self._guard:
            known = self._flights.get(flight.item)
            if known is None or known.is_same(instead):
                self._flights[flight.item] = flight
                self._mark(flight, instead)
            return self._flights[flight.item]

    def doubt(self, flight: Flight) -> None:
        """Keep the doubt of `flight`, since when it is over, and what it brings, if there is still this flight."""
        with self._guard:
            known = self._flights.get(flight.item)
            if known is not None and known.is_same(flight):
                self._flights[flight.item] = replace(flight, traces=known.traces)

    def end(self, flight: Flight, entry: Entry | None) -> None:
        """End `flight`, if it is still the flight that there is, and add `entry` in the same moment."""
        with self._guard:
            if flight.is_same(self._flights.get(flight.item)):
                del self._flights[flight.item]
                if entry is not None:
                    self._entries.setdefault(entry.item, []).append(entry)

    def add(self, entry: Entry) -> None:
        """Add an entry without a flight."""
        with self._guard:
            self._entries.setdefault(entry.item, []).append(entry)
            self._mark(entry)

    def find_like(self, marks: Collection[str]) -> list[str]:
        """Return the identities of the steps that have one of the `marks`."""
        with self._guard:
            return list(dict.fromkeys(item for mark in marks for item in self._items.get(mark, ())))

    def _mark(self, record: Flight | Entry, instead: Flight | None = None) -> None:
        for mark in list_marks(record, instead):
            self._items.setdefault(mark, {})[record.item] = None

    def flights(self) -> list[Flight]:
        """Return all flights, the oldest first."""
        with self._guard:
            return sorted(self._flights.values(), key=lambda each: each.since)

    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first."""
        with self._guard:
            return sorted((each for found in self._entries.values() for each in found), key=lambda each: each.at)
