"""Conditions and effects as the texts that documents hold."""

from __future__ import annotations

from collections.abc import Iterable

from planner.model import OPEN, TRUE, And, Atom, Equals, Formula, Literal, Not, is_variable
from planner.pddl.expressions import condition


class Notation:
    """Writes atoms where `variables` are parameters; a name that is also one of `constants` keeps its `?`."""

    def __init__(self, variables: Iterable[str], constants: Iterable[str]) -> None:
        self._variables = frozenset(variables)
        self._bare = frozenset(name.removeprefix("?") for name in self._variables)
        self._constants = frozenset(constants)

    def inside(self, variables: Iterable[str]) -> Notation:
        """Return the notation where there are more variables."""
        more = frozenset(variables)
        return Notation(self._variables | more, self._constants) if more else self

    def formula(self, formula: Formula) -> list[str]:
        """Return the texts whose conjunction is `formula`."""
        if formula == TRUE:
            return []
        if isinstance(formula, And) and len(formula.parts) > 1:
            return [self.single(part) for part in formula.parts]
        return [self.single(formula)]

    def single(self, formula: Formula) -> str:
        """Return `formula` as one text."""
        match formula:
            case Atom() if self._is_plain(formula.args):
                return self._atom(formula)
            case Not(Atom() as part) if self._is_plain(part.args):
                return f"not {self._atom(part)}"
            case Equals(left, right) if self._is_plain((left, right)):
                return f"{self._term(left)} == {self._term(right)}"
            case Not(Equals(left, right)) if self._is_plain((left, right)):
                return f"{self._term(left)} != {self._term(right)}"
        return condition(formula)

    def literals(self, literals: Iterable[Literal]) -> list[str]:
        """Return effects, one a text."""
        return [self.single(literal) for literal in literals]

    def patterns(self, patterns: Iterable[Atom]) -> list[str]:
        """Return patterns, one a text."""
        return [self.atom(pattern) for pattern in patterns]

    def atom(self, atom: Atom) -> str:
        """Return one atom."""
        return self.single(atom)

    def _atom(self, atom: Atom) -> str:
        return str(Atom(atom.predicate, tuple([self._term(arg) for arg in atom.args])))

    def _term(self, term: str) -> str:
        bare = term.removeprefix("?")
        return term if term == bare or bare in self._constants or bare == OPEN else bare

    def _is_plain(self, terms: Iterable[str]) -> bool:
        """Return whether `name(arg, …)` can say it: no object is named like a parameter."""
        return all(is_variable(term) or term not in self._bare for term in terms)
