"""Keep which runs are on their way from one journal to another, in the file of a journal.

A move is "to PLACE" in the journal that a run leaves and "from PLACE" in the one where it arrives, "" for other runs.
Nobody drives or deletes a run on its way: wherever a move breaks off, at most one of the two journals has the run due.
Rows are no events; they name the number of the run, which no other run ever gets.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from executor.errors import MovingError
from executor.journal.store import Store

_TABLE: Final = "CREATE TABLE IF NOT EXISTS moves(run INTEGER PRIMARY KEY, move TEXT NOT NULL)"


def explain_move(place: Path | str, run: str, move: str) -> tuple[str, str]:
    """Return what is wrong with a run whose move broke off, and how to mend it."""
    way, _, other = move.partition(" ")
    ends = (str(place), other) if way == "to" else (other, str(place))
    finish = shlex.join(["forethought", "runs", "copy", *ends, run])
    return f"a move of run {run!r} {move} broke off", f"finish it: {finish}"


def check_move(place: Path | str, run: str, kept: str, expected: str) -> None:
    """Raise `MovingError` if `run` is on another way than `expected`."""
    if kept != expected:
        raise MovingError(place, *explain_move(place, run, kept or expected))


class MovesInJournal:
    """The moves of runs in the file of a journal, within `Store.use` of the caller."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_ready = False

    def read(self, number: int) -> str:
        """Return the move of the run `number`."""
        if not self._has_table():
            return ""
        found = self._store.connection.execute("SELECT move FROM moves WHERE run = ?", (number,)).fetchone()
        return "" if found is None else str(found[0])

    def read_all(self) -> dict[int, str]:
        """Return the moves of all runs that are on their way, by number."""
        return dict(self._store.connection.execute("SELECT * FROM moves")) if self._has_table() else {}

    def keep(self, number: int, move: str) -> None:
        """Keep the move of the run `number`; "" ends it."""
        if move:
            self._store.connection.execute(_TABLE)
            self._store.connection.execute("INSERT OR REPLACE INTO moves VALUES (?, ?)", (number, move))
        elif self._has_table():
            self._store.connection.execute("DELETE FROM moves WHERE run = ?", (number,))

    def _has_table(self) -> bool:
        if not self._is_ready:
            found = self._store.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'moves'").fetchone()
            self._is_ready = found is not None
        return self._is_ready
