"""What journals keep: events of runs, saved documents, and their checksums.

The checksum of each event includes those of all events before it, so that a missing or changed event shows at the next
one. CRC-32 (Peterson and Brown, 1961) costs about a microsecond an event and misses one accidental change in 4 billion;
it does not protect against forgery. A chain cannot show that its last events are missing: journals keep how many there
were.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from executor.errors import JournalError
from planner.lightweight import dataclass

LOG_PREFIX: Final = "log:"
"""Beginning of the names of logs: these hold events of other things than runs."""
Durability = Literal["process", "power"]
"""What a committed event survives: the end of processes, or also a power failure."""
Sort = Literal["goal", "plan", "room"]
Row = tuple[int, int, float, str, str, str, int]
"""Row of an event: run, seq, time, kind, data, status of the run, checksum."""
NewEvent = tuple[str, str, str | None]
"""Kind, data, and the new status of the run; None leaves it as it is."""
DELETED: Final = 0.0
"""Creation time in the row of a deleted run."""
NO_JOURNAL: Final = "forethought run … --journal PLACE makes one"
"""Hint where a journal is looked for and there is none."""
MANY: Final = 8
"""Number of latest runs that an error about an unknown run names."""


class Entry(NamedTuple):
    """An event of a run; `seq` counts from 1, `time` is in seconds since 1970, `status` is that of the run after it."""

    seq: int
    time: float
    kind: str
    data: str
    status: str = ""


class RunRecord(NamedTuple):
    """A run: when it was created and last written (seconds since 1970), how many `events`, and its last status.

    `move` is "to PLACE" or "from PLACE" while the run is on its way from one journal to another.
    """

    run: str
    created: float
    updated: float
    events: int
    status: str
    move: str = ""


class Document(NamedTuple):
    """A goal, plan or room in its latest version; `time` is in seconds since 1970."""

    name: str
    time: float
    status: str
    data: str


def compute_first_checksum(number: int, name: str, created: float) -> int:
    """Compute the checksum of a run without events; raises `UnicodeEncodeError` for half a surrogate pair."""
    return zlib.crc32(f"{number} {created!r} {name}".encode())


def compute_next_checksum(previous: int, seq: int, time: float, event: tuple[str, str, str]) -> int:
    """Compute the checksum of an event (kind, data, status) after the event with the checksum `previous`.

    Raises `UnicodeEncodeError` as `compute_first_checksum`.
    """
    kind, data, status = event
    return zlib.crc32(f"{seq} {time!r} {kind} {status} {data}".encode(), previous)


def compute_document_checksum(number: int, sort: Sort, document: Document) -> int:
    """Compute the checksum of a document; raises `UnicodeEncodeError` as `compute_first_checksum`."""
    name, time, status, data = document
    return zlib.crc32(f"{number} {sort} {time!r} {status} {name} {data}".encode())


def check_same(place: Path | str, run: str, kept: Iterable[Entry], entries: Iterable[Entry]) -> None:
    """Raise `JournalError` if `run` in the journal at `place` has other events than `entries`."""
    if list(kept) != list(entries):
        raise JournalError(place, f"there is already another run {run!r}", "delete it first")


@dataclass(slots=True)
class RunHead:
    """State of a run after an event; `token` is the fencing token of whoever drives it."""

    name: str
    number: int
    seq: int
    time: float
    status: str
    checksum: int
    token: int = 0

    def follow(self, row: Row) -> bool:
        """Advance to the event in `row`; return whether it is the next one, and unchanged."""
        _, seq, self.time, kind, data, self.status, checksum = row
        self.seq += 1
        self.checksum = compute_next_checksum(self.checksum, self.seq, self.time, (kind, data, self.status))
        return (seq, checksum) == (self.seq, self.checksum)

    def make_rows(self, events: Iterable[NewEvent], stamp: float) -> Iterator[Row]:
        """Yield the rows of `events` after the last event of the run, with the time `stamp`."""
        checksum, status = self.checksum, self.status
        for seq, (kind, data, changed) in enumerate(events, self.seq + 1):
            status = status if changed is None else changed
            checksum = compute_next_checksum(checksum, seq, stamp, (kind, data, status))
            yield self.number, seq, stamp, kind, data, status, checksum

    def copy_rows(self, entries: Iterable[Entry]) -> Iterator[Row]:
        """Yield the rows of `entries`, the first events of the run, with their times."""
        checksum = self.checksum
        for each in entries:
            checksum = compute_next_checksum(checksum, each.seq, each.time, (each.kind, each.data, each.status))
            yield self.number, each.seq, each.time, each.kind, each.data, each.status, checksum

    def move_to(self, row: Row) -> None:
        """Advance to the event in `row`, which was appended here."""
        _, self.seq, self.time, _, _, self.status, self.checksum = row
