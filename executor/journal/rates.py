"""Start times of the steps that share a rate, in the file of a journal, for all processes of one machine.

They are no events: a start is forgotten as soon as it no longer counts. Times are seconds since the machine was
started, which nobody sets; starts that were noted in their future, before another start of it, do not count.
"""

from __future__ import annotations

from typing import Final

from executor.journal.store import Store
from executor.tools.clock import read_uptime

_TABLE: Final = """CREATE TABLE IF NOT EXISTS starts(number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
    noted REAL NOT NULL, starts REAL NOT NULL, ends REAL NOT NULL)"""
_INDEX: Final = "CREATE INDEX IF NOT EXISTS starts_name ON starts(name)"
_FORGET: Final = "DELETE FROM starts WHERE name = ? AND (ends < ? OR noted > ?)"
_BLOCKING: Final = "SELECT starts FROM starts WHERE name = ? ORDER BY starts DESC LIMIT 1 OFFSET ?"
_RESERVE: Final = "INSERT INTO starts(name, noted, starts, ends) VALUES (?, ?, ?, ?)"
SAME: Final = 1.0
"""Largest difference of two readings that does not show that the machine was started again, in seconds."""


class RatesInJournal:
    """Start times of the steps that share a rate, which all processes of a journal's file share."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_ready = False

    def reserve(self, name: str, most: int, seconds: float, patience: float | None) -> tuple[int | None, float]:
        """Reserve the next start that leaves at most `most` in `seconds`; return its number, and in how many seconds.

        The number is None, and nothing is reserved, if it does not come within `patience` seconds.
        """
        with self._store.use():
            self._prepare()
            with self._store.transaction():
                run, now = self._store.connection.execute, read_uptime()
                run(_FORGET, (name, now, now + SAME))
                found = run(_BLOCKING, (name, most - 1)).fetchone()
                delay = 0.0 if found is None else max(found[0] + seconds - now, 0.0)
                if patience is not None and delay > patience:
                    return None, delay
                made = run(_RESERVE, (name, now, now + delay, now + delay + seconds))
                return made.lastrowid, delay

    def give_back(self, number: int) -> None:
        """Release a reserved start."""
        with self._store.use():
            self._store.connection.execute("DELETE FROM starts WHERE number = ?", (number,))

    def _prepare(self) -> None:
        if not self._is_ready:
            self._store.connection.execute(_TABLE)
            self._store.connection.execute(_INDEX)
            self._is_ready = True
