"""Ground literals as integers, and conditions over them.

Fact f is the literal f, its negation ~f (so -1 - f). Facts are numbered by predicate and row, in the order found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.grounding.joins import Row, projector
from planner.grounding.reachability import Database
from planner.model import Atom, Term
from planner.normalise import Conjunction

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


Picker = Callable[[Row], int | None]


def pickers(atoms: Iterable[Atom], variables: Sequence[Term], table: FactTable) -> list[Picker]:
    """Return, for each atom that is a fact of the task, a function from rows over `variables` to its number."""
    return [_picker(atom, variables, table) for atom in atoms if table.is_numbered(atom)]


def _picker(atom: Atom, variables: Sequence[Term], table: FactTable) -> Picker:
    numbers, project = table.numbers[atom.predicate], projector(atom.args, variables)
    return lambda row: numbers.get(project(row))


class ConditionPicker:
    """Grounds the literals of a conjunction for a row; residual formulas are left to their expansion."""

    __slots__ = ("_negative", "_positive")

    def __init__(self, condition: Conjunction, variables: Sequence[Term], table: FactTable) -> None:
        self._positive = pickers(condition.atoms, variables, table)
        self._negative = pickers(condition.negated, variables, table)

    def __call__(self, row: Row) -> list[Literal]:
        """Return the literals; atoms that cannot come about are false, so their negations need no literal."""
        found = [number for pick in self._positive if (number := pick(row)) is not None]
        found += [~number for pick in self._negative if (number := pick(row)) is not None]
        return found
