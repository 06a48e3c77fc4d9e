"""From what authors write (texts, atoms, formulas, lists of these) to resolved formulas, literals and patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from planner.declare.places import Place
from planner.declare.refs import PredicateRef
from planner.declare.scope import Scope
from planner.declare.syntax import NotationError, cannot_name, is_atom_name, parse_literal, shown
from planner.errors import PddlError, UnsupportedError, did_you_mean
from planner.model import (
    ROOT_TYPE,
    TRUE,
    And,
    Atom,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Literal,
    Not,
    Or,
    Variable,
)
from planner.model.formulas import conjunction, conjuncts

DEEPEST: Final = 90
"""How deep a formula may nest; PDDL text has a similar bound."""
NOTHING: Final[Mapping[str, Formula]] = {}
_SINGLE: Final = str | PredicateRef | Formula


class Conditions:
    """Reads the conditions of one declaration, whose names `scope` gives.

    `known` are texts that were read in an equal scope before, and noted; `fresh` are those that are read here.
    """

    def __init__(
        self, scope: Scope, known_types: Iterable[str], *, exact: bool = False, known: Mapping[str, Formula] = NOTHING
    ) -> None:
        self.scope = scope
        self.fresh: dict[str, Formula] = {}
        self._known_types = known_types
        self._bare = not exact
        self._known = known

    def formula(self, value: Any, place: Place) -> Formula:
        """Return the conjunction of what `value` says; `TRUE` for nothing."""
        parts = self._parts(*_listed(value, place), place)
        return conjunction(parts) if parts else TRUE

    def literals(self, value: Any, place: Place) -> tuple[Literal, ...]:
        """Return atoms and negated atoms; an error for anything else."""
        items, single = _listed(value, place)
        parts = self._parts(items, single, place)
        if {part.__class__ for part in parts} <= {Atom}:
            return tuple(parts)  # type: ignore[arg-type]  # atoms, all of them
        return tuple(
            [
                _literal(each, place if single else place.within(index))
                for index, part in enumerate(parts)
                for each in conjuncts(part)
            ]
        )

    def _parts(self, items: Sequence[Any], single: bool, place: Place) -> list[Formula]:  # noqa: FBT001 - from `_listed`
        known = self._known
        parts = []
        for index, item in enumerate(items):
            part = known.get(item) if item.__class__ is str else None
            parts.append(self._resolved(item, place if single else place.within(index)) if part is None else part)
        return parts

    def patterns(self, value: Any, place: Place, *, record: bool = True) -> tuple[Atom, ...]:
        """Return atoms whose arguments may be open; an error for anything else."""
        found = []
        items, single = _listed(value, place)
        for index, item in enumerate(items):
            item_place = place if single else place.within(index)
            formula, bare = read_item(item, item_place)
            if not isinstance(formula, Atom):
                raise item_place.error(f"a pattern is an atom whose arguments may be '_', not {shown(str(formula))}")
            bare = bare and self._bare
            found.append(self.scope.atom(formula, item_place, bare=bare, may_open=True, record=record))
        return tuple(found)

    def _resolved(self, item: Any, place: Place) -> Formula:
        formula, bare = read_item(item, place)
        resolved = self._resolve(formula, place, self.scope, bare and self._bare, 0)
        if bare and item.__class__ is str:
            self.fresh[item] = resolved
        return resolved

    def _resolve(self, formula: Formula, place: Place, scope: Scope, bare: bool, depth: int) -> Formula:  # noqa: FBT001 - passed on as it is at each level
        if depth > DEEPEST:
            raise place.error(f"a condition nests deeper than {DEEPEST} levels", "write the formula flatter")
        match formula:
            case Atom(predicate):
                if not is_atom_name(predicate):
                    raise place.error(*cannot_name(predicate, "a predicate"))
                return scope.atom(formula, place, bare=bare)
            case Equals(left, right):
                return Equals(*[scope.term(term, formula, place, bare=bare) for term in (left, right)])
            case Not(part):
                return Not(self._resolve(part, place, scope, bare, depth + 1))
            case And(parts) | Or(parts):
                return type(formula)(tuple([self._resolve(part, place, scope, bare, depth + 1) for part in parts]))
            case Imply(premise, conclusion):
                return Imply(
                    self._resolve(premise, place, scope, bare, depth + 1),
                    self._resolve(conclusion, place, scope, bare, depth + 1),
                )
            case Forall(variables, part) | Exists(variables, part):
                self._check_variables(variables, scope, place)
                inner = scope.inside(variables)
                return type(formula)(variables, self._resolve(part, place, inner, bare, depth + 1))
        raise place.error(f"{shown(formula)} is no condition")

    def _check_variables(self, variables: tuple[Variable, ...], scope: Scope, place: Place) -> None:
        for variable in variables:
            if variable.name in scope.variables and self._bare:
                raise place.error(f"the variable {variable.name} hides another of {scope.owner}", "rename one of them")
            for name in variable.types:
                if name != ROOT_TYPE and name not in self._known_types:
                    near = did_you_mean(name, self._known_types)
                    raise place.error(f"the variable {variable.name} is of the unknown type {name!r}", near)


def _listed(value: Any, place: Place) -> tuple[Sequence[Any], bool]:
    """Return the single conditions that `value` holds, and whether it is one itself: then it has the place of all."""
    if value.__class__ is list or value.__class__ is tuple:
        return value, False
    if value is None:
        return (), False
    if isinstance(value, _SINGLE):
        return (value,), True
    if isinstance(value, Iterable):
        return list(value), False
    raise place.error(f"{shown(value)} is no condition", "write an atom as text, or a list of them")


def _literal(part: Formula, place: Place) -> Literal:
    if isinstance(part, Atom) or (isinstance(part, Not) and isinstance(part.part, Atom)):
        return part
    raise place.error(
        f"an effect is an atom or a negated atom, not {shown(str(part))}", "When(…) gives conditional effects"
    )


def read_item(item: Any, place: Place) -> tuple[Formula, bool]:
    """Return the formula of one item, unresolved, and whether bare names in it may mean parameters."""
    if isinstance(item, str):
        if item.lstrip().startswith("("):
            return _pddl(item, place), False
        try:
            return parse_literal(item), True
        except NotationError as mistake:
            raise place.error(mistake.problem, mistake.hint) from None
    if isinstance(item, Formula):
        return item, True
    if isinstance(item, PredicateRef):
        raise place.error(f"'{item}' is a predicate, not an atom", f"call it: {item}(…)")
    raise place.error(f"{shown(item)} is no condition", "write an atom as text: 'name(arg, …)'")


def _pddl(text: str, place: Place) -> Formula:
    from planner.pddl import parse_condition  # noqa: PLC0415 - only expressions need the reader

    try:
        return parse_condition(text, source=str(place.location))
    except UnsupportedError as error:
        construct = error.construct.rpartition(" at ")[0]
        raise UnsupportedError(f"{construct} at {place.location}", error.hint) from None
    except PddlError as error:
        raise place.error(f"{error.message}, in the PDDL expression {shown(text.strip())}", error.hint) from None
