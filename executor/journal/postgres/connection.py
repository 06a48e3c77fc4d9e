"""Connect to a database, and connect again when the connection is lost, as after the database was restarted.

Whoever changes something says by `repeat` how to do so more than once: after the connection is lost in the middle of a
change, nobody knows whether the database has made it.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol, TypeVar

from executor.errors import JournalError
from executor.journal.places import DatabaseAddress
from executor.tools.clock import ServerClock, read_uptime
from planner.errors import InputError

SOCKET_SECONDS: Final = 10.0
"""Time to wait for an answer of the database before the connection counts as lost, in seconds."""
STATEMENT_SECONDS: Final = 8.0
"""Time after which the database breaks a statement off: before the connection counts as lost, so that none goes on."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
"""Pauses between attempts to connect again, in seconds: the first, and the longest."""
JUST_TRIED: Final = 0.25
"""Time after an attempt to connect in which there is no other one, once the patience is over, in seconds."""
_RESTARTS: Final = ("57P01", "57P02", "57P03", "57P05", "08000", "08003", "08006", "25P03", "53300", "25006")
"""Codes of errors with which a database ends a connection or takes none yet; another server may answer the next."""
_COLLISIONS: Final = ("40001", "40P01")
"""Codes of errors after which a transaction is to be repeated at once."""
_CHANCES: Final = 10
"""How often a transaction that collides with others is repeated."""
_HINTS: Final = {
    "28P01": "put the right password into the variable PGPASSWORD",
    "28000": "name a user that there is, and that the file pg_hba.conf of the database allows",
    "3D000": "make it by `createdb {database}`, or correct the name",
    "42501": "the user needs the right to create a schema in the database, or to use the one that is there",
    "57014": "look for a transaction that holds locks: SELECT * FROM pg_stat_activity",
    "55P03": "look for a transaction that holds locks: SELECT * FROM pg_stat_activity",
    "53300": "raise its max_connections, or start fewer processes: each has two connections",
    "53100": "make room and try again: what was appended before is kept, what was being appended is not",
    "25006": "name the primary server: this one is a standby",
    "23505": "two processes are writing one run past its lease; end one of them",
}
"""What to do, by the database's codes of errors."""
_FOUND: Final = {
    "23505": "somebody else has appended to it what was about to be appended",
    "53100": "the disk of the database is full",
}
READ_CLOCK: Final = "extract(epoch FROM clock_timestamp())::float8"
_GO_ON: Final = (
    "what was appended before is kept; look whether it runs and can be reached, then resume the runs, or let a worker "
    "take them up"
)
Result = TypeVar("Result")


class Statements(Protocol):
    """Runs one statement with values for its `:names`, and returns the rows."""

    def __call__(self, statement: str, **values: Any) -> list[list[Any]]:
        """Run `statement`."""


class _Lost(Exception):
    """The connection was lost: nobody knows whether the last statement has taken effect."""


