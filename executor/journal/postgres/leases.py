"""The lease of this process: a sign of life in the database, without which others take over what it holds.

A thread renews the lease at a third of its time, on a connection of its own. A process whose lease has expired is dead
for good as soon as somebody needs what it holds: its row is deleted, and when it wakes up it begins another life. A
process of the same machine that is gone is dead at once. Times are those of the database's clock; how long the lease is
sure to be valid is measured by a clock of this machine that also counts while the machine sleeps, from before the
renewal was sent (Gray and Cheriton, 1989).
"""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from executor.errors import JournalError
from executor.journal.places import DatabaseAddress
from executor.journal.postgres.connection import READ_CLOCK, Database, Statements
from executor.tools.clock import read_uptime

_BEGIN: Final = """INSERT INTO holders(host, machine, process, expires)
    VALUES (:host, :machine, :process, clock_timestamp() + CAST(:lease AS float8) * interval '1 second')
    RETURNING number"""
_RENEW: Final = f"""UPDATE holders SET expires = clock_timestamp() + CAST(:lease AS float8) * interval '1 second'
    WHERE number = :holder RETURNING {READ_CLOCK}"""  # noqa: S608 - no values
_EXPIRED: Final = "DELETE FROM holders WHERE expires < clock_timestamp()"
_NEIGHBOURS: Final = "SELECT number, process FROM holders WHERE machine = :machine AND machine <> ''"
_END: Final = "DELETE FROM holders WHERE number = :holder"


@functools.cache
def identify_machine() -> str:
    """Return what tells the processes of this machine, since it was started, from others; "" where nothing does.

    Containers on one machine count as machines of their own, as each counts its processes for itself.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def bury(run: Statements) -> None:
    """Declare the processes dead whose leases have expired, and those of this machine that are gone."""
    run(_EXPIRED)
    for holder, process in run(_NEIGHBOURS, machine=identify_machine()):
        if not _exists(process):
            run(_END, holder=holder)


def _exists(process: int) -> bool:
    """Return whether there is a process of this number; another one may have it now."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class _LeaseThread(threading.Thread):
    """The thread that renews a lease; of a class of its own, as it is no work that virtual time would wait for."""


class Lease:
    """The lease of this process, begun when the first run is driven or the first lock is taken."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seconds = database.address.lease
        self._guard = threading.Lock()
        self._holder: int | None = None
        self._valid_until = 0.0
        self._chores: list[tuple[str, dict[str, Any]]] = []
        """Statements, with values, that wait until the database answers."""
        self._chores_guard = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        weakref.finalize(self, self._ending.set)

    @property
    def holder(self) -> int | None:
        """The number of this process as a holder, if it has a lease."""
        return self._holder

    def begin(self) -> int:
        """Return the number of this process as a holder, with a lease that has not expired as far as anybody knows."""
        with self._guard:
            if self._holder is None:
                sent = read_uptime()
                values = {"host": socket.gethostname(), "machine": identify_machine(), "process": os.getpid()}
                ((self._holder,),) = self._database.run(_BEGIN, lease=self._seconds, **values)
                self._valid_until = sent + self._seconds
            if self._thread is None:
                parts = weakref.ref(self), self._ending, _make_impatient(self._database.address)
                self._thread = _LeaseThread(target=_keep, args=parts, name="forethought lease", daemon=True)
                self._thread.start()
            return self._holder

    def run_soon(self, statement: str, **values: Any) -> None:
        """Run a statement that releases something: now if the database answers, or else with the next renewal."""
        try:
            self._database.repeat(lambda run, _: run(statement, **values), patience=0.0)
        except JournalError:
            self._chores.append((statement, values))

    def do_chores(self, database: Database | None = None) -> None:
        """Run what waits for the database, on another connection to it if given; raises `JournalError`."""
        with self._chores_guard:
            while self._chores:
                statement, values = self._chores[0]
                (database or self._database).run(statement, **values)
                del self._chores[0]

    def is_sure(self, holder: int) -> bool:
        """Return whether `holder` is this process, and nobody can have declared it dead, by this machine's clock."""
        with self._guard:
            return self._holder == holder and read_uptime() < self._valid_until - self._seconds / 3

    def confirm(self, holder: int) -> bool:
        """Renew the lease now; return whether `holder` is this process and was not declared dead."""
        with self._guard:
            return self._holder == holder and self._renew(self._database)

    def end(self) -> None:
        """Give the lease back, without waiting for a database that does not answer."""
        self._ending.set()
        with self._guard:
            holder, self._holder = self._holder, None
            if holder is None:
                return
            with contextlib.suppress(JournalError):  # it expires
                self._database.repeat(lambda run, _: run(_END, holder=holder), patience=0.0)

    def _renew(self, database: Database) -> bool:
        """Renew the lease; return whether it was still there. A lease that is gone is forgotten."""
        sent = read_uptime()
        found = None if self._holder is None else database.run(_RENEW, lease=self._seconds, holder=self._holder)
        if not found:
            self._holder = None
            return False
        self._note(sent, found)
        return True

    def _note(self, sent: float, found: list[list[Any]]) -> None:
        self._valid_until = max(self._valid_until, sent + self._seconds)
        self._database.clock.note(sent, found[0][0])

    def note_renewal(self, holder: int, sent: float, found: list[list[Any]]) -> None:
        """Note what a renewal `found` that was `sent` for `holder` at that uptime: nothing if the lease is gone."""
        with self._guard:
            if self._holder == holder and found:
                self._note(sent, found)
            elif self._holder == holder:
                self._holder = None


def _keep(lease: Callable[[], Lease | None], ending: threading.Event, address: DatabaseAddress) -> None:
    """Renew a lease at a third of its time, until it ends, or nobody has it any more: then it is given back.

    Where the database has no room for another connection, that of the journal does as well.
    """
    database, holder = None, None
    while not ending.wait(address.lease):
        kept = lease()
        holder = None if kept is None else kept.holder
        if kept is not None and holder is not None:
            with contextlib.suppress(JournalError):  # the next time
                try:
                    database = database or Database(address)
                except JournalError:
                    kept.confirm(holder)
                else:
                    sent = read_uptime()
                    kept.note_renewal(holder, sent, database.run(_RENEW, lease=3 * address.lease, holder=holder))
                kept.do_chores(database)
        del kept
    if database is not None:
        if holder is not None:
            with contextlib.suppress(JournalError):  # it expires
                database.run(_END, holder=holder)
        database.close()


def _make_impatient(address: DatabaseAddress) -> DatabaseAddress:
    """Return the address with a lease and a patience of a third of its lease."""
    return replace(address, lease=address.lease / 3, patience=address.lease / 3)
