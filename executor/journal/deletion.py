"""Deleting a run: its events go, and an empty row keeps its number, so that the numbers of runs have no gap.

Only this module changes what a journal has. The triggers that keep the tables append-only are dropped and made again
within the transaction that deletes, so that no other connection ever sees the tables without them.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final
from uuid import uuid4

from executor.errors import DamagedError
from executor.journal import chain
from executor.journal.failures import RESTORE
from executor.journal.schema import TRIGGERS

DELETED: Final = 0.0
"""When a deleted run was created, as its row says."""
_LIFTED: Final = ("events_last", "runs_stay")
"""The triggers that refuse to delete events, and to change the row of a run."""


def names(connection: sqlite3.Connection, path: Path) -> list[str]:
    """Return the names of the runs that were not deleted, in the order of their creation.

    Raises `DamagedError` for the row of a run, deleted or not, that is not as it was written.
    """
    found = []
    for number, name, created, checksum in connection.execute("SELECT * FROM runs NOT INDEXED ORDER BY number"):
        if not isinstance(name, str) or checksum != chain.beginning(number, name, created):
            raise DamagedError(path, f"run {number} is changed", RESTORE)
        if created != DELETED:
            found.append(name)
    return found


def delete(connection: sqlite3.Connection, number: int) -> None:
    """Delete the events of run `number`, and its name and time, within a transaction of the caller."""
    for trigger in _LIFTED:
        connection.execute(f"DROP TRIGGER {trigger}")
    name = f"deleted {uuid4().hex}"
    connection.execute("DELETE FROM events WHERE run = ?", (number,))
    connection.execute(
        "UPDATE runs SET name = ?, created = ?, checksum = ? WHERE number = ?",
        (name, DELETED, chain.beginning(number, name, DELETED), number),
    )
    for trigger in _LIFTED:
        connection.execute(TRIGGERS[trigger])