class Database:
    """A connection to the database at `address`; threads take turns, and a forked process must not use it.

    The constructor connects. It waits for a database that is just starting, and for no other.
    """

    def __init__(self, address: DatabaseAddress, *, is_safe: bool = False) -> None:
        self.address: Final = address
        self.place: Final = str(address)
        self.clock: Final = ServerClock()
        """The clock of the database, which is read whenever a connection is made or a lease renewed."""
        self._process = os.getpid()
        self._guard = threading.RLock()
        self._connections: list[Any] = []
        """The connection, if there is one; it is closed with the database, also when nobody has closed that."""
        weakref.finalize(self, _close_all, self._connections)
        self._prepared: dict[str, Any] = {}
        self._lost_since: float | None = None
        """Since when the database does not answer, in seconds of the monotonic clock; None while it does."""
        self._last_tried = 0.0
        """When an attempt failed last, in seconds of the monotonic clock."""
        self._is_safe = is_safe
        """Whether each commit waits for the disk, however the database is set."""
        self.is_open = True
        with self.use():
            self._connect_at_first()

    @property
    def is_ours(self) -> bool:
        """Whether this process opened the database, and not its parent."""
        return os.getpid() == self._process

    def close(self) -> None:
        """Close the connection."""
        with self._guard:
            self.is_open = False
            self._drop()

    @contextlib.contextmanager
    def use(self) -> Iterator[None]:
        """Keep other threads out; raises `JournalError` where the database is closed, or not that of this process."""
        if not self.is_ours:
            found = f"process {self._process} opened it before it forked this one"
            raise JournalError(self.place, found, "fork first, or start processes with 'spawn' or 'forkserver'")
        with self._guard:
            if not self.is_open:
                raise JournalError(self.place, "this journal is closed", "open it again")
            yield

    def run(self, statement: str, **values: Any) -> list[list[Any]]:
        """Run a statement that may be run twice, and commit; return its rows. Raises `JournalError`."""
        return self.repeat(lambda run, _: run(statement, **values))

    def repeat(
        self, work: Callable[[Statements, bool], Result], *, patience: float | None = None, together: bool = False
    ) -> Result:
        """Do `work`, and again after the connection was lost; return its result.

        `work` gets what runs statements, and whether it may have been done before. With `together`, its statements are
        one transaction. Raises `JournalError` when the database refuses a statement, or has not answered anybody here
        for `patience` seconds (None: those of the address): who comes later does not wait as long again.
        """
        most = self.address.patience if patience is None else patience
        with self.use():
            pause, is_repeated = FIRST_PAUSE, False
            while True:
                try:
                    self._try_again_later(most)
                    self._connect()
                    result = self._do_with_chances(work, together=together, is_repeated=is_repeated)
                except _Lost as lost:
                    is_repeated, self._last_tried = True, time.monotonic()
                    self._lost_since = self._lost_since or self._last_tried
                    if self._last_tried + pause > self._lost_since + most:
                        raise self._make_loss_error(lost) from lost.__cause__
                else:
                    self._lost_since = None
                    return result
                time.sleep(pause * random.uniform(0.5, 1))
                pause = min(2 * pause, LONGEST_PAUSE)

    def _try_again_later(self, patience: float) -> None:
        """Raise `JournalError` if the database has not answered for `patience` seconds, and was asked right now."""
        now = time.monotonic()
        if self._lost_since is not None and now > self._lost_since + patience and now < self._last_tried + JUST_TRIED:
            found = f"the database does not answer, since {now - self._lost_since:.0f} s"
            raise JournalError(self.place, found, _GO_ON)

    def _do_with_chances(
        self, work: Callable[[Statements, bool], Result], *, together: bool, is_repeated: bool
    ) -> Result:
        """Do `work`, and again where it collides with other transactions."""
        for chance in range(_CHANCES, -1, -1):
            try:
                return self._do_together(work, is_repeated) if together else work(self._execute, is_repeated)
            except JournalError as error:
                if not chance or _code_of(error.__cause__) not in _COLLISIONS:
                    raise
                is_repeated = is_repeated or not together
        raise AssertionError("the last chance returns or raises")

    def _do_together(self, work: Callable[[Statements, bool], Result], is_repeated: bool) -> Result:
        """Do `work` in one transaction."""
        self._execute("BEGIN")
        try:
            result = work(self._execute, is_repeated)
            self._execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        return result

    def _roll_back(self) -> None:
        """Roll back, by losing the connection where that is not possible: the database does the same then."""
        if not self._connections:
            return
        try:
            self._execute("ROLLBACK")
        except (_Lost, JournalError):
            self._drop()

    def _execute(self, statement: str, **values: Any) -> list[list[Any]]:
        """Run one statement; raises `_Lost`, and `JournalError` where the database refuses it."""
        import pg8000.exceptions

        if not self._connections:
            raise _Lost
        try:
            if not values:
                return self._connections[0].run(statement) or []
            if statement not in self._prepared:
                self._prepared[statement] = self._connections[0].prepare(statement)
            return self._prepared[statement].run(**values) or []
        except pg8000.exceptions.DatabaseError as error:
            if _code_of(error) in _RESTARTS:
                self._drop()
                raise _Lost from error
            raise self.make_error(error) from error
        except (pg8000.exceptions.InterfaceError, OSError, struct.error, ValueError, AttributeError) as error:
            self._drop()
            raise _Lost from error
        except BaseException:
            self._drop()  # the answer to the statement is still to come
            raise

    def make_error(self, error: Any) -> JournalError:
        """Make the error for a statement that the database refuses."""
        code = _code_of(error)
        found = _FOUND.get(code, "the database refuses")
        hint = _HINTS.get(code, "see the database's log").format(database=self.address.database)
        return JournalError(self.place, f"{found} ({_text_of(error)})", hint)

    def _make_loss_error(self, lost: _Lost) -> JournalError:
        cause = lost.__cause__
        if _code_of(cause) in _HINTS:
            return self.make_error(cause)
        said = cause and (cause.__cause__ or cause)
        why = "" if said is None else f" ({_text_of(said)})"
        if isinstance(said, socket.gaierror):
            hint = f"write the host as the network knows it; {_GO_ON}"
            return JournalError(self.place, f"there is no host {self.address.host}{why}", hint)
        if isinstance(said, FileNotFoundError):
            why = f": there is no socket {self.address.host}/.s.PGSQL.{self.address.port}"
        return JournalError(self.place, f"the database does not answer{why}", _GO_ON)

    def _drop(self) -> None:
        """Close the connection without a word to the database."""
        self._prepared = {}
        _close_all(self._connections)

    def _connect_at_first(self) -> None:
        import_driver()
        until = time.monotonic() + self.address.patience
        while True:
            try:
                return self._connect()
            except _Lost as lost:
                if _code_of(lost.__cause__) != "57P03" or time.monotonic() > until:
                    raise self._make_loss_error(lost) from lost.__cause__
            time.sleep(FIRST_PAUSE)

    def _connect(self) -> None:
        """Connect, unless there is a connection; raises as `_execute`."""
        if self._connections:
            return
        import pg8000.exceptions

        address = self.address
        try:
            self._connections.append(_open_connection(address))
        except pg8000.exceptions.DatabaseError as error:
            if _code_of(error) in _RESTARTS:
                raise _Lost from error
            raise self.make_error(error) from error
        except (pg8000.exceptions.InterfaceError, OSError, struct.error, AttributeError) as error:
            is_unasked = isinstance(error, AttributeError) and address.password is None  # the driver looks into None
            if "password" in str(error) or is_unasked:
                raise JournalError(self.place, "the database asks for a password", _HINTS["28P01"]) from None
            said: BaseException = error
            while said.__context__ is not None:  # what the database said before it hung up
                said = said.__context__
            if not isinstance(said, pg8000.exceptions.DatabaseError):
                raise _Lost from error
            if _code_of(said) in _RESTARTS:
                raise _Lost from said
            raise self.make_error(said) from error
        milliseconds = int(STATEMENT_SECONDS * 1000)
        self._execute(f'SET search_path TO "{address.schema}"')
        self._execute(f"SET statement_timeout TO {milliseconds}")
        self._execute("SET default_transaction_isolation TO 'read committed'")
        if self._is_safe:
            self._execute("SET synchronous_commit TO on")
        sent = read_uptime()
        self.clock.note(sent, self._execute(f"SELECT {READ_CLOCK}")[0][0])
        self._execute(f"SET idle_in_transaction_session_timeout TO {milliseconds}")


