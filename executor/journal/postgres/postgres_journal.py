"""Keep the events of runs in a PostgreSQL database that processes on several hosts share: `PostgresJournal`.

An append is one statement, which locks the head of the run and succeeds only while its token is that of this process.
Whoever takes a run over raises its token, so that a process that was cut off, or stopped, can append nothing any more.
Such tokens are also what a service can tell late requests by (Kleppmann, 2016).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final, TypeVar
from uuid import uuid4

from executor.errors import DamagedError, DrivenError, FencedError, JournalError, NoRunError, RunExists
from executor.journal.driven_runs import DrivenRuns
from executor.journal.locks import convert_encoding_error
from executor.journal.moves import check_move
from executor.journal.places import DatabaseAddress
from executor.journal.postgres.connection import Database, Statements
from executor.journal.postgres.effects import LedgerInPostgres, leave_run_in_doubt
from executor.journal.postgres.leases import Lease, bury, identify_machine
from executor.journal.postgres.schema import prepare
from executor.journal.postgres.sharing import (
    LocksInPostgres,
    PostedAnswersInPostgres,
    RatesInPostgres,
    ReservationsInPostgres,
)
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
)
from executor.tools.clock import Clock
from planner.errors import did_you_mean

_BATCH: Final = 64
MOST_BYTES: Final = 16 << 20
"""Most bytes of a text: a larger one may keep the database longer than a statement may take."""
_LARGE: Final = "a text to be kept has {:.0f} MB, and a journal in PostgreSQL takes at most {:.0f} MB"
_RESTORE: Final = "restore the database from a copy"
_NUL: Final = "a text to be kept has a character of code 0 near {}, which PostgreSQL does not keep"
_HELD: Final = """WITH head AS (UPDATE heads SET events = CAST(:last AS bigint), updated = CAST(:time AS float8),
    status = :status, checksum = CAST(:checksum AS bigint)
    WHERE run = CAST(:run AS bigint) AND token = CAST(:token AS bigint) AND events = CAST(:before AS bigint)
    RETURNING run)"""
_APPEND: Final = f"""{_HELD} INSERT INTO events
    SELECT run, CAST(:last AS bigint), CAST(:time AS float8), :kind, :data, :status, CAST(:checksum AS bigint) FROM head
    RETURNING seq"""  # noqa: S608 - no values
_EXTEND: Final = f"""{_HELD} INSERT INTO events
    SELECT head.run, new.seq, new.time, new.kind, new.data, new.status, new.checksum FROM head,
    unnest(CAST(:seqs AS bigint[]), CAST(:times AS float8[]), CAST(:kinds AS text[]), CAST(:texts AS text[]),
    CAST(:statuses AS text[]), CAST(:checksums AS bigint[])) AS new(seq, time, kind, data, status, checksum)
    ORDER BY new.seq RETURNING seq"""  # noqa: S608 - as above
_EVENTS: Final = f"""SELECT run, seq, time, kind, data, status, checksum FROM events
    WHERE run = :run AND seq > :seq ORDER BY seq LIMIT {_BATCH}"""  # noqa: S608 - a number
_LAST: Final = """SELECT run, seq, time, kind, data, status, checksum FROM events
    WHERE run = :run ORDER BY seq DESC LIMIT 2"""
_RECORDS: Final = """SELECT number, name, created, runs.checksum, updated, events, status, move FROM runs
    JOIN heads ON run = number WHERE created <> 0"""
_BEGUN: Final = f"""SELECT records.*, run, seq, time, kind, data, begun.status, begun.checksum
    FROM ({_RECORDS} AND number > :after AND run > :after ORDER BY number LIMIT {_BATCH}) AS records
    LEFT JOIN LATERAL (SELECT * FROM events WHERE run = number ORDER BY seq LIMIT 1) AS begun ON true
    ORDER BY number"""  # noqa: S608 - a number
"""Runs after a number, each with its first event."""
_UNDRIVEN: Final = f"""{_RECORDS} AND status = ANY(:statuses) AND move = '' AND (holder IS NULL OR holder NOT IN
    (SELECT number FROM holders WHERE expires > clock_timestamp())) ORDER BY number"""  # noqa: S608 - no values
_IS_FREE: Final = """SELECT 1 FROM heads WHERE run = :number AND (holder IS NULL OR holder NOT IN
    (SELECT number FROM holders WHERE expires > clock_timestamp()))"""
_COUNT: Final = "UPDATE counts SET count = count + 1 WHERE what = :what RETURNING count"
Result = TypeVar("Result")


class PostgresJournal(DrivenRuns):
    """A record of runs in the database at `address`, whose tables are made if there are none, unless it `makes` none.

    What the methods have written is as safe as the database is set to keep it; with `durability="power"`, the setting
    `synchronous_commit` is "on" for this journal. Methods that lose their connection connect again, look what was
    written, and go on; they raise `JournalError` after the `patience` of the address.

    Threads may share a journal. Every method raises `JournalError`, and `DamagedError` if kept data are missing or
    changed.
    """

    restoring = _RESTORE

    def __init__(self, address: DatabaseAddress, durability: Durability = "process", *, makes: bool = True) -> None:
        if durability not in ("process", "power"):
            raise JournalError(str(address), f"durability {durability!r} is unknown", "say 'process' or 'power'")
        self._database = Database(address, is_safe=durability == "power")
        try:
            prepare(self._database, makes=makes)
        except BaseException:
            self._database.close()
            raise
        self._lease = Lease(self._database)
        self._driven: dict[str, RunHead] = {}
        self._holders: dict[str, int] = {}
        """The holder as which this process drives each run."""
        self.locks: Final = LocksInPostgres(self._database, self._lease)
        """The locks that all processes of this journal share."""
        self.rates: Final = RatesInPostgres(self._database)
        """The start times of rated steps, which all processes of this journal share."""
        self.reservations: Final = ReservationsInPostgres(self._database)
        """What the runs of this journal have reserved of numbers that they share."""
        self.ledger: Final = LedgerInPostgres(self._database)
        """What irreversible steps of all runs have done; it outlives the runs."""
        self.posted: Final = PostedAnswersInPostgres(self._database)
        """Answers that people have posted to runs, and that no driver has taken yet."""

    @property
    def clock(self) -> Clock:
        """The clock that all processes of this journal go by: that of the database."""
        return self._database.clock

    @property
    def place(self) -> str:
        """The address of the database, without a password."""
        return self._database.place

    def __repr__(self) -> str:
        return f"PostgresJournal({self.place})"

    def close(self) -> None:
        """Stop driving runs, and close the connection; do nothing in a forked process."""
        if self._database.is_ours and self._database.is_open:
            for run in list(self._driven):
                self._release(run)
            self._lease.end()
            self._database.close()

    def create(self, run: str) -> None:
        """Create a run without events; the name must be new, or that of a run without events."""
        self._check_text(run)
        created = self.clock.time()

        def create(execute: Statements, _: bool) -> None:
            ((number,),) = execute(_COUNT, what="runs")
            found = execute("SELECT events FROM runs JOIN heads ON run = number WHERE name = :run", run=run)
            if found and found[0][0]:
                raise RunExists(run, place=self.place, hint="resume it, or take another name")
            if found:
                execute("UPDATE counts SET count = count - 1 WHERE what = 'runs'")
                return
            row = {"number": number, "created": created, "checksum": compute_first_checksum(number, run, created)}
            execute("INSERT INTO runs VALUES (:number, :run, :created, :checksum)", run=run, **row)
            execute("INSERT INTO heads(run, updated, checksum) VALUES (:number, :created, :checksum)", **row)

        self._database.repeat(create, together=True)

    @contextlib.contextmanager
    def drive(self, run: str, *, move: str = "") -> Iterator[int]:
        """Drive `run`: become its only writer in all processes; yield its number of events.

        Raises `DrivenError` if it is driven already, `MovingError` if it is on another way than `move`.
        """
        holder = self._lease.begin()
        with self._database.use():
            if run in self._driven:
                raise DrivenError(self.place, f"this process drives run {run!r} already", "wait until it is over")
            head = self._find_run(run)[0]
            head.token, kept = self._database.repeat(
                lambda execute, _: self._take(execute, head.number, run, holder, move), together=True
            )
            self._driven[run], self._holders[run] = head, holder
            try:
                self._read_to_end(head, kept)
            except BaseException:
                self._release(run)
                raise
            events = head.seq
        try:
            yield events
        finally:
            if self._database.is_ours:
                self._release(run)

    def find_move(self, run: str) -> str:
        """Return "to PLACE" or "from PLACE" for a run on its way between two journals, "" for any other."""
        number = self._find_run(run)[0].number
        ((move,),) = self._database.run("SELECT move FROM heads WHERE run = :number", number=number)
        return str(move)

    def set_move(self, run: str, move: str) -> None:
        """Keep the way on which a run is that is driven here: "to PLACE", "from PLACE", or "" at its end."""
        head = self._find_driven(run)
        changed = "UPDATE heads SET move = :move WHERE run = :number AND token = :token RETURNING 1"
        if not self._database.run(changed, move=move, number=head.number, token=head.token):
            raise self._make_fenced_error(run)

    def _take(self, execute: Statements, number: int, run: str, holder: int, move: str) -> tuple[int, int]:
        """Take a run that nobody drives; return its new token, and its number of events."""
        self._lock_free_head(execute, number, run, holder, move)
        taken = "UPDATE heads SET holder = :holder, since = :since, token = token + 1 WHERE run = :number"
        ((token, events),) = execute(
            f"{taken} RETURNING token, events", holder=holder, since=self.clock.time(), number=number
        )
        return token, events

    def _lock_free_head(self, execute: Statements, number: int, run: str, own: int, move: str) -> None:
        """Lock the head of a run within a transaction; raises `DrivenError` if another process drives it.

        Raises `MovingError` if the run is on another way than `move`.
        """
        ((kept,),) = execute("SELECT move FROM heads WHERE run = :number FOR UPDATE", number=number)
        check_move(self.place, run, kept, move)
        bury(execute)
        found = execute(
            """SELECT host, machine, process, since FROM heads JOIN holders ON holder = holders.number
            WHERE run = :number AND holder <> :own""",
            number=number,
            own=own,
        )
        if not found:
            return
        host, machine, process, since = found[0]
        if (machine, process) == (identify_machine(), os.getpid()):
            raise DrivenError(self.place, f"this process drives run {run!r} already", "wait until it is over")
        began = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(since))
        found_text = f"run {run!r} is driven by process {process} on {host} since {began}"
        lease = self._database.address.lease
        hint = f"wait until it is over, or end that process: the run is free {lease:g} s after its last sign of life"
        raise DrivenError(self.place, found_text, hint)

    def check(self, run: str) -> None:
        """Raise `FencedError` if another process may have taken over `run`, which is driven here.

        Asks the database only if the lease might have expired.
        """
        head, holder = self._find_driven(run), self._holders[run]
        if self._lease.is_sure(holder):
            return
        ((token,),) = self._database.run("SELECT token FROM heads WHERE run = :number", number=head.number)
        if token != head.token or not self._lease.confirm(holder):
            raise self._make_fenced_error(run)

    def extend(self, run: str, events: Iterable[NewEvent], at: float | None = None) -> int:
        """Append events (kind, data, status), all or none; return the number of the last one. Raises as `append`."""
        events = tuple(events)
        for kind, data, _ in events:
            self._check_text(kind, data)
        with self._database.use():
            head = self._find_driven(run)
            with self._explain_texts():
                rows = list(head.make_rows(events, self.clock.time() if at is None else at))
            if rows:
                self._append(head, rows)
                head.move_to(rows[-1])
            return head.seq

    def restore(self, run: str, entries: Iterable[Entry]) -> None:
        """Append the events of another journal, with their times, to a run without events; all or none.

        Raises `JournalError` if the run has other events.
        """
        entries = list(entries)
        for each in entries:
            self._check_text(each.kind, each.data)
        with self._database.use():
            head = self._find_driven(run)
            if not head.seq:
                rows = list(head.copy_rows(entries))
                if rows:
                    self._append(head, rows)
                    head.move_to(rows[-1])
                return
        check_same(self.place, run, self.read(run), entries)

    def _append(self, head: RunHead, rows: list[Row]) -> None:
        """Append `rows` in one statement; after the connection was lost in it, look whether they are there."""
        number, last, stamp, kind, data, status, checksum = rows[-1]
        values = {"run": number, "last": last, "before": head.seq, "time": stamp, "status": status}
        values |= {"checksum": checksum, "token": head.token}

        def append(execute: Statements, is_repeated: bool) -> bool:
            if is_repeated and self._is_kept(execute, rows[-1]):
                return True
            if len(rows) == 1:
                return bool(execute(_APPEND, kind=kind, data=data, **values))
            names = "seqs", "times", "kinds", "texts", "statuses", "checksums"
            columns = map(list, list(zip(*rows, strict=True))[1:])
            return bool(execute(_EXTEND, **values, **dict(zip(names, columns, strict=True))))

        if not self._database.repeat(append):
            raise self._explain_refusal(head)

    def _is_kept(self, execute: Statements, row: Row) -> bool:
        """Return whether an event is in the journal."""
        statement = "SELECT checksum FROM events WHERE run = :run AND seq = :seq"
        return execute(statement, run=row[0], seq=row[1]) == [[row[-1]]]

    def _explain_refusal(self, head: RunHead) -> JournalError:
        """Return the error for an append that the head of the run did not allow."""
        found = self._database.run("SELECT token, events FROM heads WHERE run = :number", number=head.number)
        if found and found[0][0] == head.token:
            lost = f"run {head.name!r} has {found[0][1]} events, and its driver has appended {head.seq}"
            return DamagedError(self.place, lost, _RESTORE)
        return self._make_fenced_error(head.name)

    def _make_fenced_error(self, run: str) -> FencedError:
        found = f"another process has taken over run {run!r}: this one gave no sign of life for its lease"
        return FencedError(self.place, found, "nothing more is done here; the run goes on there")

    def delete(self, run: str, *, events: int | None = None, move: str = "") -> bool:
        """Delete `run` with its events, unless their number differs from `events`; return whether it is deleted.

        Its name is free again, and what it reserved; steps with a flight are left in doubt, and keep theirs.
        Raises as `drive`.
        """
        number = self._find_run(run)[0].number
        name = f"deleted {uuid4().hex}"

        def delete(execute: Statements, is_repeated: bool) -> bool:
            if is_repeated and self._is_deleted(execute, number):
                return True
            self._lock_free_head(execute, number, run, 0, move)
            if self._is_deleted(execute, number):
                raise self._make_deleted_error(run)
            ((kept,),) = execute("SELECT events FROM heads WHERE run = :number", number=number)
            if events is not None and kept != events:
                return False
            checksum = compute_first_checksum(number, name, DELETED)
            row = {"number": number, "name": name, "checksum": checksum}
            execute("SELECT set_config('forethought.deleting', CAST(:number AS bigint)::text, true)", number=number)
            execute("DELETE FROM events WHERE run = :number", number=number)
            execute("UPDATE runs SET name = :name, created = 0, checksum = :checksum WHERE number = :number", **row)
            execute(
                """UPDATE heads SET events = 0, status = '', move = '', updated = 0, checksum = :checksum,
                holder = NULL, token = token + 1 WHERE run = :number""",
                number=number,
                checksum=checksum,
            )
            left = [] if move else leave_run_in_doubt(execute, run)
            execute("DELETE FROM reservations WHERE run = :run AND NOT step = ANY(:left)", run=run, left=left)
            execute("DELETE FROM posted_answers WHERE run = :run", run=run)
            return True

        return self._database.repeat(delete, together=True)

    def read(self, run: str) -> Iterator[Entry]:
        """Yield the events of `run` in their order, including those that are appended meanwhile.

        Events that are yielded before an error are undamaged.
        """
        at, kept = self._find_run(run)
        while rows := self._database.run(_EVENTS, run=at.number, seq=at.seq):
            yield from self._follow_rows(at, map(tuple, rows))
        if at.seq < kept:
            if self._is_deleted(self._database.run, at.number):
                raise self._make_deleted_error(run)
            raise self._make_event_loss_error(at, kept)

    def _is_deleted(self, execute: Statements, number: int) -> bool:
        return execute("SELECT created FROM runs WHERE number = :number", number=number) == [[DELETED]]

    def follow(self, run: str) -> Iterator[Entry | None]:
        """Yield the events of `run` in their order, and None whenever there is no further one yet; raises as `read`."""
        at, _ = self._find_run(run)
        while True:
            rows = self._database.run(_EVENTS, run=at.number, seq=at.seq)
            yield from self._follow_rows(at, map(tuple, rows))
            if not rows:
                if self._find_run(run)[0].number != at.number:
                    raise NoRunError(self.place, f"run {run!r} was deleted", "another one has its name now")
                yield None

    def is_driven(self, run: str) -> bool:
        """Return whether some process drives `run`."""
        number = self._find_run(run)[0].number

        def look(execute: Statements, _: bool) -> list[list[Any]]:
            bury(execute)
            return execute(_IS_FREE, number=number)

        return not self._database.repeat(look)

    def runs(self) -> list[RunRecord]:
        """Return all runs in the order of their creation."""
        return [each for each in self._list_records() if not each.run.startswith(LOG_PREFIX)]

    def iterate_first_events(self) -> Iterator[tuple[RunRecord, Entry | None]]:
        """Yield all runs in the order of their creation, each with its first event, or None before it has any."""
        self._check_runs()
        number = 0
        while rows := self._database.run(_BEGUN, after=number):
            for row in rows:
                (record,) = self._make_records([row[:8]])
                head = RunHead(record.run, row[0], 0, record.created, "", row[3])
                if record.events and row[8] is None:
                    raise self._make_event_loss_error(head, record.events)
                if not record.run.startswith(LOG_PREFIX):
                    yield record, next(self._follow_rows(head, [tuple(row[8:])])) if record.events else None
            number = rows[-1][0]

    def logs(self) -> list[RunRecord]:
        """Return all logs in the order of their creation; they are created, driven and deleted as runs are."""
        return [each for each in self._list_records() if each.run.startswith(LOG_PREFIX)]

    def free(self, statuses: Collection[str]) -> list[RunRecord]:
        """Return the runs with one of `statuses` that somebody may drive and nobody does, in the order of creation."""

        def find(execute: Statements, _: bool) -> list[list[Any]]:
            bury(execute)
            return execute(_UNDRIVEN, statuses=list(statuses))

        return [each for each in self._make_records(self._database.repeat(find)) if not each.run.startswith(LOG_PREFIX)]

    def _check_runs(self) -> None:
        """Raise `DamagedError` if there are fewer runs than were made."""
        found = self._database.run("SELECT count(*), (SELECT count FROM counts WHERE what = 'runs') FROM runs")
        ((count, kept),) = found
        if count < kept:
            raise DamagedError(self.place, f"{count} runs are left of {kept}", _RESTORE)

    def _list_records(self) -> list[RunRecord]:
        self._check_runs()
        return self._make_records(self._database.run(f"{_RECORDS} ORDER BY number"))

    def _make_records(self, rows: Iterable[list[Any]]) -> list[RunRecord]:
        records = []
        for number, name, created, checksum, updated, events, status, move in rows:
            if checksum != compute_first_checksum(number, name, created):
                raise DamagedError(self.place, f"run {number} is changed", _RESTORE)
            records.append(RunRecord(name, created, updated, events, status, move))
        return records

    def _save(self, sort: Sort, document: Document) -> None:
        self._check_text(document.name, document.data, document.status)

        def save(execute: Statements, _: bool) -> None:
            ((number,),) = execute(_COUNT, what="documents")
            checksum = compute_document_checksum(number, sort, document)
            values = {"number": number, "sort": sort, "checksum": checksum, **document._asdict()}
            execute("INSERT INTO documents VALUES (:number, :sort, :name, :time, :status, :data, :checksum)", **values)

        self._database.repeat(save, together=True)

    def _read_documents(self, sort: Sort) -> Iterator[Document]:
        """Yield the newest document of each name, ordered by first saving."""
        counted = "SELECT count(*), (SELECT count FROM counts WHERE what = 'documents') FROM documents"
        ((count, kept),) = self._database.run(counted)
        if count < kept:
            raise DamagedError(self.place, f"{count} goals and plans are left of {kept}", _RESTORE)
        names = "SELECT name, min(number), max(number) FROM documents WHERE sort = :sort GROUP BY name ORDER BY 2"
        for _, _, number in self._database.run(names, sort=sort):
            statement = "SELECT name, time, status, data, checksum FROM documents WHERE number = :number"
            ((*parts, checksum),) = self._database.run(statement, number=number)
            document = Document(*parts)
            if checksum != compute_document_checksum(number, sort, document):
                raise DamagedError(self.place, "a goal or a plan is changed", _RESTORE)
            yield document

    def _find_run(self, run: str) -> tuple[RunHead, int]:
        """Return `run` as it was before its first event, and its number of events; raises `NoRunError` without one."""
        statement = """SELECT number, created, runs.checksum, events FROM runs JOIN heads ON run = number
            WHERE name = :run AND created <> 0"""
        found = [] if "\0" in run else self._database.run(statement, run=run)
        if not found:
            names = [name for (name,) in self._database.run("SELECT name FROM runs WHERE created <> 0 ORDER BY number")]
            others = f"its runs are {', '.join(names[-MANY:])}" if names else "this journal has none"
            raise NoRunError(self.place, f"there is no run {run!r}", did_you_mean(run, names) or others)
        number, created, checksum, events = found[0]
        if checksum != compute_first_checksum(number, run, created):
            raise DamagedError(self.place, f"run {number}, {run!r}, is changed", _RESTORE)
        return RunHead(run, number, 0, created, "", checksum), events

    def _make_deleted_error(self, run: str) -> NoRunError:
        return NoRunError(self.place, f"run {run!r} was deleted", "it cannot be restored")

    def _read_to_end(self, head: RunHead, kept: int) -> None:
        """Advance `head` from its beginning to the last event of its run, the last of `kept` ones."""
        rows: list[list[Any] | None] = [*self._database.run(_LAST, run=head.number)[::-1]]
        *before, last = rows or [None]
        if before and before[0]:
            head.seq, head.checksum = before[0][1], before[0][-1]
        if last and not head.follow(tuple(last)):
            raise self._make_damage_error(head)
        if head.seq < kept:
            raise self._make_event_loss_error(head, kept)

    def _make_event_loss_error(self, at: RunHead, kept: int) -> DamagedError:
        return DamagedError(self.place, f"{at.seq} events of run {at.name!r} are left of {kept}", _RESTORE)

    def _release(self, run: str) -> None:
        """Stop driving `run`, without waiting for a database that does not answer."""
        driven = self._driven.pop(run, None)
        self._holders.pop(run, None)
        if driven is not None and self._database.is_open:
            freed = "UPDATE heads SET holder = NULL WHERE run = :number AND token = :token"
            self._lease.run_soon(freed, number=driven.number, token=driven.token)

    def _check_text(self, *texts: str) -> None:
        """Raise `JournalError` for texts that the database cannot keep."""
        with self._explain_texts():
            for text in texts:
                size = len(text.encode())
                if size > MOST_BYTES:
                    found = _LARGE.format(size / (1 << 20), MOST_BYTES / (1 << 20))
                    raise JournalError(self.place, found, "keep large results in files, and return their names")
                if "\0" in text:
                    at = text.index("\0")
                    piece = ascii(text[max(at - 20, 0) : at + 1])
                    raise JournalError(self.place, _NUL.format(piece), "nothing was appended; repair it")

    @contextlib.contextmanager
    def _explain_texts(self) -> Iterator[None]:
        try:
            yield
        except UnicodeEncodeError as error:
            raise convert_encoding_error(self.place, error) from None
