"""Keep the events of runs, and saved goals, plans and rooms, in one append-only file; several processes may use it.

SQLite finds damage to the structure of its file, not to its content: that is what the checksums of `records.py` find.
`locks.py` keeps how many events each run has.

Deleting a run removes its events and keeps an empty row with its number, so that numbers have no gaps. The triggers
that keep the tables append-only are dropped and made again within the transaction that deletes: no other connection
ever sees the tables without them.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from executor.errors import DamagedError, JournalError, NoRunError, RunExists
from executor.journal.driven_runs import DrivenRuns
from executor.journal.effects import LedgerInJournal, leave_in_doubt
from executor.journal.locks import RESTORE, LockFile
from executor.journal.moves import MovesInJournal, check_move
from executor.journal.posted_answers import PostedAnswersInJournal
from executor.journal.rates import RatesInJournal
from executor.journal.records import (
    DELETED,
    LOG_PREFIX,
    MANY,
    Document,
    Durability,
    Entry,
    NewEvent,
    Row,
    RunHead,
    RunRecord,
    Sort,
    check_same,
    compute_document_checksum,
    compute_first_checksum,
    compute_next_checksum,
)
from executor.journal.reservations import Reservations, ReservationsInJournal
from executor.journal.store import TRIGGERS, Store
from executor.tools.clock import WALL, Clock
from planner.errors import did_you_mean
from planner.lightweight import replace

_LIFTED: Final = ("events_last", "runs_stay")
"""Triggers that prevent deleting events and changing the row of a run."""


def delete_events(connection: sqlite3.Connection, number: int) -> None:
    """Delete the events, name and time of run `number`, within a transaction of the caller."""
    for trigger in _LIFTED:
        connection.execute(f"DROP TRIGGER {trigger}")
    name = f"deleted {uuid4().hex}"
    connection.execute("DELETE FROM events WHERE run = ?", (number,))
    connection.execute(
        "UPDATE runs SET name = ?, created = ?, checksum = ? WHERE number = ?",
        (name, DELETED, compute_first_checksum(number, name, DELETED), number),
    )
    for trigger in _LIFTED:
        connection.execute(TRIGGERS[trigger])


_INSERT: Final = "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)"
_NEXT: Final = "SELECT * FROM documents WHERE number > ? ORDER BY number LIMIT 1"


def insert_document(connection: sqlite3.Connection, sort: Sort, document: Document) -> int:
    """Append `document` within a transaction; return its number. Raises `sqlite3.Error` and `UnicodeEncodeError`."""
    ((last,),) = connection.execute("SELECT ifnull(max(number), 0) FROM documents")
    number: int = last + 1
    connection.execute(_INSERT, (number, sort, *document, compute_document_checksum(number, sort, document)))
    return number


def find_newest_documents(connection: sqlite3.Connection, sort: Sort) -> tuple[list[int], int] | None:
    """Find the newest document of each name; return their numbers, ordered by first saving, and the last number of all.

    Return None if some document is missing or changed; missing ones at the end go unnoticed here.
    """
    found: dict[str, int] = {}
    last = 0
    for number, kind, document, checksum in _iterate_document_rows(connection):
        last += 1
        if number != last or checksum != compute_document_checksum(number, kind, document):
            return None
        if kind == sort:
            found[document.name] = number
    return list(found.values()), last


def read_document(connection: sqlite3.Connection, number: int) -> Document:
    """Read the document with this `number`, which must exist."""
    return Document(*connection.execute(_NEXT, (number - 1,)).fetchone()[2:-1])


def _iterate_document_rows(connection: sqlite3.Connection) -> Iterator[tuple[int, Sort, Document, int]]:
    """Yield all rows, one query each: rows may be large, and a long read would keep SQLite from emptying the log."""
    number = 0
    while row := connection.execute(_NEXT, (number,)).fetchone():
        number, sort, *document, checksum = row
        yield number, sort, Document(*document), checksum


_BATCH: Final = 64
_APPEND: Final = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"
_EVENTS: Final = f"SELECT * FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT {_BATCH}"  # noqa: S608 - a number
_LENGTHS: Final = """SELECT number, name, (SELECT max(seq) FROM events WHERE run = runs.number)
    FROM runs NOT INDEXED WHERE created <> 0 ORDER BY number"""
_LAST: Final = "SELECT * FROM events WHERE run = ? ORDER BY seq DESC LIMIT 2"
_RUNS: Final = f"""SELECT runs.number, name, created, runs.checksum, before.checksum, last.*, first.*
    FROM (SELECT *, (SELECT max(seq) FROM events WHERE run = number) AS seq
        FROM runs NOT INDEXED WHERE number > ? ORDER BY number LIMIT {_BATCH}) AS runs
    LEFT JOIN events AS last ON last.run = number AND last.seq = runs.seq
    LEFT JOIN events AS before ON before.run = number AND before.seq = runs.seq - 1
    LEFT JOIN events AS first ON first.run = number AND first.seq = ? ORDER BY number"""  # noqa: S608 - a number
"""Runs after a number, each with the checksum of the event before the last, the last event, and one by its number."""


class Journal(DrivenRuns):
    """An append-only record of runs in the file `path`, created if there is none; its folder must exist.

    Each method commits before it returns. With `durability="process"`, events survive the end of every process, also by
    `kill -9`; a power failure may lose the last events, and the next `drive` or `read` reports that if it can. With
    `"power"`, each append waits for the disk (milliseconds).

    Threads may share a journal. Every method raises `JournalError`, and `DamagedError` if kept data are missing or
    changed.
    """

    restoring = RESTORE

    def __init__(self, path: str | os.PathLike[str], durability: Durability = "process") -> None:
        self.path = Path(path).absolute()
        if durability not in ("process", "power"):
            raise JournalError(self.path, f"durability {durability!r} is unknown", "say 'process' or 'power'")
        if str(path) == ":memory:":
            raise JournalError(self.path, "a journal is a file", "run without a journal to keep nothing")
        self._store = Store(self.path, power=durability == "power")
        self._driven: dict[str, RunHead] = {}
        self._last_read: dict[int, tuple[int, str]] = {}
        """Number of events and status, by number of the run, when `free` read it last."""
        self._moves = MovesInJournal(self._store)
        self.rates: Final = RatesInJournal(self._store)
        """The start times of rated steps, which all processes of this journal share."""
        self.reservations: Reservations = ReservationsInJournal(self._store)
        """What the runs of this journal have reserved of numbers that they share."""
        self.ledger: Final = LedgerInJournal(self._store)
        """What irreversible steps of all runs have done; it outlives the runs."""
        self.posted: Final = PostedAnswersInJournal(self._store)
        """Answers that people have posted to runs, and that no driver has taken yet."""

    @property
    def clock(self) -> Clock:
        """The clock that all processes of this journal go by: that of the machine."""
        return WALL

    @property
    def place(self) -> Path:
        """The file of the journal."""
        return self.path

    @property
    def locks(self) -> LockFile:
        """The locks that all processes of this journal share."""
        return self._store.locks

    def close(self) -> None:
        """Stop driving runs, and close the file; do nothing in a forked process."""
        if self._store.is_ours:
            for run in list(self._driven):
                self._release(run)
            self._store.close()

    def create(self, run: str) -> None:
        """Create a run without events; the name must be new, or that of a run without events."""
        with self._store.use():
            self._store.check_file()
            with self._store.transaction():
                if self._store.connection.execute("SELECT 1 FROM runs WHERE name = ?", (run,)).fetchone():
                    if self._read_to_end(self._find_run(run)[0]).seq == 0:
                        return
                    raise RunExists(run, place=self.path, hint="resume it, or take another name")
                ((last,),) = self._store.connection.execute("SELECT ifnull(max(number), 0) FROM runs")
                created = self.clock.time()
                row = (last + 1, run, created, compute_first_checksum(last + 1, run, created))
                self._store.connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?)", row)
            self._store.locks.add_slot(last + 1)

    @contextlib.contextmanager
    def drive(self, run: str, *, move: str = "") -> Iterator[int]:
        """Drive `run`: become its only writer in all processes; yield its number of events.

        Raises `DrivenError` if it is driven already, `MovingError` if it is on another way than `move`.
        """
        with self._store.use():
            self._store.check_file()
            at, _ = self._find_run(run)
            self._store.locks.take(at.number, run)
            try:
                check_move(self.path, run, self._moves.read(at.number), move)
                self._driven[run] = self._read_to_end(at)
                at.token = at.seq + 1  # whoever takes a run up appends to it
            except BaseException:
                self._store.locks.release(at.number)
                raise
            events = at.seq
        try:
            yield events
        finally:
            if self._store.is_ours:
                self._release(run)

    def find_move(self, run: str) -> str:
        """Return "to PLACE" or "from PLACE" for a run on its way between two journals, "" for any other."""
        with self._store.use():
            return self._moves.read(self._find_run(run)[0].number)

    def set_move(self, run: str, move: str) -> None:
        """Keep the way on which a run is that is driven here: "to PLACE", "from PLACE", or "" at its end."""
        with self._store.use(), self._store.safe_transaction():
            self._moves.keep(self._find_driven(run).number, move)

    def check(self, run: str) -> None:
        """Do nothing: nobody can take a run over while its process exists, as the operating system keeps its lock."""

    def extend(self, run: str, events: Iterable[NewEvent], at: float | None = None) -> int:
        """Append events (kind, data, status), all or none; return the number of the last one."""
        events = tuple(events)
        with self._store.use():
            driven = self._find_driven(run)
            self._append(driven, list(driven.make_rows(events, self.clock.time() if at is None else at)))
            return driven.seq

    def restore(self, run: str, entries: Iterable[Entry]) -> None:
        """Append the events of another journal, with their times, to a run without events; all or none.

        Raises `JournalError` if the run has other events.
        """
        entries = list(entries)
        with self._store.use():
            driven = self._find_driven(run)
            if not driven.seq:
                self._append(driven, list(driven.copy_rows(entries)))
                return
        check_same(self.path, run, self.read(run), entries)

    def _append(self, driven: RunHead, rows: list[Row]) -> None:
        if len(rows) == 1:
            self._store.connection.execute(_APPEND, rows[0])
        elif rows:
            with self._store.transaction():
                self._store.connection.executemany(_APPEND, rows)
        if rows:
            driven.move_to(rows[-1])
            self._store.locks.set_count(driven.number, driven.seq)
            self._store.check_file()

    def delete(self, run: str, *, events: int | None = None, move: str = "") -> bool:
        """Delete `run` with its events, unless their number differs from `events`; return whether it is deleted.

        Its name is free again, and what it reserved; steps with a flight are left in doubt, and keep theirs.
        Raises as `drive`.
        """
        with self._store.use():
            self._store.check_file()
            at, _ = self._find_run(run)
            self._store.locks.take(at.number, run)
        try:
            with self._store.use():
                check_move(self.path, run, self._moves.read(at.number), move)
                if events is not None and self._read_to_end(at).seq != events:
                    return False
            flights = [each for each in self.ledger.flights() if each.run == run]
            left = () if move else leave_in_doubt(self.ledger, flights, self.clock.time())
            with self._store.use():
                with self._store.safe_transaction() if move else self._store.transaction():
                    delete_events(self._store.connection, at.number)
                    self._moves.keep(at.number, "")
                self._store.locks.set_count(at.number, 0)
        finally:
            with self._store.use():
                self._store.locks.release(at.number)
        self.reservations.keep(run, left)
        self.posted.forget(run)
        return True

    def read(self, run: str) -> Iterator[Entry]:
        """Yield the events of `run` in their order, including those that are appended meanwhile.

        Events that are yielded before an error are undamaged.
        """
        with self._store.use():
            at, _ = self._find_run(run)
            kept = self._store.locks.read_count(at.number)
        while rows := self._read_batch(at):
            yield from self._follow_rows(at, rows)
        with self._store.use():
            self._check_complete(at, kept)

    def follow(self, run: str) -> Iterator[Entry | None]:
        """Yield the events of `run` in their order, and None whenever there is no further one yet; raises as `read`."""
        with self._store.use():
            at, _ = self._find_run(run)
        while True:
            kept = self._read_count(at)
            rows = self._read_batch(at)
            yield from self._follow_rows(at, rows)
            if not rows:
                with self._store.use():
                    self._store.check_file()
                    if self._find_run(run)[0].number != at.number:
                        raise NoRunError(self.path, f"run {run!r} was deleted", "another one has its name now")
                    self._check_complete(at, kept)
                yield None

    def is_driven(self, run: str) -> bool:
        """Return whether some process drives `run`."""
        with self._store.use():
            return not self._store.locks.is_free(self._find_run(run)[0].number)

    def runs(self) -> list[RunRecord]:
        """Return all runs in the order of their creation."""
        return [each for each, _ in self._iterate_records(logs=False, first=0)]

    def iterate_first_events(self) -> Iterator[tuple[RunRecord, Entry | None]]:
        """Yield all runs in the order of their creation, each with its first event, or None before it has any."""
        return self._iterate_records(logs=False, first=1)

    def free(self, statuses: Collection[str]) -> list[RunRecord]:
        """Return the runs with one of `statuses` that somebody may drive and nobody does, in the order of creation."""
        with self._store.use():
            self._store.check_runs(self._store.locks.find_last_number())
            runs = self._store.connection.execute(_LENGTHS).fetchall()
        return [found for number, run, seq in runs if (found := self._read_if_free(number, run, seq, statuses))]

    def _read_if_free(self, number: int, run: str, seq: int | None, statuses: Collection[str]) -> RunRecord | None:
        """Return a run if it has one of `statuses`, nobody drives it, and it is on no way.

        A run that had another status when it was read last, and the same number of events, is not read again.
        """
        events, status = self._last_read.get(number, (None, ""))
        if run.startswith(LOG_PREFIX) or (events is not None and events == seq and status not in statuses):
            return None
        with self._store.use(), contextlib.suppress(NoRunError):
            at, created = self._find_run(run)
            end = self._read_to_end(at)
            self._last_read[number] = end.seq, end.status
            if end.status in statuses and self._store.locks.is_free(number) and not self._moves.read(number):
                return RunRecord(run, created, end.time, end.seq, end.status)
        return None

    def logs(self) -> list[RunRecord]:
        """Return all logs in the order of their creation; they are created, driven and deleted as runs are."""
        return [each for each, _ in self._iterate_records(logs=True, first=0)]

    def _iterate_records(self, *, logs: bool, first: int) -> Iterator[tuple[RunRecord, Entry | None]]:
        """Yield the runs that were not deleted, or the logs, each with the event of the number `first`.

        Raises `DamagedError` for a changed row, also of a deleted run.
        """
        with self._store.use():
            self._store.check_file()
            self._store.check_runs(self._store.locks.find_last_number())
        number: int | None = 0
        while number is not None:
            with self._store.use():
                counts = self._store.locks.read_counts(number + 1, _BATCH)
                rows = self._store.connection.execute(_RUNS, (number, first)).fetchall()
                moves = self._moves.read_all()
                found = [self._read_record(row, kept, moves) for row, kept in zip(rows, counts, strict=False)]
            yield from (each for each in found if each is not None and each[0].run.startswith(LOG_PREFIX) is logs)
            number = rows[-1][0] if rows else None

    def _read_record(self, row: Any, kept: int, moves: Mapping[int, str]) -> tuple[RunRecord, Entry | None] | None:
        """Return a run and an event from a row of `_RUNS`; None for a run that was deleted."""
        number, name, created, checksum = row[:4]
        at = self._make_head(number, name, created, checksum)
        if created == DELETED:
            return None
        self._follow_to_end(at, row[4], row[5:12] if row[5] else None, kept)
        first = Entry(*row[13:18]) if row[12] else None
        if first and row[18] != compute_next_checksum(checksum, 1, first.time, first[2:]):
            raise self._make_damage_error(replace(at, seq=1))
        return RunRecord(name, created, at.time, at.seq, at.status, moves.get(number, "")), first

    def _list_names(self) -> list[str]:
        """Return the names of the runs that were not deleted, in the order of their creation."""
        rows = self._store.connection.execute("SELECT * FROM runs NOT INDEXED ORDER BY number")
        return [self._make_head(*row).name for row in rows if row[2] != DELETED]

    def _find_run(self, run: str) -> tuple[RunHead, float]:
        """Return `run` as it was before its first event, and when it was created; raises `NoRunError` without one."""
        try:
            return self._read_run(run)
        except NoRunError:
            names = self._list_names()
        if run in names:
            raise DamagedError(self.path, f"run {run!r} is listed, but not found by its name", RESTORE)
        others = f"its runs are {', '.join(names[-MANY:])}" if names else "this journal has none"
        raise NoRunError(self.path, f"there is no run {run!r}", did_you_mean(run, names) or others)

    def _read_run(self, run: str) -> tuple[RunHead, float]:
        """Return `run` as it was before its first event, and when it was created; raises `NoRunError` without one."""
        row = self._store.connection.execute("SELECT * FROM runs WHERE name = ?", (run,)).fetchone()
        if row is None or row[2] == DELETED:
            raise NoRunError(self.path, f"run {run!r} was deleted", "it cannot be restored")
        return self._make_head(*row), row[2]

    def _make_head(self, number: int, name: str, created: float, checksum: int) -> RunHead:
        """Return a run as it was before its first event, from its row; raises `DamagedError` if that is changed."""
        if not isinstance(name, str) or checksum != compute_first_checksum(number, name, created):
            raise DamagedError(self.path, f"run {number} is changed", RESTORE)
        return RunHead(name, number, 0, created, "", checksum)

    def _read_to_end(self, at: RunHead) -> RunHead:
        """Advance the run `at` its beginning to its last event."""
        kept = self._store.locks.read_count(at.number)
        *before, last = self._store.connection.execute(_LAST, (at.number,)).fetchall()[::-1] or [None]
        return self._follow_to_end(at, before[0][-1] if before else None, last, kept)

    def _follow_to_end(self, at: RunHead, before: int | None, last: Row | None, kept: int) -> RunHead:
        """Advance the run `at` its beginning to its event `last`, after one with the checksum `before`."""
        if before is not None and last is not None:
            at.seq, at.checksum = last[1] - 1, before
        if last is not None and not at.follow(last):
            raise self._make_damage_error(at)
        self._check_complete(at, kept)
        return at

    def _check_complete(self, at: RunHead, kept: int) -> None:
        """Raise an error if a run has fewer events than `kept`: it is damaged, or was deleted meanwhile."""
        if at.seq < kept:
            self._read_run(at.name)
        self._store.check_events(at.name, at.seq, kept)

    def _read_count(self, at: RunHead) -> int:
        with self._store.use():
            return self._store.locks.read_count(at.number)

    def _read_batch(self, at: RunHead) -> list[Row]:
        with self._store.use():
            return self._store.connection.execute(_EVENTS, (at.number, at.seq)).fetchall()

    def _release(self, run: str) -> None:
        driven = self._driven.pop(run, None)
        if driven is not None:
            self._store.locks.release(driven.number)

    def _save(self, sort: Sort, document: Document) -> None:
        with self._store.use():
            with self._store.transaction():
                number = insert_document(self._store.connection, sort, document)
            self._store.locks.set_count(0, number)

    def _read_documents(self, sort: Sort) -> Iterator[Document]:
        with self._store.use():
            kept = self._store.locks.read_count(0)
            found = find_newest_documents(self._store.connection, sort)
        if found is None:
            raise DamagedError(self.path, "a goal or a plan is missing or changed", RESTORE)
        numbers, last = found
        if last < kept:
            lost = f"{last} goals and plans are left of {kept}, counting each time that one was saved"
            raise self._store.make_loss_error(lost)
        for number in numbers:
            with self._store.use():
                document = read_document(self._store.connection, number)
            yield document
