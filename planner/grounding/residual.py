"""Residual formulas, expanded for one ground action: universal quantifiers and large disjunctions.

Most parts are known to be true or false for the given objects, so the expansion is a conjunction of literals and of few
small disjunctions. Each remaining disjunction becomes a derived fact with a rule for each of its parts, shared between
all conditions that have the same one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planner.annotations import Final
from planner.budget import Budget
from planner.grounding.interpreted import make_join
from planner.grounding.joins import Filters, Join, Row
from planner.grounding.literals import FactTable, Literal, RawRule
from planner.grounding.reachability import Database, ticks
from planner.model import And, Atom, Equals, Exists, Forall, Formula, Not, Or, Term, Variable, is_variable
from planner.model.formulas import free_variables

Conjuncts = frozenset[Literal] | None
"""A conjunction of literals; None where it is false. The empty set is true."""

ANY: Final = "@any"


class Residuals:
    """Expands formulas; `rules` collects the rules (body, head) of the derived facts that it made.

    What has quantifiers is expanded once for all bindings that agree on its free variables.
    """

    def __init__(self, table: FactTable, database: Database, budget: Budget) -> None:
        self._table = table
        self._database = database
        self._any: dict[frozenset[frozenset[Literal]], Literal] = {}
        self._tick = ticks(budget).__next__
        self._memo: dict[tuple[int, Row], Conjuncts] = {}
        self._free: dict[int, tuple[Term, ...]] = {}
        self.rules: list[RawRule] = []
        self._joins: dict[tuple[int, int, tuple[Term, ...]], tuple[Join, list[Term]]] = {}
        self._kept: list[Formula] = []

    def expand(self, formula: Formula, binding: Mapping[Term, Term]) -> Conjuncts:
        """Return the literals that `formula` asks for under `binding`, or None where it cannot hold.

        Raises `LimitReached` when the budget is used up.
        """
        key = id(formula)
        if key not in self._free:
            self._kept.append(formula)
            self._free[key] = tuple(sorted(free_variables(formula)))
        values = tuple([binding[name] for name in self._free[key]])
        memo = (key, values)
        if memo not in self._memo:
            self._tick()
            self._memo[memo] = self._expand(formula, dict(zip(self._free[key], values, strict=True)))
        return self._memo[memo]

    def _expand(self, formula: Formula, binding: dict[Term, Term]) -> Conjuncts:  # noqa: PLR0911 - a case each
        match formula:
            case Atom():
                return self._atom(formula.substitute(binding))
            case Not(Atom() as atom):
                return self._negated(atom.substitute(binding))
            case Equals(left, right):
                return _truth(binding.get(left, left) == binding.get(right, right))
            case Not(Equals(left, right)):
                return _truth(binding.get(left, left) != binding.get(right, right))
            case And(parts):
                return self._all(self._part(part, binding) for part in parts)
            case Or(parts):
                return self._some(self._part(part, binding) for part in parts)
            case Forall(variables, part):
                return self._all(self._part(part, full) for full in self._violators(variables, part, binding))
            case Exists(variables, part):
                return self._some(self._part(part, full) for full in self._witnesses(variables, part, binding))
        raise AssertionError(formula)

    def _part(self, formula: Formula, binding: dict[Term, Term]) -> Conjuncts:
        kept = isinstance(formula, Forall | Exists)
        return self.expand(formula, binding) if kept else self._expand(formula, binding)

    def _atom(self, atom: Atom) -> Conjuncts:
        if not self._table.is_numbered(atom):
            return _truth(atom.args in self._database.relation(atom.predicate).rows)
        number = self._table.number(atom)
        return None if number is None else frozenset((number,))

    def _negated(self, atom: Atom) -> Conjuncts:
        if not self._table.is_numbered(atom):
            return _truth(atom.args not in self._database.relation(atom.predicate).rows)
        number = self._table.number(atom)
        return frozenset() if number is None else frozenset((~number,))

    @staticmethod
    def _all(parts: Iterator[Conjuncts]) -> Conjuncts:
        found: set[Literal] = set()
        for part in parts:
            if part is None:
                return None
            found |= part
        return None if any(~literal in found for literal in found) else frozenset(found)

    def _some(self, parts: Iterator[Conjuncts]) -> Conjuncts:
        cases: set[frozenset[Literal]] = set()
        for part in parts:
            if part is not None:
                if not part:
                    return frozenset()
                cases.add(part)
        if any(frozenset((~next(iter(case)),)) in cases for case in cases if len(case) == 1):
            return frozenset()
        if len(cases) <= 1:
            return next(iter(cases), None)
        common = frozenset.intersection(*cases)
        if common in cases:
            return common
        return common | {self._derived(frozenset(case - common for case in cases))}

    def _derived(self, cases: frozenset[frozenset[Literal]]) -> Literal:
        if cases not in self._any:
            number = self._table.add(Atom(f"{ANY}{len(self._any)}"))
            self._any[cases] = number
            ordered = sorted(tuple(sorted(case)) for case in cases)
            self.rules.extend([RawRule(case, number) for case in ordered])
        return self._any[cases]

    def _violators(
        self, variables: tuple[Variable, ...], part: Formula, binding: dict[Term, Term]
    ) -> Iterator[dict[Term, Term]]:
        """Yield the bindings for which `part` is not already true: where all atoms that it negates can hold."""
        parts = part.parts if isinstance(part, Or) else (part,)
        guards = [item.part for item in parts if isinstance(item, Not) and isinstance(item.part, Atom)]
        return self._bindings(variables, guards, binding)

    def _witnesses(
        self, variables: tuple[Variable, ...], part: Formula, binding: dict[Term, Term]
    ) -> Iterator[dict[Term, Term]]:
        """Yield the bindings for which `part` is not already false: where all its atoms can hold."""
        parts = part.parts if isinstance(part, And) else (part,)
        return self._bindings(variables, [item for item in parts if isinstance(item, Atom)], binding)

    def _bindings(
        self, variables: tuple[Variable, ...], guards: Sequence[Atom], binding: dict[Term, Term]
    ) -> Iterator[dict[Term, Term]]:
        key = (id(variables), id(guards[0]) if guards else 0, tuple(binding))
        if key not in self._joins:
            self._joins[key] = self._join(variables, guards, binding)
        join, terms = self._joins[key]
        return (dict(zip(terms, row, strict=True)) for row in join([tuple(binding.values())]))

    def _join(
        self, variables: tuple[Variable, ...], guards: Sequence[Atom], binding: dict[Term, Term]
    ) -> tuple[Join, list[Term]]:
        inner = {variable.name for variable in variables}
        usable = [
            atom for atom in guards if all(arg in inner or arg in binding or not is_variable(arg) for arg in atom.args)
        ]
        terms = [*binding, *[variable.name for variable in variables]]
        sources = self._database.sources(usable)
        bound = {term for source in sources for term in source.atom.args}
        sources += self._database.type_sources(variables, bound)
        return make_join(list(binding), sources, Filters(), terms, self._tick), terms


def _truth(value: bool) -> Conjuncts:  # noqa: FBT001 - it is the value itself
    return frozenset() if value else None
