"""Keep the ledger of effects in the file of a journal: flights and entries of irreversible steps.

They are no events: a flight ends when its step does, and entries outlive the runs that made them. Each write commits
before it returns, so that no two processes ever have the flight of one step.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any, Final

from executor.journal.store import Store
from executor.ledger.records import Entry, Flight, LedgerView, Outcome, list_marks
from planner.lightweight import replace

GONE: Final = "its run was deleted, or ended by hand"
"""The doubt of a flight with which nobody goes on."""
_MARKS: Final = (
    "CREATE TABLE IF NOT EXISTS marks(mark TEXT NOT NULL, item TEXT NOT NULL, PRIMARY KEY(mark, item)) WITHOUT ROWID"
)
_TABLES: Final = (
    """CREATE TABLE IF NOT EXISTS flights(item TEXT PRIMARY KEY, text TEXT NOT NULL, run TEXT NOT NULL,
    step TEXT NOT NULL, key TEXT NOT NULL, since REAL NOT NULL, occasion TEXT NOT NULL, doubt TEXT NOT NULL,
    traces TEXT NOT NULL DEFAULT '', until REAL NOT NULL DEFAULT 0, brings TEXT NOT NULL DEFAULT '')""",
    """CREATE TABLE IF NOT EXISTS entries(number INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL,
    text TEXT NOT NULL, outcome TEXT NOT NULL, run TEXT NOT NULL, step TEXT NOT NULL, key TEXT NOT NULL,
    at REAL NOT NULL, occasion TEXT NOT NULL, seen INTEGER NOT NULL, reason TEXT NOT NULL,
    brings TEXT NOT NULL DEFAULT '')""",
    "CREATE INDEX IF NOT EXISTS entries_item ON entries(item)",
    _MARKS,
    "CREATE TABLE IF NOT EXISTS filled_ledgers(world TEXT PRIMARY KEY)",
)
FLIGHT: Final = "item, text, run, step, key, since, occasion, doubt, traces, until, brings"
ENTRY: Final = "item, text, outcome, run, step, key, at, occasion, seen, reason, brings"
_TAKE: Final = f"INSERT OR IGNORE INTO flights({FLIGHT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - ours
_EARLY: Final = "SELECT 1 FROM sqlite_master WHERE name = 'flights' AND sql NOT LIKE ?"
"""Finds the table of flights of an earlier version, which lacks a column."""
_LATER: Final = (
    ("traces", "ALTER TABLE flights ADD COLUMN traces TEXT NOT NULL DEFAULT ''"),
    ("until", "ALTER TABLE flights ADD COLUMN until REAL NOT NULL DEFAULT 0"),
    ("brings", "ALTER TABLE flights ADD COLUMN brings TEXT NOT NULL DEFAULT ''"),
    ("brings", "ALTER TABLE entries ADD COLUMN brings TEXT NOT NULL DEFAULT ''"),
    ("brings", _MARKS),
)
"""Statements that bring the tables of earlier versions up to date, with the column of flights that these lack."""
_THIS: Final = "WHERE item = ? AND run = ? AND step = ? AND since = ?"
_DOUBT: Final = f"UPDATE flights SET doubt = ?, until = ?, brings = ? {_THIS}"  # noqa: S608 - ours
_FREE: Final = f"DELETE FROM flights {_THIS}"  # noqa: S608 - ours


class LedgerInJournal:
    """The ledger in the file of a journal, which all its processes share."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_ready = False

    def read(self, item: str) -> tuple[Flight | None, list[Entry]]:
        """Return the flight of a step, if there is one, and its entries, the oldest first."""
        with self._store.use():
            if not self._has_tables():
                return None, []
            flights = self._list_flights("WHERE item = ?", (item,))
            return (flights[0] if flights else None), self._list_entries("WHERE item = ?", (item,))

    def take(self, flight: Flight, instead: Flight | None = None) -> Flight:
        """Take a flight if there is none, or only the flight `instead`; return the flight that there is now."""
        with self._store.use():
            self._prepare()
            with self._store.transaction():
                if instead is not None:
                    self._free(instead)
                self._store.connection.execute(_TAKE, row_of(flight))
                self._mark([flight], instead)
                return self._list_flights("WHERE item = ?", (flight.item,))[0]

    def doubt(self, flight: Flight) -> None:
        """Keep the doubt of `flight`, since when it is over, and what it brings, if there is still this flight."""
        with self._store.use():
            self._prepare()
            told = flight.doubt, flight.until, flight.brings
            self._store.connection.execute(_DOUBT, (*told, *identify_flight(flight)))

    def end(self, flight: Flight, entry: Entry | None) -> None:
        """End `flight`, if it is still the flight that there is, and add `entry` in the same moment."""
        with self._store.use():
            self._prepare()
            with self._store.transaction():
                if self._free(flight) and entry is not None:
                    self._insert([entry])

    def add(self, entry: Entry) -> None:
        """Add an entry without a flight."""
        with self._store.use():
            self._prepare()
            with self._store.transaction():
                self._insert([entry])
                self._mark([entry])

    def find_like(self, marks: Collection[str]) -> list[str]:
        """Return the identities of the steps that have one of the `marks`."""
        with self._store.use():
            if not self._has_tables():
                return []
            which = "SELECT DISTINCT item FROM marks WHERE mark IN (SELECT value FROM json_each(?))"
            return [item for (item,) in self._store.connection.execute(which, (json.dumps([*marks]),))]

    def flights(self) -> list[Flight]:
        """Return all flights, the oldest first."""
        with self._store.use():
            return self._list_flights("ORDER BY since", ()) if self._has_tables() else []

    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first."""
        with self._store.use():
            return self._list_entries("", ()) if self._has_tables() else []

    def is_filled(self, world: str) -> bool:
        """Return whether the runs from before the ledger are in it, for the irreversible actions of `world`."""
        with self._store.use():
            found = "SELECT 1 FROM filled_ledgers WHERE world = ?"
            return self._has_tables() and bool(self._store.connection.execute(found, (world,)).fetchone())

    def list_filled(self) -> frozenset[str]:
        """Return the names of what was filled in."""
        with self._store.use():
            return self._list_filled() if self._has_tables() else frozenset()

    def fill(
        self, names: Collection[str], flights: Iterable[Flight], entries: Iterable[Entry], instead: Collection[str] = ()
    ) -> bool:
        """Add what runs have done and left in doubt, and note its `names` in place of those `instead`.

        Where somebody has noted one of them, change nothing and return False.
        """
        flights, entries = list(flights), list(entries)
        with self._store.use():
            self._prepare()
            with self._store.transaction():
                if not self._list_filled().isdisjoint(names):
                    return False
                run = self._store.connection.executemany
                run("DELETE FROM filled_ledgers WHERE world = ?", [(each,) for each in instead])
                run("INSERT INTO filled_ledgers VALUES (?)", [(each,) for each in names])
                run(_TAKE, map(row_of, flights))
                self._insert(entries)
                self._mark([*flights, *entries])
        return True

    def _list_filled(self) -> frozenset[str]:
        return frozenset(name for (name,) in self._store.connection.execute("SELECT world FROM filled_ledgers"))

    def _free(self, flight: Flight) -> bool:
        return bool(self._store.connection.execute(_FREE, identify_flight(flight)).rowcount)

    def _insert(self, entries: Iterable[Entry]) -> None:
        insert = f"INSERT INTO entries({ENTRY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - names of columns
        self._store.connection.executemany(insert, map(row_of, entries))

    def _mark(self, records: Iterable[Flight | Entry], instead: Flight | None = None) -> None:
        rows = [(mark, each.item) for each in records for mark in list_marks(each, instead)]
        self._store.connection.executemany("INSERT OR IGNORE INTO marks VALUES (?, ?)", rows)

    def _list_flights(self, which: str, values: tuple[Any, ...]) -> list[Flight]:
        found = self._store.connection.execute(f"SELECT {FLIGHT} FROM flights {which}", values)  # noqa: S608 - ours
        return [Flight(*row) for row in found.fetchall()]

    def _list_entries(self, which: str, values: tuple[Any, ...]) -> list[Entry]:
        found = self._store.connection.execute(
            f"SELECT {ENTRY} FROM entries {which} ORDER BY at, number",  # noqa: S608 - ours
            values,
        )
        return list(map(read_entry, found.fetchall()))

    def _prepare(self) -> None:
        if not self._has_tables():
            self._store.check_file()
            with self._store.transaction():
                for statement in _TABLES:
                    self._store.connection.execute(statement)
            self._is_ready = True

    def _has_tables(self) -> bool:
        if not self._is_ready:
            found = self._store.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'filled_ledgers'")
            self._is_ready = found.fetchone() is not None
            if self._is_ready and self._is_early():
                with self._store.transaction():
                    lacking = [each for each in dict.fromkeys(name for name, _ in _LATER) if self._is_early(each)]
                    for statement in (each for name, each in _LATER if name in lacking):
                        self._store.connection.execute(statement)
        return self._is_ready

    def _is_early(self, column: str = "brings") -> bool:
        return self._store.connection.execute(_EARLY, (f"%{column}%",)).fetchone() is not None


def leave_in_doubt(ledger: LedgerView, flights: Collection[Flight], at: float) -> list[str]:
    """Leave the `flights` of a run that is deleted in doubt; return their steps."""
    for each in flights:
        if each.is_waiting or not each.doubt:
            ledger.doubt(replace(each, doubt=GONE, until=at))
    return [each.step for each in flights]


def identify_flight(flight: Flight) -> tuple[str, str, str, float]:
    """Return the columns that tell `flight` from every other one, of the same step too."""
    return flight.item, flight.run, flight.step, flight.since


def row_of(record: Flight | Entry) -> tuple[Any, ...]:
    """Return the values of the columns of a flight or an entry."""
    values = [getattr(record, name) for name in type(record).__match_args__]
    return tuple([each.name if isinstance(each, Outcome) else each for each in values])


def read_entry(row: tuple[Any, ...]) -> Entry:
    """Return the entry in a row with the columns `ENTRY`."""
    item, text, outcome, run, step, key, at, occasion, seen, reason, brings = row
    return Entry(item, text, Outcome[outcome], run, step, key, at, occasion, bool(seen), reason, brings)
