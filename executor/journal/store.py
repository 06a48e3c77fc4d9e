"""Open the database of a journal: create its tables, reject other files, and detect losses.

Triggers keep the tables append-only, also against `INSERT OR REPLACE`, and numbers without gaps. Threads take turns;
a forked process must not use the file of its parent.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from executor.errors import DamagedError, JournalError, ReplacedError
from executor.journal import locks

APPLICATION: Final = 0x466F7265  # "Fore"
VERSION: Final = 1
PRIVATE: Final = 0o600
"""Mode of a new journal: arguments and results may be nobody else's business. SQLite gives its other files the same."""
WAL_PAGES: Final = 1000
"""Pages of 4096 bytes after which SQLite writes the log back and restarts it: it stays near 4 MB."""

_TABLES: Final = """
CREATE TABLE runs(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, created REAL NOT NULL,
    checksum INTEGER NOT NULL);
CREATE TABLE events(run INTEGER NOT NULL REFERENCES runs, seq INTEGER NOT NULL, time REAL NOT NULL,
    kind TEXT NOT NULL, data TEXT NOT NULL, status TEXT NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY(run, seq)) WITHOUT ROWID;
CREATE TABLE documents(number INTEGER PRIMARY KEY, sort TEXT NOT NULL, name TEXT NOT NULL, time REAL NOT NULL,
    status TEXT NOT NULL, data TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE VIEW history AS SELECT runs.name AS run, seq, datetime(time, 'unixepoch') AS time, kind, data, status
    FROM events JOIN runs ON run = number ORDER BY number, seq;
"""
_APPEND_ONLY: Final = """
CREATE TRIGGER {0}_stay BEFORE UPDATE ON {0} BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
CREATE TRIGGER {0}_last BEFORE DELETE ON {0} BEGIN SELECT RAISE(ABORT, 'a journal is append-only'); END;
CREATE TRIGGER {0}_follow BEFORE INSERT ON {0} WHEN NEW.{1} <> (SELECT ifnull(max({1}), 0) + 1 FROM {0}{2})
    BEGIN SELECT RAISE(ABORT, 'numbers follow each other'); END;
"""
_STATEMENTS: Final = tuple(
    f"CREATE {each.strip().rstrip(';')}"
    for text in (
        _TABLES,
        _APPEND_ONLY.format("runs", "number", ""),
        _APPEND_ONLY.format("events", "seq", " WHERE run = NEW.run"),
        _APPEND_ONLY.format("documents", "number", ""),
    )
    for each in text.split("CREATE ")[1:]
)
TRIGGERS: Final = {each.split()[2]: each for each in _STATEMENTS if each.startswith("CREATE TRIGGER")}
"""The statements that create the triggers, by name."""


