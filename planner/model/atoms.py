"""Names, atoms and literals: the leaves of every formula.

A *term* is a string. Terms that start with `?` are variables, the term `_` leaves an argument of a pattern open, and
all others name objects or constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.annotations import Final
from planner.records import dataclass

Term = str
OPEN: Final = "_"


def is_variable(term: Term) -> bool:
    """Return whether `term` is a variable."""
    return term.startswith("?")


@dataclass(frozen=True, slots=True)
class Atom:
    """`predicate(args…)`: a fact when ground, a pattern when arguments are variables or open."""

    predicate: str
    args: tuple[Term, ...] = ()

    @property
    def is_ground(self) -> bool:
        """Whether no argument is a variable or open."""
        return not any(arg == OPEN or arg.startswith("?") for arg in self.args)

    def substitute(self, binding: Mapping[Term, Term]) -> Atom:
        """Return this atom with its terms replaced where `binding` has them."""
        return Atom(self.predicate, tuple([binding.get(arg, arg) for arg in self.args]))

    def matches(self, fact: Atom) -> bool:
        """Return whether this pattern covers the ground `fact`: open arguments cover everything."""
        return (
            self.predicate == fact.predicate
            and len(self.args) == len(fact.args)
            and all(mine in (OPEN, other) for mine, other in zip(self.args, fact.args, strict=True))
        )

    def __str__(self) -> str:
        return f"{self.predicate}({', '.join(self.args)})" if self.args else self.predicate


@dataclass(frozen=True, slots=True)
class Variable:
    """A typed variable; `name` starts with `?`; more than one type means `either`."""

    name: str
    types: tuple[str, ...] = ("object",)

    def __str__(self) -> str:
        return f"{self.name} - {' | '.join(self.types)}"


@dataclass(frozen=True, slots=True)
class Object:
    """A named object of the world, or a constant of a domain."""

    name: str
    types: tuple[str, ...] = ("object",)

    def __str__(self) -> str:
        return self.name


def terms_of(atoms: Iterable[Atom]) -> set[Term]:
    """Return every term that occurs in `atoms`."""
    return {arg for atom in atoms for arg in atom.args}
