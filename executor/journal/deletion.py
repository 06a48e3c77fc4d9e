"""Deleting a run: its events go, and an empty row keeps its number, so that the numbers of runs have no gap.

Only this module changes what a journal has. The triggers that keep the tables append-only are dropped and made again
within the transaction that deletes, so that no other connection ever sees the tables without them.
"""

from __future__ import annotations

import sqlite3
from typing import Final
from uuid import uuid4

from executor.journal import chain
from executor.journal.schema import TRIGGERS

DELETED: Final = 0.0
"""When a deleted run was created, as its row says."""
_LIFTED: Final = ("events_last", "runs_stay")
"""The triggers that refuse to delete events, and to change the row of a run."""


def names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the runs that were not deleted, in the order of their creation."""
    rows = connection.execute("SELECT name FROM runs NOT INDEXED WHERE created <> ? ORDER BY number", (DELETED,))
    return [name for (name,) in rows]


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
