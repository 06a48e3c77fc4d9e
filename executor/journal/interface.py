"""The interface of journals: what a file, a database, and the history of another executor have in common.

`RunHistory` is what can be read anywhere. `AnyJournal` is what an executor needs to drive runs: `Journal` keeps them in
a file, `PostgresJournal` in a database that several hosts share. `open_journal` opens either by its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, Self, TypeGuard

from executor.journal.posted_answers import PostedAnswers
from executor.journal.records import Document, Entry, NewEvent, RunRecord
from executor.journal.reservations import Reservations
from executor.ledger.records import Entry as LedgerEntry
from executor.ledger.records import Flight, Ledger, LedgerView
from executor.tools.clock import Clock


class RunHistory(Protocol):
    """The events of runs, wherever these were carried out."""

    @property
    def place(self) -> Path | str:
        """The file of the journal, or the address of its database without a password; for messages."""

    def read(self, run: str) -> Iterator[Entry]:
        """Yield the events of `run` in their order, including those that are appended meanwhile.

        Raises `NoRunError` without such a run; events that are yielded before an error are undamaged.
        """

    def runs(self) -> list[RunRecord]:
        """Return all runs in the order of their creation."""

    def iterate_first_events(self) -> Iterator[tuple[RunRecord, Entry | None]]:
        """Yield all runs in the order of their creation, each with its first event, or None before it has any."""


class SharedLocks(Protocol):
    """Named locks that all processes of one journal share; they end with the process that holds them."""

    def hold(self, name: str) -> bool:
        """Try to take the lock for this process; return whether this process has it."""

    def let_go(self, name: str) -> None:
        """Release the lock, if this process has it."""


class SharedRates(Protocol):
    """Start times of the steps that share a rate, in all processes of one journal."""

    def reserve(self, name: str, most: int, seconds: float, patience: float | None) -> tuple[int | None, float]:
        """Reserve the next start that leaves at most `most` in `seconds`; return its number, and in how many seconds.

        The number is None, and nothing is reserved, if it does not come within `patience` seconds.
        """

    def give_back(self, number: int) -> None:
        """Release a reserved start."""


class JournalLedger(Ledger, Protocol):
    """The ledger of effects of a journal, into which what it was not told of is filled once."""

    def is_filled(self, world: str) -> bool:
        """Return whether the runs from before the ledger are in it, for the irreversible actions of `world`."""

    def list_filled(self) -> frozenset[str]:
        """Return the names of what was filled in."""

    def fill(
        self,
        names: Collection[str],
        flights: Iterable[Flight],
        entries: Iterable[LedgerEntry],
        instead: Collection[str] = (),
    ) -> bool:
        """Add what runs have done and left in doubt, and note its `names` in place of those `instead`.

        Where somebody has noted one of them, change nothing and return False.
        """


class EffectHistory(RunHistory, Protocol):
    """The events of runs, and what their irreversible steps have done."""

    @property
    def clock(self) -> Clock:
        """The clock that all processes of this journal go by: the machine's for a file, or that of the database."""

    @property
    def reservations(self) -> Reservations:
        """What the runs of this journal have reserved of numbers that they share."""

    @property
    def ledger(self) -> LedgerView:
        """What irreversible steps of all runs of this journal have done; it outlives the runs."""

    def is_driven(self, run: str) -> bool:
        """Return whether some process drives `run`; raises `NoRunError` without such a run."""


class AnyJournal(EffectHistory, Protocol):
    """An append-only record of runs; one process at a time drives a run and appends to it.

    Each method commits before it returns. Threads may share a journal. Every method raises `JournalError`, and
    `DamagedError` if kept data are missing or changed.
    """

    @property
    def locks(self) -> SharedLocks:
        """The locks that all processes of this journal share."""

    @property
    def rates(self) -> SharedRates:
        """The start times of rated steps that all processes of this journal share."""

    @property
    def ledger(self) -> JournalLedger:
        """What irreversible steps of all runs of this journal have done; it outlives the runs."""

    @property
    def posted(self) -> PostedAnswers:
        """Answers that people have posted to runs, and that no driver has taken yet."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def close(self) -> None:
        """Stop driving runs, and close the journal; do nothing in a forked process."""

    def create(self, run: str) -> None:
        """Create a run without events; the name must be new, or that of a run without events."""

    def drive(self, run: str, *, move: str = "") -> AbstractContextManager[int]:
        """Drive `run`: become its only writer in all processes; yield its number of events.

        Raises `DrivenError` if it is driven already, `MovingError` if it is on another way than `move`.
        """

    def find_move(self, run: str) -> str:
        """Return "to PLACE" or "from PLACE" for a run on its way between two journals, "" for any other."""

    def set_move(self, run: str, move: str) -> None:
        """Keep the way on which a run is that is driven here: "to PLACE", "from PLACE", or "" at its end."""

    def follow(self, run: str) -> Iterator[Entry | None]:
        """Yield the events of `run` in their order, and None whenever there is no further one yet; raises as `read`."""

    def check(self, run: str) -> None:
        """Raise `FencedError` if another process has taken over `run`, which is driven here."""

    def token(self, run: str) -> int:
        """Return the fencing token of `run`, which is driven here: it grows each time that somebody takes it up."""

    def append(self, run: str, kind: str, data: str, *, status: str | None = None, at: float | None = None) -> int:
        """Append an event to a run that is driven here; return its number. A `status` is the new status of the run.

        `at` is its time in seconds since 1970; None: now, by `clock`. Raises `FencedError` if another process has taken
        it over.
        """

    def extend(self, run: str, events: Iterable[NewEvent], at: float | None = None) -> int:
        """Append events, all or none; return the number of the last one. Raises as `append`."""

    def restore(self, run: str, entries: Iterable[Entry]) -> None:
        """Append the events of another journal, with their times, to a run without events; all or none."""

    def free(self, statuses: Collection[str]) -> list[RunRecord]:
        """Return the runs with one of `statuses` that somebody may drive and nobody does, in the order of creation."""

    def delete(self, run: str, *, events: int | None = None, move: str = "") -> bool:
        """Delete `run` with its events, unless their number differs from `events`; return whether it is deleted.

        Its name is free again, and what it reserved; steps with a flight are left in doubt, and keep theirs.
        Raises as `drive`.
        """

    def logs(self) -> list[RunRecord]:
        """Return all logs in the order of their creation; they are created, driven and deleted as runs are."""

    def save_goal(self, name: str, data: str, *, status: str = "") -> None:
        """Save a version of a goal."""

    def save_plan(self, name: str, data: str, *, status: str = "") -> None:
        """Save a version of a plan."""

    def save_room(self, name: str, data: str) -> None:
        """Save a version of a room."""

    def goals(self) -> Iterator[Document]:
        """Yield the latest version of each goal, in the order of first saving."""

    def plans(self) -> Iterator[Document]:
        """Yield the latest version of each plan, in the order of first saving."""

    def rooms(self) -> Iterator[Document]:
        """Yield the latest version of each room, in the order of first saving."""


def is_journal(value: object) -> TypeGuard[AnyJournal]:
    """Return whether `value` is a journal, by the methods that an executor calls."""
    return all(callable(getattr(value, name, None)) for name in ("create", "drive", "append", "read", "runs"))
