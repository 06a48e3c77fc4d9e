"""Keep the ledger of effects in the database of a journal: flights and entries of irreversible steps."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any, Final

from executor.journal.effects import ENTRY, FLIGHT, GONE, read_entry, row_of
from executor.journal.postgres.connection import Database, Statements
from executor.ledger.records import WAITS, Entry, Flight, list_marks

_TAKE: Final = f"""INSERT INTO flights({FLIGHT}) VALUES (:item, :text, :run, :step, :key, CAST(:since AS float8),
    :occasion, :doubt, :traces, CAST(:until AS float8), :brings) ON CONFLICT DO NOTHING"""  # noqa: S608 - names of columns
_ADD: Final = f"""INSERT INTO entries({ENTRY}) VALUES (:item, :text, :outcome, :run, :step, :key, CAST(:at AS float8),
    :occasion, :seen, :reason, :brings)"""  # noqa: S608 - names of columns
_THIS: Final = "item = :item AND run = :run AND step = :step AND since = CAST(:since AS float8)"
_FREE: Final = f"DELETE FROM flights WHERE {_THIS} RETURNING 1"  # noqa: S608 - as above
_DOUBT: Final = f"""UPDATE flights SET doubt = :doubt, until = CAST(:until AS float8), brings = :brings
    WHERE {_THIS}"""  # noqa: S608 - as above

_LEAVE: Final = """UPDATE flights SET doubt = :gone, until = extract(epoch FROM clock_timestamp())::float8
    WHERE run = :run AND doubt IN ('', :waits)"""


class LedgerInPostgres:
    """The ledger in the database of a journal, which the processes of all hosts share."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, item: str) -> tuple[Flight | None, list[Entry]]:
        """Return the flight of a step, if there is one, and its entries, the oldest first."""

        def read(execute: Statements, _: bool) -> tuple[Flight | None, list[Entry]]:
            return _find_flight(execute, item), _list_entries(execute, "WHERE item = :item", item=item)

        return self._database.repeat(read, together=True)

    def take(self, flight: Flight, instead: Flight | None = None) -> Flight:
        """Take a flight if there is none, or only the flight `instead`; return the flight that there is now."""

        def take(execute: Statements, _: bool) -> Flight:
            if instead is not None:
                execute(_FREE, **_this(instead))
            execute(_TAKE, **_columns_of(flight))
            _mark(execute, flight, instead)
            return _find_flight(execute, flight.item) or flight

        return self._database.repeat(take, together=True)

    def doubt(self, flight: Flight) -> None:
        """Keep the doubt of `flight`, since when it is over, and what it brings, if there is still this flight."""
        told = {"doubt": flight.doubt, "until": flight.until, "brings": flight.brings}
        self._database.run(_DOUBT, **told, **_this(flight))

    def end(self, flight: Flight, entry: Entry | None) -> None:
        """End `flight`, if it is still the flight that there is, and add `entry` in the same moment."""

        def end(execute: Statements, _: bool) -> None:
            if execute(_FREE, **_this(flight)) and entry is not None:
                execute(_ADD, **_columns_of(entry))

        self._database.repeat(end, together=True)

    def add(self, entry: Entry) -> None:
        """Add an entry without a flight."""

        def add(execute: Statements, _: bool) -> None:
            execute(_ADD, **_columns_of(entry))
            _mark(execute, entry)

        self._database.repeat(add, together=True)

    def find_like(self, marks: Collection[str]) -> list[str]:
        """Return the identities of the steps that have one of the `marks`."""
        found = "SELECT DISTINCT item FROM marks WHERE mark IN (SELECT json_array_elements_text(CAST(:marks AS json)))"
        return [item for (item,) in self._database.run(found, marks=json.dumps([*marks]))]

    def flights(self) -> list[Flight]:
        """Return all flights, the oldest first."""
        found = self._database.run(f"SELECT {FLIGHT} FROM flights ORDER BY since")  # noqa: S608 - names of columns
        return [Flight(*row) for row in found]

    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first."""
        return self._database.repeat(lambda execute, _: _list_entries(execute, ""))

    def is_filled(self, world: str) -> bool:
        """Return whether the runs from before the ledger are in it, for the irreversible actions of `world`."""
        return bool(self._database.run("SELECT 1 FROM filled_ledgers WHERE world = :world", world=world))

    def list_filled(self) -> frozenset[str]:
        """Return the names of what was filled in."""
        return frozenset(name for (name,) in self._database.run("SELECT world FROM filled_ledgers"))

    def fill(
        self, names: Collection[str], flights: Iterable[Flight], entries: Iterable[Entry], instead: Collection[str] = ()
    ) -> bool:
        """Add what runs have done and left in doubt, and note its `names` in place of those `instead`.

        Where somebody has noted one of them, change nothing and return False.
        """
        flights, entries = list(flights), list(entries)
        given = {"names": json.dumps([*names])}

        def fill(execute: Statements, _: bool) -> bool:
            execute("SELECT pg_advisory_xact_lock(hashtextextended('filled', 0))")
            chosen = "SELECT json_array_elements_text(CAST(:names AS json))"
            if execute(f"SELECT 1 FROM filled_ledgers WHERE world IN ({chosen})", **given):  # noqa: S608 - ours
                return False
            execute(f"INSERT INTO filled_ledgers {chosen}", **given)
            execute(f"DELETE FROM filled_ledgers WHERE world IN ({chosen})", names=json.dumps([*instead]))  # noqa: S608 - ours
            for flight in flights:
                execute(_TAKE, **_columns_of(flight))
                _mark(execute, flight)
            for entry in entries:
                execute(_ADD, **_columns_of(entry))
                _mark(execute, entry)
            return True

        return self._database.repeat(fill, together=True)


def leave_run_in_doubt(execute: Statements, run: str) -> list[str]:
    """Leave the flights of a run that is deleted in doubt; return the steps that have one."""
    execute(_LEAVE, gone=GONE, run=run, waits=WAITS)
    return [step for (step,) in execute("SELECT step FROM flights WHERE run = :run", run=run)]


def _mark(execute: Statements, record: Flight | Entry, instead: Flight | None = None) -> None:
    for mark in list_marks(record, instead):
        execute("INSERT INTO marks VALUES (:mark, :item) ON CONFLICT DO NOTHING", mark=mark, item=record.item)


def _find_flight(execute: Statements, item: str) -> Flight | None:
    found = execute(f"SELECT {FLIGHT} FROM flights WHERE item = :item", item=item)  # noqa: S608 - names of columns
    return Flight(*found[0]) if found else None


def _list_entries(execute: Statements, which: str, **values: Any) -> list[Entry]:
    found = execute(f"SELECT {ENTRY} FROM entries {which} ORDER BY at, number", **values)  # noqa: S608 - names of columns
    return [read_entry(tuple(row)) for row in found]


def _columns_of(record: Flight | Entry) -> dict[str, Any]:
    return dict(zip(type(record).__match_args__, row_of(record), strict=True))


def _this(flight: Flight) -> dict[str, Any]:
    return {"item": flight.item, "run": flight.run, "step": flight.step, "since": flight.since}
