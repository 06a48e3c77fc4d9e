"""The open file of a journal: threads take turns, forks are refused, errors are told, and losses are noticed."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from executor.errors import DamagedError, JournalError
from executor.journal import schema
from executor.journal.failures import FOUND, told, told_by_system, unkeepable
from executor.journal.locks import LockFile, identity, lock_file


class Store:
    """A connection to the database, and the lock file beside it; opened when it is made."""

    def __init__(self, path: Path, *, power: bool) -> None:
        self.path: Final = path
        self._process = os.getpid()
        self._guard = threading.Lock()
        with contextlib.ExitStack() as opened, self._telling():
            self.connection: sqlite3.Connection = opened.enter_context(contextlib.closing(schema.connect(path)))
            self.locks: LockFile = lock_file(Path(f"{path}-lock"))
            opened.callback(self.locks.leave)
            runs = self.locks.last()
            schema.prepare(self.connection, path, power=power)
            self.check_runs(runs)
            self._identity = identity(path)
            self._opened = opened.pop_all()
        self._is_open = True

    @property
    def is_ours(self) -> bool:
        """Whether this process opened it, and not one that forked this one."""
        return os.getpid() == self._process

    def close(self) -> None:
        """Close both files."""
        with self._guard:
            self._is_open = False
            self._opened.close()

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Keep other threads out, and raise `JournalError` for all that goes wrong inside."""
        if not self.is_ours:
            found = f"process {self._process} opened it before it forked this one"
            raise JournalError(self.path, found, "fork first, or start processes with 'spawn' or 'forkserver'")
        with self._guard, self._telling():
            if not self._is_open:
                raise JournalError(self.path, "this journal is closed", "open it again")
            yield

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep all that is written inside, or none of it."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:  # SQLite may have rolled back by itself
                self.connection.execute("ROLLBACK")
            raise

    def check_file(self) -> None:
        """Raise `DamagedError` where what is written now would be found by nobody."""
        if identity(self.path) != self._identity:
            found = "the file was deleted, moved or replaced while it was open"
            raise DamagedError(self.path, found, "put it back, or close this journal and open it again")

    def check_runs(self, kept: int) -> None:
        """Raise `DamagedError` where there are fewer runs than there were, which is `kept` at least."""
        ((count, last),) = self.connection.execute("SELECT count(*), ifnull(max(number), 0) FROM runs NOT INDEXED")
        if count != last or last < kept:
            raise self.lost(f"{count} runs are left of {max(last, kept)}")

    def check_events(self, run: str, seq: int, kept: int) -> None:
        """Raise `DamagedError` where `run`, whose last event is `seq`, had more events once."""
        if seq < kept:
            raise self.lost(f"{seq} events of run {run!r} are left of {kept}")

    def lost(self, found: str) -> DamagedError:
        """Return that something is missing, and how to go on."""
        cause = "(a damaged or deleted -wal file, an older copy, or a power failure)"
        hint = f"restore it, or accept the loss by deleting {self.locks.path} while nobody uses the journal"
        return DamagedError(self.path, f"{found} {cause}", hint)

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise told(self.path, error) from error
        except UnicodeEncodeError as error:
            raise unkeepable(self.path, error) from None
        except OverflowError as error:
            raise JournalError(self.path, *FOUND[sqlite3.SQLITE_TOOBIG]) from error
        except OSError as error:
            raise told_by_system(self.path, error) from error
