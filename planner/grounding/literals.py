"""Ground literals as integers, and conditions over them.

Fact f is the literal f, its negation ~f (so -1 - f). Facts are numbered by predicate and row, in the order found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from planner.annotations import cast
from planner.grounding.joins import Row, projector
from planner.grounding.reachability import Database
from planner.model import Atom, Term
from planner.records import dataclass, field

Literal = int
Clause = tuple[tuple[Literal, ...], ...]
"""A disjunction of conjunctions of literals."""


@dataclass(frozen=True, slots=True)
class RawRule:
    """A ground axiom over literals."""

    body: tuple[Literal, ...]
    head: int


@dataclass(slots=True)
class FactTable:
    """The numbers of all reachable facts that actions or axioms write."""

    database: Database
    atoms: list[Atom] = field(default_factory=list)
    numbers: dict[str, dict[Row, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, database: Database, predicates: Iterable[str]) -> FactTable:
        """Return a table with a number for each row of `predicates`."""
        table = cls(database)
        for predicate in sorted(predicates):
            rows = database.relation(predicate).rows
            table.numbers[predicate] = {row: len(table.atoms) + place for place, row in enumerate(rows)}
            table.atoms.extend([Atom(predicate, row) for row in rows])
        return table

    def holding(self, initial: Mapping[str, Iterable[Row]]) -> set[int]:
        """Return the numbers of the facts that hold initially."""
        return {
            rows[row] for predicate, rows in self.numbers.items() for row in initial.get(predicate, ()) if row in rows
        }

    def number(self, atom: Atom) -> int | None:
        """Return the number of a ground atom, or None where it is not reachable."""
        return self.numbers[atom.predicate].get(atom.args)

    def add(self, atom: Atom) -> int:
        """Return the number of `atom`, giving it a new one if it has none."""
        rows = self.numbers.setdefault(atom.predicate, {})
        if atom.args not in rows:
            rows[atom.args] = len(self.atoms)
            self.atoms.append(atom)
        return rows[atom.args]

    def is_numbered(self, atom: Atom) -> bool:
        """Return whether atoms of this predicate change, and so are facts of the task."""
        return atom.predicate in self.numbers


Column = Callable[[Sequence[Row]], list[int | None]]
"""A function from rows to the number of one atom in each; None where it cannot come about."""


def columns(atoms: Iterable[Atom], variables: Sequence[Term], table: FactTable) -> list[Column]:
    """Return, for each atom that is a fact of the task, a function from rows over `variables` to its numbers."""
    return [_column(atom, variables, table) for atom in atoms if table.is_numbered(atom)]


def _column(atom: Atom, variables: Sequence[Term], table: FactTable) -> Column:
    number_of, project = table.numbers[atom.predicate].get, projector(atom.args, variables)
    return lambda rows: list(map(number_of, map(project, rows)))


class Columns:
    """Grounds atoms over rows, all rows at once and each atom once."""

    __slots__ = ("_found", "_rows", "_table", "_variables")

    def __init__(self, variables: Sequence[Term], table: FactTable, rows: Sequence[Row]) -> None:
        self._variables = variables
        self._table = table
        self._rows = rows
        self._found: dict[Atom, Sequence[Literal]] = {}

    def of(self, atoms: Iterable[Atom]) -> list[Sequence[Literal]]:
        """Return a column for each of `atoms` that is a fact of the task, with None where it cannot come about."""
        for atom in atoms:
            if atom not in self._found and self._table.is_numbered(atom):
                column = _column(atom, self._variables, self._table)(self._rows)
                self._found[atom] = cast("Sequence[Literal]", column)
        return [self._found[atom] for atom in atoms if atom in self._found]


class Picker:
    """Grounds the literals of atoms and of negated atoms, all rows at once."""

    __slots__ = ("_negative", "_positive")

    def __init__(
        self, atoms: Iterable[Atom], negated: Iterable[Atom], variables: Sequence[Term], table: FactTable
    ) -> None:
        self._positive = columns(atoms, variables, table)
        self._negative = columns(negated, variables, table)

    def __call__(self, rows: Sequence[Row]) -> Iterator[list[Literal]]:
        """Yield the literals of each row; atoms that cannot come about are false: their negations need no literal."""
        found = [column(rows) for column in self._positive]
        found += [[None if n is None else ~n for n in column(rows)] for column in self._negative]
        if not found:
            return iter([[] for _ in rows])
        if any(None in numbers for numbers in found):
            return ([number for number in numbers if number is not None] for numbers in zip(*found, strict=True))
        return map(list, zip(*cast("list[list[Literal]]", found), strict=True))
