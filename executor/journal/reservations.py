"""Reserve what steps are about to draw on numbers that several runs share.

A step reserves its amounts before it looks at the numbers, and counts what others have reserved before it: whatever a
look does not show yet is reserved by somebody. Later reservations wait for earlier ones, so that no two runs wait for
each other. A reservation stays until its step is over: also while the step waits or is in doubt, and, in a journal,
after the process has died.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import closing
from fractions import Fraction
from typing import Any, Final, NamedTuple, Protocol

from executor.journal.store import Store
from planner.model.arithmetic import Exact, exact_value

_TABLE: Final = """CREATE TABLE IF NOT EXISTS reservations(number INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL,
    step TEXT NOT NULL, item TEXT NOT NULL, amount TEXT NOT NULL, UNIQUE(run, step, item))"""
_EARLIER: Final = "SELECT run, item, amount, step FROM reservations WHERE run <> ? AND number < ? ORDER BY number"


class Reservation(NamedTuple):
    """What the `step` of a run has reserved of `item`: the amount that it adds, below 0 for what it takes."""

    run: str
    item: str
    amount: Exact
    step: str = ""


class Reservations(Protocol):
    """The reservations of all runs that share numbers."""

    def reserve(self, run: str, step: str, amounts: Mapping[str, Exact]) -> list[Reservation]:
        """Reserve `amounts` by item for a step, once; return the earlier reservations of other runs on these items."""

    def release(self, run: str, step: str) -> None:
        """Release what a step has reserved."""

    def keep(self, run: str, steps: Collection[str]) -> None:
        """Release what other steps of `run` than these have reserved."""


class ReservationsInMemory:
    """The reservations of the runs of one executor without a journal."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], dict[str, Exact]] = {}
        """Amounts by run and step, in the order of the reservations."""

    def reserve(self, run: str, step: str, amounts: Mapping[str, Exact]) -> list[Reservation]:
        """Reserve `amounts` by item for a step, once; return the earlier reservations of other runs on these items."""
        self._made.setdefault((run, step), dict(amounts))
        found = []
        for (other, its_step), made in self._made.items():
            if (other, its_step) == (run, step):
                break
            if other != run:
                found += [Reservation(other, item, made[item], its_step) for item in made if item in amounts]
        return found

    def release(self, run: str, step: str) -> None:
        """Release what a step has reserved."""
        self._made.pop((run, step), None)

    def keep(self, run: str, steps: Collection[str]) -> None:
        """Release what other steps of `run` than these have reserved."""
        for other, step in [each for each in self._made if each[0] == run and each[1] not in steps]:
            self.release(other, step)


class ReservationsInJournal:
    """The reservations in the database of a journal, which all its processes share; they are no events."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_ready = False

    def reserve(self, run: str, step: str, amounts: Mapping[str, Exact]) -> list[Reservation]:
        """Reserve `amounts` by item for a step, once; return the earlier reservations of other runs on these items."""
        rows = [(run, step, item, str(Fraction(amount))) for item, amount in amounts.items()]
        with self._store.use():
            self._prepare()
            with self._store.transaction():
                run_sql = self._store.connection.execute
                insert = "INSERT OR IGNORE INTO reservations(run, step, item, amount) VALUES (?, ?, ?, ?)"
                self._store.connection.executemany(insert, rows)
                own = run_sql("SELECT min(number) FROM reservations WHERE run = ? AND step = ?", (run, step))
                ((number,),) = own.fetchall()
                with closing(run_sql(_EARLIER, (run, number))) as found:
                    earlier = found.fetchall()
        made = [Reservation(other, item, read_amount(text), its_step) for other, item, text, its_step in earlier]
        return [each for each in made if each.item in amounts]

    def release(self, run: str, step: str) -> None:
        """Release what a step has reserved."""
        self._delete("run = ? AND step = ?", (run, step))

    def keep(self, run: str, steps: Collection[str]) -> None:
        """Release what other steps of `run` than these have reserved."""
        marks = ", ".join("?" * len(steps))
        self._delete(f"run = ? AND step NOT IN ({marks})", (run, *steps))

    def _delete(self, condition: str, values: tuple[Any, ...]) -> None:
        with self._store.use():
            if self._is_ready or self._has_table():
                self._store.connection.execute(f"DELETE FROM reservations WHERE {condition}", values)  # noqa: S608 - ours

    def _prepare(self) -> None:
        if not self._is_ready:
            self._store.connection.execute(_TABLE)
            self._is_ready = True

    def _has_table(self) -> bool:
        found = self._store.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'reservations'").fetchone()
        self._is_ready = found is not None
        return self._is_ready


def read_amount(text: str) -> Exact:
    """Read an amount that was kept as the text of a fraction."""
    return exact_value(Fraction(text))
