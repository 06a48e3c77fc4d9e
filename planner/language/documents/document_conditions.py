"""Read and write conditions, effects, constraints and defaults of data parameters in documents.

Constraints are written `{never: "…"}`, `{before: {first: …, then: …}}`, and steps as `{done: "action(_)"}`.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from planner.errors import UnsupportedError
from planner.language.declare.condition_reader import Demand, PlacedValue, parse_step_pattern
from planner.language.declare.fields import Place
from planner.language.pddl.pddl_writer import write_condition
from planner.model.actions import Constraint, ConstraintKind, Done, Happening, NumericEffect
from planner.model.formulas import (
    OPEN,
    TRUE,
    And,
    Atom,
    Comparison,
    Equals,
    Expression,
    Formula,
    Not,
    functions_in,
    is_variable,
    substitute_expression,
)

if TYPE_CHECKING:
    from planner.language.documents.schema import ConstraintDocument


class Notation:
    """Writes atoms where `variables` are parameters; a name that is also one of `constants` keeps its `?`."""

    def __init__(self, variables: Iterable[str], constants: Iterable[str]) -> None:
        self._variables = frozenset(variables)
        self._bare = frozenset(name.removeprefix("?") for name in self._variables)
        self._constants = frozenset(constants)

    def inside(self, variables: Iterable[str]) -> Notation:
        """Extend the notation by more variables."""
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
                return self._write_atom(formula)
            case Not(Atom() as part) if self._is_plain(part.args):
                return f"not {self._write_atom(part)}"
            case Equals(left, right) if self._is_plain((left, right)):
                return f"{self._write_term(left)} == {self._write_term(right)}"
            case Not(Equals(left, right)) if self._is_plain((left, right)):
                return f"{self._write_term(left)} != {self._write_term(right)}"
            case Comparison() if self._is_plain(_terms_of(formula)):
                return str(self._bare_comparison(formula))
            case Not(Comparison() as part) if self._is_plain(_terms_of(part)):
                return str(Not(self._bare_comparison(part)))
        return write_condition(formula)

    def _bare_comparison(self, comparison: Comparison) -> Comparison:
        return comparison.substitute({term: self._write_term(term) for term in _terms_of(comparison)})

    def expression(self, expression: Expression) -> str:
        """Return an expression as text."""
        names = [arg for term in functions_in(expression) for arg in term.args]
        return str(substitute_expression(expression, {term: self._write_term(term) for term in names}))

    def effect(self, effect: NumericEffect) -> str:
        """Return a numeric effect as text."""
        return f"{self._write_atom(effect.fluent)} {effect.operator} {self.expression(effect.value)}"

    def each(self, formulas: Iterable[Formula]) -> list[str]:
        """Return each of `formulas` as one text: literals of effects, or patterns."""
        return [self.single(formula) for formula in formulas]

    def _write_atom(self, atom: Atom) -> str:
        return str(Atom(atom.predicate, tuple([self._write_term(arg) for arg in atom.args])))

    def _write_term(self, term: str) -> str:
        bare = term.removeprefix("?")
        return term if term == bare or bare in self._constants or bare == OPEN else bare

    def _is_plain(self, terms: Iterable[str]) -> bool:
        """Return whether `name(arg, …)` can express it: no object has the name of a parameter."""
        return all(is_variable(term) or term not in self._bare for term in terms)


def _terms_of(comparison: Comparison) -> list[str]:
    return [arg for term in comparison.functions for arg in term.args]


def read_default(value: Any, annotation: Any, place: Place) -> Any:
    """Convert `value` to the type `annotation`, or raise an error at `place`."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(annotation).validate_python(value if annotation is Decimal else _floats_of(value))
    except ValidationError:
        raise place.within("default").error(f"the default {value!r} is not of the declared type") from None


def write_default(value: Any, annotation: Any, owner: str) -> Any:
    """Convert `value` to texts, numbers, lists and mappings; raises `UnsupportedError` where that loses something."""
    from pydantic import TypeAdapter, ValidationError

    adapter = TypeAdapter(annotation)
    try:
        plain = adapter.dump_python(value, mode="json", warnings="error")
        if adapter.validate_python(plain) == value:
            return plain
    except (ValueError, ValidationError):
        pass
    raise UnsupportedError(f"the default {value!r} of {owner} in a document", "only plain values can be written")


