"""Texts under keys, in a file or in memory: the least recently used of too many are forgotten.

The file is an SQLite database, which several processes may use at once. What cannot be read or written is as if it had
never been kept: whoever asks here can do without.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from planner.errors import InputError, Location, printable
from planner.lightweight import Final

APPLICATION: Final = 0x466F7243  # "ForC"
VERSION: Final = 1
BUSY: Final = 5.0
"""Seconds to wait while another process writes."""
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS kept(
    kind TEXT NOT NULL, key TEXT NOT NULL, alike TEXT NOT NULL, used INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY(kind, key)) WITHOUT ROWID
"""
_USE: Final = """
UPDATE kept SET used = (SELECT ifnull(max(used), 0) + 1 FROM kept WHERE kind = ?1) WHERE kind = ?1 AND key = ?2
"""
_PUT: Final = """
INSERT OR REPLACE INTO kept
    VALUES (?1, ?2, ?3, (SELECT ifnull(max(used), 0) + 1 FROM kept WHERE kind = ?1), ?4)
"""
_CUT: Final = """
DELETE FROM kept WHERE kind = ?1
    AND used <= (SELECT used FROM kept WHERE kind = ?1 ORDER BY used DESC LIMIT 1 OFFSET ?2)
"""
_LOG: Final = logging.getLogger(__name__)


class Store:
    """What is kept of one `kind`, up to `capacity` texts. Raises `InputError` for a file that is something else."""

    def __init__(self, path: str | Path | None, kind: str, capacity: int) -> None:
        if capacity < 1:
            raise InputError(f"a cache has room for 1 or more, not {capacity}")
        self._kind, self._capacity = kind, capacity
        self._guard = threading.Lock()
        self._connection = _opened(":memory:" if path is None else str(path))

    def __len__(self) -> int:
        found = self._ask("SELECT count(*) FROM kept WHERE kind = ?")
        return int(found[0][0]) if found else 0

    def get(self, key: str) -> str | None:
        """Return what is kept under `key`, which is used by that; None for nothing."""
        found = self._ask("SELECT data FROM kept WHERE kind = ? AND key = ?", key)
        if found:
            self._ask(_USE, key)
        return str(found[0][0]) if found else None

    def alike(self, alike: str, most: int) -> Iterator[str]:
        """Yield what is kept under other keys and is `alike`, the most recently used first."""
        found = self._ask("SELECT data FROM kept WHERE kind = ? AND alike = ? ORDER BY used DESC LIMIT ?", alike, most)
        yield from (str(data) for (data,) in found)

    def put(self, key: str, data: str, alike: str = "") -> None:
        """Keep `data` under `key`, in place of what was kept under it."""
        self._ask(_PUT, key, alike, data)
        self._ask(_CUT, self._capacity)

    def forget(self, key: str) -> None:
        """Keep nothing under `key`."""
        self._ask("DELETE FROM kept WHERE kind = ? AND key = ?", key)

    def close(self) -> None:
        """Close the file."""
        with self._guard:
            self._connection.close()

    def _ask(self, statement: str, *values: str | int) -> list[tuple[str | int, ...]]:
        with self._guard:
            try:
                return self._connection.execute(statement, (self._kind, *values)).fetchall()
            except sqlite3.Error as error:
                _LOG.warning("a cache of %s is of no use: %s", self._kind, printable(str(error)))
                return []


def _opened(path: str) -> sqlite3.Connection:
    if not Path(path).parent.is_dir():
        raise InputError(f"there is no folder {Path(path).parent}", Location(path), "make it, or name another file")
    connection = None
    try:
        connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
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
        with contextlib.suppress(AttributeError):
            connection.close()  # type: ignore[union-attr]  # none where it could not be opened
        hint = "name another file, or delete this one if it is an old cache"
        raise InputError(f"no cache of plans: {error}", Location(path), hint) from None
    return connection
