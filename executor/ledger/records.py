"""What a ledger knows of an irreversible step, whichever run took it: its flight, and its entries.

`Ledger` is what runs ask of it: `LedgerInMemory` belongs to a world without a journal, and journals have others. The
identity of a step is a hash, so that the same step has the same idempotency key in every process and run.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Protocol

from executor.tools.json_data import dump_json_value, load_json
from planner.lightweight import dataclass, replace

WAITS: Final = "it waits for something from outside"
"""The doubt of a flight whose step waits: nobody can say whether it happened, and its run goes on with it."""
DIGITS: Final = 32
"""Hexadecimal digits of identities and keys: 128 bits."""


_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object is in memory, as Python's own texts of objects say."""


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
    was known to be over: until then its handler may have acted.
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


class LedgerView(Protocol):
    """What people see of a ledger, and how they settle what is in doubt; every method commits before it returns."""

    def doubt(self, flight: Flight) -> None:
        """Keep the doubt of `flight`, and since when it is over, if it is still the flight that there is."""

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


class LedgerInMemory:
    """The ledger of one world object: it is lost when its process ends."""

    def __init__(self) -> None:
        self._flights: dict[str, Flight] = {}
        self._entries: dict[str, list[Entry]] = {}
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
            return self._flights[flight.item]

    def doubt(self, flight: Flight) -> None:
        """Keep the doubt of `flight`, and since when it is over, if it is still the flight that there is."""
        with self._guard:
            known = self._flights.get(flight.item)
            if known is not None and known.is_same(flight):
                self._flights[flight.item] = replace(known, doubt=flight.doubt, until=flight.until)

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

    def flights(self) -> list[Flight]:
        """Return all flights, the oldest first."""
        with self._guard:
            return sorted(self._flights.values(), key=lambda each: each.since)

    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first."""
        with self._guard:
            return sorted((each for found in self._entries.values() for each in found), key=lambda each: each.at)


def identify_step(world: str, action: str, arguments: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return the identity of an irreversible step.

    `values` are those of data parameters that the request or the plan gave. The same value has the same identity in
    every process: 10, 10.0 and `Decimal("10.00")` are one number, and an address in the text of an object does not
    count.
    """
    return _hash_data([world, action, list(arguments), _normalise(values)])


def make_key(item: str, occasion: str, number: int) -> str:
    """Return the idempotency key of the entry with this `number` of the step `item` on an `occasion`."""
    return _hash_data([item, occasion, number])


def _normalise(value: Any) -> Any:
    """Return `value` in the form in which equal values are alike."""
    match value:
        case bool() | None:
            return value
        case int():
            return ["number", str(value)]
        case Decimal() if value.is_finite() and value == int(value):
            return _normalise(int(value))
        case Decimal() if value.is_finite():
            number = float(value)
            return _normalise(number) if Decimal(repr(number)) == value else f"{value.normalize():f}"
        case float() if math.isfinite(value):
            return ["number", str(int(value)) if value.is_integer() else repr(value)]
        case str():
            return _ADDRESS.sub("", value.encode("utf-8", "backslashreplace").decode())
        case Mapping():
            return {str(key): _normalise(each) for key, each in value.items()}
        case set() | frozenset():
            return sorted(map(_normalise, value), key=dump_json_value)
        case list() | tuple():
            return [_normalise(each) for each in value]
        case _:
            return _normalise(load_json(dump_json_value(value)))


def _hash_data(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:DIGITS]
