"""A cache of texts by key, in a file or in memory, which drops the least recently used.

The file is an SQLite database that several processes may use at once. Errors of reading and writing count as misses.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from planner.errors import InputError, Location, printable
from planner.lightweight import Final

APPLICATION: Final = 0x466F7243  # "ForC"
VERSION: Final = 1
BUSY_SECONDS: Final = 5.0
"""Time to wait while another process writes, in seconds."""
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS kept(
    kind TEXT NOT NULL, key TEXT NOT NULL, alike TEXT NOT NULL, used INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY(kind, key)) WITHOUT ROWID
"""
_ALIKE: Final = "SELECT data FROM kept WHERE kind = :kind AND alike = :alike ORDER BY used DESC LIMIT :most"
_USE: Final = """
UPDATE kept SET used = (SELECT ifnull(max(used), 0) + 1 FROM kept WHERE kind = :kind) WHERE kind = :kind AND key = :key
"""
_PUT: Final = """
INSERT OR REPLACE INTO kept
    VALUES (:kind, :key, :alike, (SELECT ifnull(max(used), 0) + 1 FROM kept WHERE kind = :kind), :data)
"""
_CUT: Final = """
DELETE FROM kept WHERE kind = :kind
    AND used <= (SELECT used FROM kept WHERE kind = :kind ORDER BY used DESC LIMIT 1 OFFSET :capacity)
"""
_LOG: Final = logging.getLogger(__name__)


class Store:
    """A cache of up to `capacity` texts of one `kind`; raises `InputError` for a file that is no cache."""

    def __init__(self, path: str | Path | None, kind: str, capacity: int) -> None:
        if capacity < 1:
            raise InputError(f"a cache has room for 1 or more, not {capacity}")
        self._kind, self._capacity = kind, capacity
        self._guard = threading.Lock()
        self._connection = _open_database(":memory:" if path is None else str(path))

    def __len__(self) -> int:
        found = self._ask("SELECT count(*) FROM kept WHERE kind = :kind")
        return int(found[0][0]) if found else 0

    def get(self, key: str) -> str | None:
        """Return the text of `key`, which counts as its use; None for a miss."""
        found = self._ask("SELECT data FROM kept WHERE kind = :kind AND key = :key", key=key)
        if found:
            self._ask(_USE, key=key)
        return str(found[0][0]) if found else None

    def alike(self, alike: str, most: int) -> Iterator[str]:
        """Yield at most `most` texts that were put as `alike`, the most recently used first."""
        found = self._ask(_ALIKE, alike=alike, most=most)
        yield from (str(data) for (data,) in found)

    def put(self, key: str, data: str, alike: str = "") -> None:
        """Store the text `data` under `key`, in place of a former one."""
        self._ask(_PUT, key=key, alike=alike, data=data)
        self._ask(_CUT, capacity=self._capacity)

    def forget(self, key: str) -> None:
        """Remove the text of `key`."""
        self._ask("DELETE FROM kept WHERE kind = :kind AND key = :key", key=key)

    def close(self) -> None:
        """Close the file."""
        with self._guard:
            self._connection.close()

    def _ask(self, statement: str, **values: str | int) -> list[tuple[str | int, ...]]:
        with self._guard:
            try:
                return self._connection.execute(statement, {"kind": self._kind, **values}).fetchall()
            except sqlite3.Error as error:
                _LOG.warning("a cache of %s is of no use: %s", self._kind, printable(str(error)))
                return []


def _open_database(path: str) -> sqlite3.Connection:
    """Open the database, and make its table if it is empty; raises `InputError`."""
    if not Path(path).parent.is_dir():
        raise InputError(f"there is no folder {Path(path).parent}", Location(path), "make it, or name another file")
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        (application,), (version,) = (
            connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
        )
        empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
        if not empty and (application, version) != (APPLICATION, VERSION):
            raise sqlite3.DatabaseError("another program's, or another version's, database")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if empty:
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        hint = "name another file, or delete this one if it is an old cache"
        raise InputError(f"no cache of plans: {error}", Location(path), hint) from None
    return connection