def _open_connection(address: DatabaseAddress) -> Any:
    """Return a connection of the driver; raises the driver's errors and `OSError`."""
    import pg8000.native

    ssl_context = False if address.host.startswith("/") else _make_ssl_context(address.sslmode)
    opened = _open_socket(address)
    try:
        return pg8000.native.Connection(
            address.user,
            host=address.host,
            database=address.database,
            password=address.password,
            ssl_context=ssl_context,
            application_name="forethought",
            sock=opened,
        )
    except BaseException:
        opened.close()  # the driver leaves it open where the server is silent about TLS
        raise


def _open_socket(address: DatabaseAddress) -> socket.socket:
    """Return a socket connected to the database, that waits `SOCKET_SECONDS` for each answer; raises `OSError`."""
    if not address.host.startswith("/"):
        opened = socket.create_connection((address.host, address.port), SOCKET_SECONDS)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return opened
    opened = socket.socket(socket.AF_UNIX)
    try:
        opened.settimeout(SOCKET_SECONDS)
        opened.connect(f"{address.host}/.s.PGSQL.{address.port}")
    except BaseException:
        opened.close()
        raise
    return opened


def _close_all(connections: list[Any]) -> None:
    """Close connections, and forget them."""
    while connections:
        with contextlib.suppress(Exception):
            connections.pop().close()


def _code_of(error: BaseException | None) -> str:
    """Return the code of an error of the database, "" for any other error."""
    said = error.args[0] if error is not None and error.args else None
    return said.get("C", "") if isinstance(said, dict) else ""


def _text_of(error: BaseException) -> str:
    """Return what an error says: of the database, its code and its message."""
    said = error.args[0] if error.args else None
    return f"{said.get('C', '')}: {said.get('M', error)}" if isinstance(said, dict) else str(error)


def _make_ssl_context(mode: str) -> Any:
    """Return the driver's option for an sslmode: None tries, True insists, a context verifies."""
    import ssl

    if mode == "verify-full":
        return ssl.create_default_context()
    return {"disable": False, "prefer": None, "require": True}[mode]


def import_driver() -> None:
    """Import the driver; raises `InputError` where it is not installed."""
    try:
        import pg8000.native  # noqa: F401 - only whether it is there
    except ImportError:
        hint = "pip install 'forethought[postgres]'"
        raise InputError("a journal in PostgreSQL needs the package pg8000", hint=hint) from None