def connect(path: Path) -> sqlite3.Connection:
    """Connect to the journal in `path`, or to an empty database, which is made if there is no file.

    Raises `JournalError` for any other file, and errors of `sqlite3`.
    """
    _check_path(path)
    with contextlib.suppress(FileExistsError, PermissionError):  # SQLite says what is wrong with the folder
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))
    connection = sqlite3.connect(path, timeout=locks.BUSY, isolation_level=None, check_same_thread=False)
    try:
        _check_identity(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def is_empty(path: Path) -> bool:
    """Return whether a file that exists has no content, and no log beside it has some."""
    log = Path(f"{path}-wal")
    return not path.stat().st_size and not (log.exists() and log.stat().st_size)


def prepare(connection: sqlite3.Connection, path: Path, *, power: bool) -> None:
    """Create the journal if there is none, and set its options; raises as `connect`."""
    _switch_to_wal(connection, path)
    connection.execute(f"PRAGMA synchronous = {'FULL' if power else 'NORMAL'}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_PAGES * 16384}")
    connection.execute("PRAGMA secure_delete = ON")  # the content of runs that are deleted is overwritten
    if power:  # on macOS, an ordinary fsync leaves data in the drive
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA checkpoint_fullfsync = ON")
    if not os.access(path, os.W_OK):  # SQLite would say so when the first event is written
        raise JournalError(path, *locks.FOUND[sqlite3.SQLITE_READONLY])
    if not _read_schema(connection):
        _create_tables(connection)
    missing = sorted({*_STATEMENTS} - _read_schema(connection))
    if missing:
        what = " ".join(missing[0].split("(")[0].split()[1:3])
        raise DamagedError(path, f"its {what} is missing, or not that of version {VERSION}", locks.RESTORE)


def _check_path(path: Path) -> None:
    """Reject paths that SQLite would take for an empty database, and overwrite."""
    if not path.parent.is_dir():
        raise JournalError(path, f"there is no folder {path.parent}", "make it, or name another file")
    if path.is_dir():
        raise JournalError(path, "this is a folder", "name a file in it")
    if path.exists() and not path.is_file():
        raise JournalError(
            path, "this is a pipe or a device", "name a plain file: a journal is read and written anywhere"
        )
    if path.exists() and path.stat().st_nlink > 1:
        found = "the file has another name (a hard link), and whoever opens that would not see who drives its runs"
        raise JournalError(path, found, "remove one of the names")
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size and not (path.exists() and path.stat().st_size):
        raise DamagedError(path, f"it is empty or missing, but {log.name} is not", locks.RESTORE)


def _check_identity(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN")  # all three as they are at one time: another process may be making the journal
    empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.execute("COMMIT")
    if empty and application == version == 0:
        return
    if application != APPLICATION:
        found = f"this is a database of another program (application_id {application}, not {APPLICATION})"
        raise JournalError(path, found, "name another file: it was not touched")
    if version != VERSION:
        hint = "use the version of forethought that wrote it, or a newer one" if version > VERSION else locks.RESTORE
        raise JournalError(path, f"its schema has version {version}, and this forethought reads {VERSION}", hint)


def _switch_to_wal(connection: sqlite3.Connection, path: Path) -> None:
    """Switch to a write-ahead log; where several processes do so at once, SQLite refuses some without waiting."""
    patience = time.monotonic() + locks.BUSY
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > patience:
                raise
            time.sleep(0.01)
        else:
            break
    if mode != "wal":
        found = f"its file system allows no write-ahead log (journal_mode {mode})"
        raise JournalError(path, found, "keep it on a local disk")


def _read_schema(connection: sqlite3.Connection) -> set[str]:
    return {text for (text,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}


def _create_tables(connection: sqlite3.Connection) -> None:
    """Create all tables in one transaction, unless another process has."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _read_schema(connection):
            for statement in _STATEMENTS:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class Store:
    """A connection to the database, with its lock file; the constructor opens both."""

    def __init__(self, path: Path, *, power: bool) -> None:
        self.path: Final = path
        self._process = os.getpid()
        self._guard = threading.Lock()
        with contextlib.ExitStack() as opened, self._convert_errors():
            self.connection: sqlite3.Connection = opened.enter_context(contextlib.closing(connect(path)))
            self.locks: locks.LockFile = locks.open_lock_file(
                Path(f"{path.resolve()}-lock"), stat.S_IMODE(path.stat().st_mode) & 0o666
            )
            opened.callback(self.locks.leave)
            runs = self.locks.find_last_number()
            prepare(self.connection, path, power=power)
            self.check_runs(runs)
            self._identity = locks.identify_file(path)
            self._opened = opened.pop_all()
        self._is_open = True

    @property
    def is_ours(self) -> bool:
        """Whether this process opened the store, and not its parent."""
        return os.getpid() == self._process

    def close(self) -> None:
        """Close both files."""
        with self._guard:
            self._is_open = False
            self._opened.close()

    @contextlib.contextmanager
    def use(self) -> Iterator[None]:
        """Keep other threads out, and convert errors of the body to `JournalError`."""
        if not self.is_ours:
            found = f"process {self._process} opened it before it forked this one"
            raise JournalError(self.path, found, "fork first, or start processes with 'spawn' or 'forkserver'")
        with self._guard, self._convert_errors():
            if not self._is_open:
                raise JournalError(self.path, "this journal is closed", "open it again")
            yield

    @contextlib.contextmanager
    def safe_transaction(self) -> Iterator[None]:
        """Commit the writes of the body, with all earlier ones, so that they survive a power failure, too."""
        ((usual,),) = self.connection.execute("PRAGMA synchronous")
        self.connection.execute("PRAGMA synchronous = FULL")
        try:
            with self.transaction():
                yield
        finally:
            self.connection.execute(f"PRAGMA synchronous = {usual}")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit the writes of the body, or roll all of them back."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:  # SQLite may have rolled back by itself
                self.connection.execute("ROLLBACK")
            raise

    def check_file(self) -> None:
        """Raise `ReplacedError` if the file at the path is no longer the open one."""
        if locks.identify_file(self.path) != self._identity:
            found = "the file was deleted, moved or replaced while it was open"
            raise ReplacedError(self.path, found, "put it back, or close this journal and open it again")

    def check_runs(self, kept: int) -> None:
        """Raise `DamagedError` if there are fewer runs than the `kept` ones."""
        ((count, last),) = self.connection.execute("SELECT count(*), ifnull(max(number), 0) FROM runs NOT INDEXED")
        if count != last or last < kept:
            raise self.make_loss_error(f"{count} runs are left of {max(last, kept)}")

    def check_events(self, run: str, seq: int, kept: int) -> None:
        """Raise `DamagedError` if `run`, with the last event `seq`, has fewer events than `kept`."""
        if seq < kept:
            raise self.make_loss_error(f"{seq} events of run {run!r} are left of {kept}")

    def make_loss_error(self, found: str) -> DamagedError:
        """Make the error for a loss, with its likely cause and a hint."""
        cause = "(a damaged or deleted -wal file, an older copy, or a power failure)"
        hint = f"restore it, or accept the loss by deleting {self.locks.path} while nobody uses the journal"
        return DamagedError(self.path, f"{found} {cause}", hint)

    @contextlib.contextmanager
    def _convert_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise locks.convert_sqlite_error(self.path, error) from error
        except UnicodeEncodeError as error:
            raise locks.convert_encoding_error(self.path, error) from None
        except OverflowError as error:
            raise JournalError(self.path, *locks.FOUND[sqlite3.SQLITE_TOOBIG]) from error
        except OSError as error:
            raise locks.convert_system_error(self.path, error) from error