def _floats_of(value: Any) -> Any:
    """Replace the decimals in `value`, which come from files, by floats."""
    match value:
        case Decimal():
            return float(value)
        case list():
            return [_floats_of(each) for each in value]
        case dict():
            return {key: _floats_of(each) for key, each in value.items()}
    return value


_SIMPLE: Final = {
    "always": (ConstraintKind.ALWAYS, 1),
    "sometime": (ConstraintKind.SOMETIME, 1),
    "never": (ConstraintKind.AT_MOST, 0),
}
_STEPS: Final = {"mandatory": (ConstraintKind.SOMETIME, 1), "forbidden": (ConstraintKind.AT_MOST, 0)}
_PARTS: Final = {"before": (ConstraintKind.BEFORE, "first", "then")}
_PARTS["never_after"] = (ConstraintKind.NEVER_AFTER, "what", "after")
KINDS: Final = (*_SIMPLE, *_STEPS, "at_most", *_PARTS)
"""The keys one of which a constraint has."""


def demand_of(document: ConstraintDocument, place: Place) -> Demand:
    """Read the constraint `document`; raises `DocumentError` unless it has exactly one of the `KINDS`."""
    found = [kind for kind in KINDS if getattr(document, kind) is not None]
    if len(found) != 1:
        said = f"has the keys {' and '.join(found)}" if found else "says nothing"
        raise place.error(f"a constraint {said}", f"it has one of {', '.join(KINDS)}")
    (key,) = found
    value, here = getattr(document, key), place.within(key)
    if key in _SIMPLE:
        kind, times = _SIMPLE[key]
        return Demand(kind, _read_happening(value, here), place, times=times, utility=document.utility)
    if key in _STEPS:
        kind, times = _STEPS[key]
        step = PlacedValue(Done(parse_step_pattern(value, here)), here)
        return Demand(kind, step, place, times=times, utility=document.utility)
    if key == "at_most":
        what = _read_happening(value.what, here.within("what"))
        return Demand(ConstraintKind.AT_MOST, what, here.within("times"), times=value.times, utility=document.utility)
    kind, one, two = _PARTS[key]
    what, other = (_read_happening(getattr(value, part), here.within(part)) for part in (one, two))
    return Demand(kind, what, place, other, utility=document.utility)


def _read_happening(value: Any, place: Place) -> PlacedValue:
    """Read a list of conditions, or a step."""
    if isinstance(value, list):
        return PlacedValue(value if len(value) != 1 else value[0], place)
    here = place.within("done")
    return PlacedValue(Done(parse_step_pattern(value.done, here)), here)


def write_constraint(constraint: Constraint, write: Notation) -> dict[str, Any]:
    """Write `constraint` as plain data."""
    key, value = _write_entry(constraint, write)
    return {key: value} if constraint.utility is None else {key: value, "utility": constraint.utility}


def _write_entry(constraint: Constraint, write: Notation) -> tuple[str, Any]:
    what, kind = _write_happening(constraint.what, write), constraint.kind
    parts = [(key, one, two) for key, (each, one, two) in _PARTS.items() if each is kind]
    if parts and constraint.other is not None:
        key, one, two = parts[0]
        return key, {one: what, two: _write_happening(constraint.other, write)}
    if kind is ConstraintKind.AT_MOST and constraint.times:
        return "at_most", {"times": constraint.times, "what": what}
    table = _STEPS if isinstance(constraint.what, Done) else _SIMPLE
    key = next(key for key, (each, _) in table.items() if each is kind)
    return key, str(constraint.what.action) if isinstance(constraint.what, Done) else what


def _write_happening(what: Happening, write: Notation) -> Any:
    if isinstance(what, Done):
        return {"done": str(what.action)}
    parts = write.formula(what)
    return parts[0] if len(parts) == 1 else parts
