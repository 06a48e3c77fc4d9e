"""A state of the world as tables of argument tuples, one for each predicate, with indexes made on demand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from planner.annotations import Final
from planner.model import OPEN, Atom

Row = tuple[str, ...]
Positions = tuple[int, ...]


class Table:
    """The rows of one predicate, in the order in which they came; an index once built is kept up to date."""

    __slots__ = ("_indexes", "rows")

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows: dict[Row, None] = dict.fromkeys(rows)
        self._indexes: dict[Positions, dict[Row, dict[Row, None]]] = {}

    def add(self, row: Row) -> None:
        """Make `row` a row of the table."""
        self.rows[row] = None
        for positions, index in self._indexes.items():
            index.setdefault(tuple([row[i] for i in positions]), {})[row] = None

    def discard(self, row: Row) -> None:
        """Take `row` out of the table, where it is one of its rows."""
        if row not in self.rows:
            return
        del self.rows[row]
        for positions, index in self._indexes.items():
            del index[tuple([row[i] for i in positions])][row]

    def matching(self, positions: Positions, key: Row) -> Collection[Row]:
        """Return the rows that have the values `key` at `positions`; valid until the table changes."""
        if not positions:
            return self.rows
        index = self._indexes.get(positions)
        if index is None:
            index = self._indexes[positions] = {}
            for row in self.rows:
                index.setdefault(tuple([row[i] for i in positions]), {})[row] = None
        return index.get(key, ())


EMPTY: Final = Table()


class State:
    """The facts that hold, derived ones left out."""

    __slots__ = ("tables",)

    def __init__(self, facts: Iterable[Atom] = ()) -> None:
        rows: dict[str, list[Row]] = {}
        for fact in facts:
            rows.setdefault(fact.predicate, []).append(fact.args)
        self.tables = {predicate: Table(found) for predicate, found in rows.items()}

    def table(self, predicate: str) -> Table:
        """Return the rows of `predicate`; not to be changed."""
        return self.tables.get(predicate, EMPTY)

    def __contains__(self, fact: Atom) -> bool:
        return fact.args in self.table(fact.predicate).rows

    def __iter__(self) -> Iterator[Atom]:
        return (Atom(predicate, row) for predicate, table in self.tables.items() for row in table.rows)

    def matching(self, pattern: Atom) -> list[Atom]:
        """Return the facts that `pattern` covers: its open arguments cover everything."""
        if OPEN not in pattern.args:
            return [pattern] if pattern in self else []
        positions = tuple([i for i, arg in enumerate(pattern.args) if arg != OPEN])
        key = tuple([pattern.args[i] for i in positions])
        return [Atom(pattern.predicate, row) for row in self.table(pattern.predicate).matching(positions, key)]

    def update(self, removed: Iterable[Atom], added: Iterable[Atom]) -> None:
        """Retract the facts of `removed`, then add those of `added`."""
        for fact in removed:
            if fact.predicate in self.tables:
                self.tables[fact.predicate].discard(fact.args)
        for fact in added:
            if fact.predicate not in self.tables:
                self.tables[fact.predicate] = Table()
            self.tables[fact.predicate].add(fact.args)

    def copy(self) -> State:
        """Return a state of its own with the same facts."""
        twin = State()
        twin.tables = {predicate: Table(table.rows) for predicate, table in self.tables.items()}
        return twin
