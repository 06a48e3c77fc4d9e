"""Read conditions, effects and constraints that authors write as texts, atoms, formulas, and lists of these.

Constraints (`always`, `sometime`, `at_most`, `before`, `never` and their like) take a condition, or a step `done(…)`.
With a `utility` a constraint is soft.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from planner.errors import PddlError, UnsupportedError, did_you_mean
from planner.language.declare.arithmetic_reader import (
    has_relation,
    parse_arithmetic,
    parse_comparison,
    parse_numeric_effect,
)
from planner.language.declare.atom_syntax import (
    NotationError,
    abbreviate,
    explain_bad_name,
    is_atom_name,
    parse_atom,
    parse_literal,
)
from planner.language.declare.declared_names import Scope
from planner.language.declare.fields import Place, check_number, find_caller
from planner.language.declare.marks import Condition, PredicateRef
from planner.lightweight import dataclass
from planner.model import And, Atom, Comparison, Equals, Exists, Forall, Formula, Imply, Not, Or
from planner.model.actions import CHANGES, Constraint, ConstraintKind, Done, Literal, NumericEffect
from planner.model.domain import ROOT_TYPE
from planner.model.formulas import RELATIONS, TRUE, Expression, Number, Variable, conjunction, conjuncts, substitute
from planner.model.object_names import protect_quoted

DEEPEST: Final = 90
"""Deepest nesting of a formula, in levels; PDDL text has a similar bound."""
NOTHING: Final[Mapping[str, Formula]] = {}
_NUMBER: Final = re.compile(r"[-+]?\d+(\.\d+)?\Z")
_SINGLE: Final = str | PredicateRef | Formula | NumericEffect


class Conditions:
    """Reads the conditions of one declaration and resolves their names in `scope`.

    `known` maps texts that another declaration with an equal scope has read to formulas; `fresh` collects further ones.
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
        """Read `value` as a conjunction; nothing gives `TRUE`."""
        parts = self._read_parts(*_list_items(value, place), place)
        return conjunction(parts) if parts else TRUE

    def literals(self, value: Any, place: Place) -> tuple[Literal, ...]:
        """Read atoms and negated atoms; raise an error for anything else."""
        items, single = _list_items(value, place)
        parts = self._read_parts(items, single, place)
        if {part.__class__ for part in parts} <= {Atom}:
            return tuple(parts)  # type: ignore[arg-type]  # atoms, all of them
        found = [
            (place if single else place.within(index), each)
            for index, part in enumerate(parts)
            for each in conjuncts(part)
        ]
        return tuple([_check_literal(each, here) for here, each in found])

    def _read_parts(self, items: Sequence[Any], single: bool, place: Place) -> list[Formula]:
        known = self._known
        parts = []
        for index, item in enumerate(items):
            part = known.get(item) if item.__class__ is str else None
            parts.append(self._read(item, place if single else place.within(index)) if part is None else part)
        return parts

    def patterns(self, value: Any, place: Place, *, record: bool = True) -> tuple[Atom, ...]:
        """Read atoms whose arguments may be open; raise an error for anything else."""
        found = []
        items, single = _list_items(value, place)
        for index, item in enumerate(items):
            item_place = place if single else place.within(index)
            formula, bare = read_item(item, item_place)
            if not isinstance(formula, Atom):
                message = f"a pattern is an atom whose arguments may be '_', not {abbreviate(str(formula))}"
                raise item_place.error(message)
            bare = bare and self._bare
            found.append(self.scope.atom(formula, item_place, bare=bare, may_open=True, record=record))
        return tuple(found)

    def _read(self, item: Any, place: Place) -> Formula:
        formula, bare = read_item(item, place)
        resolved = self._resolve(formula, place, self.scope, bare and self._bare, 0)
        if bare and item.__class__ is str:
            self.fresh[item] = resolved
        return resolved

    def _resolve(self, formula: Formula, place: Place, scope: Scope, bare: bool, depth: int) -> Formula:
        if depth > DEEPEST:
            raise place.error(f"a condition nests deeper than {DEEPEST} levels", "write the formula flatter")
        match formula:
            case Atom(predicate):
                if not is_atom_name(predicate):
                    raise place.error(*explain_bad_name(predicate, "a predicate"))
                return scope.atom(formula, place, bare=bare)
            case Equals(left, right) if self._compares_numbers(formula, scope, bare):
                sides = [_read_side(side, place) for side in (left, right)]
                return self._resolve(Comparison(sides[0], "=", sides[1]), place, scope, bare, depth)
            case Comparison(left, relation, right):
                if relation not in RELATIONS:
                    raise place.error(f"{relation!r} is no relation of numbers", "write <, <=, =, >= or >")
                return Comparison(
                    scope.expression(left, place, bare=bare), relation, scope.expression(right, place, bare=bare)
                )
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
        raise place.error(f"{abbreviate(formula)} is no condition")

    def _compares_numbers(self, equality: Equals, scope: Scope, bare: bool) -> bool:
        """Return whether a side of `equality` is a number or a function, and no object."""
        return any(
            not scope.is_term(side, bare=bare) and (_NUMBER.match(side) or side in scope.known_functions)
            for side in (equality.left, equality.right)
        )

    def changes(self, value: Any, place: Place) -> tuple[tuple[Atom, ...], tuple[NumericEffect, ...]]:
        """Read what an action modifies: patterns, and numeric effects such as `fuel(r) -= 3`."""
        items, single = _list_items(value, place)
        patterns: list[Any] = []
        effects: list[NumericEffect] = []
        for index, item in enumerate(items):
            here = place if single else place.within(index)
            effect = _read_effect(item, here)
            if effect is None:
                patterns += self.patterns((item,), here) if single else self._pattern(item, here)
            else:
                effects.append(self._resolve_effect(effect, here, bare=isinstance(item, str) and self._bare))
        self._check_conflicts(effects, place)
        return tuple(patterns), tuple(effects)

    def _pattern(self, item: Any, place: Place) -> tuple[Atom, ...]:
        return self.patterns(item, place) if isinstance(item, str | Atom) else self.patterns((item,), place)

    def _resolve_effect(self, effect: NumericEffect, place: Place, *, bare: bool) -> NumericEffect:
        if effect.operator not in CHANGES:
            raise place.error(f"{effect.operator!r} is no numeric effect", f"write {', '.join(CHANGES)}")
        if effect.operator == "/=" and effect.value == 0:
            raise place.error(f"{effect} divides by 0")
        fluent = self.scope.expression(effect.fluent, place, bare=bare)
        assert isinstance(fluent, Atom)
        value = self.scope.expression(effect.value, place, bare=bare, in_effect=True)
        return NumericEffect(fluent, effect.operator, value)

    @staticmethod
    def _check_conflicts(effects: Sequence[NumericEffect], place: Place) -> None:
        """Raise an error where two effects on one fluent exclude each other."""
        for number, one in enumerate(effects):
            for other in effects[:number]:
                if one.fluent == other.fluent and not (one.is_additive and other.is_additive):
                    both = f"'{other}' and '{one}'".replace("?", "")
                    message = f"{both} change one fluent, and only increases and decreases add up"
                    raise place.error(message, "write one effect")

    def _check_variables(self, variables: tuple[Variable, ...], scope: Scope, place: Place) -> None:
        for variable in variables:
            if variable.name in scope.variables and self._bare:
                raise place.error(f"the variable {variable.name} hides another of {scope.owner}", "rename one of them")
            for name in variable.types:
                if name != ROOT_TYPE and name not in self._known_types:
                    near = did_you_mean(name, self._known_types)
                    raise place.error(f"the variable {variable.name} is of the unknown type {name!r}", near)


def _list_items(value: Any, place: Place) -> tuple[Sequence[Any], bool]:
    """Return the single conditions in `value`, and whether `value` is a single condition itself, with one place."""
    if value.__class__ is list or value.__class__ is tuple:
        return value, False
    if value is None:
        return (), False
    if isinstance(value, _SINGLE):
        return (value,), True
    if isinstance(value, Iterable):
        return list(value), False
    raise place.error(f"{abbreviate(value)} is no condition", "write an atom as text, or a list of them")


def _check_literal(part: Formula, place: Place) -> Literal:
    if isinstance(part, Atom) or (isinstance(part, Not) and isinstance(part.part, Atom)):
        return part
    message = f"an effect is an atom or a negated atom, not {abbreviate(str(part))}"
    raise place.error(message, "When(…) gives conditional effects")


def read_item(item: Any, place: Place) -> tuple[Formula, bool]:
    """Parse one item; return the formula, unresolved, and whether names without `?` in it may mean parameters."""
    if isinstance(item, str):
        if item.lstrip().startswith("(") and not has_relation(item):
            return _parse_pddl(item, place), False
        try:
            found = parse_comparison(item) if has_relation(item) else None
            return (parse_literal(item), True) if found is None else (found, True)
        except NotationError as mistake:
            raise place.error(mistake.problem, mistake.hint) from None
    if isinstance(item, Formula):
        return item, True
    if isinstance(item, PredicateRef):
        raise place.error(f"'{item}' is a predicate, not an atom", f"call it: {item}(…)")
    raise place.error(f"{abbreviate(item)} is no condition", "write an atom as text: 'name(arg, …)'")


def _read_effect(item: Any, place: Place) -> NumericEffect | None:
    """Return the numeric effect that `item` is or writes, unresolved; None for a pattern."""
    if isinstance(item, NumericEffect):
        return item
    if not isinstance(item, str) or "=" not in item:
        return None
    try:
        return parse_numeric_effect(item)
    except NotationError as mistake:
        raise place.error(mistake.problem, mistake.hint) from None


def _read_side(side: str, place: Place) -> Expression:
    try:
        return parse_arithmetic(side)
    except NotationError as mistake:
        raise place.error(mistake.problem, mistake.hint) from None


def _parse_pddl(text: str, place: Place) -> Formula:
    from planner.language.pddl import parse_condition

    plain, terms = protect_quoted(text) if '"' in text else (text, {})
    try:
        return substitute(parse_condition(plain, source=str(place.location)), terms)
    except UnsupportedError as error:
        construct = error.construct.rpartition(" at ")[0]
        raise UnsupportedError(f"{construct} at {place.location}", error.hint) from None
    except PddlError as error:
        raise place.error(f"{error.message}, in the PDDL expression {abbreviate(text.strip())}", error.hint) from None


HappeningLike = Condition | Done
Utility = Number | float | str | None


class PlacedValue(NamedTuple):
    """A condition or step as an author writes it, and where."""

    value: Any
    place: Place


@dataclass(frozen=True, slots=True)
class Demand:
    """A constraint as an author writes it at `place`; the declaration of a problem resolves its names."""

    kind: ConstraintKind
    what: PlacedValue
    place: Place
    other: PlacedValue | None = None
    times: Any = 1
    utility: Any = None


ConstraintLike = Demand | Constraint
Constraints = ConstraintLike | Iterable[ConstraintLike]


def always(condition: Condition, *, utility: Utility = None) -> Demand:
    """Return the constraint that `condition` holds in every state, from the initial one to the last."""
    return _make_demand(ConstraintKind.ALWAYS, condition, utility)


def sometime(happening: HappeningLike, *, utility: Utility = None) -> Demand:
    """Return the constraint that `happening` holds in some state, or is done."""
    return _make_demand(ConstraintKind.SOMETIME, happening, utility)


def at_most(times: int, happening: HappeningLike, *, utility: Utility = None) -> Demand:
    """Return the constraint that `happening` begins to hold, or is done, at most so many times."""
    return _make_demand(ConstraintKind.AT_MOST, happening, utility, times=times)


def never(happening: HappeningLike, *, utility: Utility = None) -> Demand:
    """Return the constraint that `happening` holds in no state, or is not done at all."""
    return _make_demand(ConstraintKind.AT_MOST, happening, utility, times=0)


def before(first: HappeningLike, then: HappeningLike, *, utility: Utility = None) -> Demand:
    """Return the constraint that whenever `then` happens, `first` has happened before, in an earlier state."""
    return _make_demand(ConstraintKind.BEFORE, first, utility, other=PlacedValue(then, find_caller()))


def never_after(what: HappeningLike, after: HappeningLike, *, utility: Utility = None) -> Demand:
    """Return the constraint that `what` happens in no state after one in which `after` has happened."""
    return _make_demand(ConstraintKind.NEVER_AFTER, what, utility, other=PlacedValue(after, find_caller()))


def forbidden(action: str | Atom, *, utility: Utility = None) -> Demand:
    """Return the constraint that no step is `action`, a pattern `action(args…)` whose arguments may be `_`."""
    return _make_demand(ConstraintKind.AT_MOST, _make_step(action), utility, times=0)


def mandatory(action: str | Atom, *, utility: Utility = None) -> Demand:
    """Return the constraint that some step is `action`, a pattern `action(args…)` whose arguments may be `_`."""
    return _make_demand(ConstraintKind.SOMETIME, _make_step(action), utility)


def done(action: str | Atom) -> Done:
    """Return what happens at every step that `action` covers: `action(args…)` with `_` for any object, or its name."""
    return _make_step(action)


def _make_step(action: Any) -> Done:
    place = find_caller()
    return action if isinstance(action, Done) else Done(parse_step_pattern(action, place))


def parse_step_pattern(action: Any, place: Place) -> Atom:
    """Parse the pattern of steps `action`; its arguments stay as they are."""
    return read_atom(action, place, "step", "'action(arg, …)', with '_' for any object")


def read_atom(given: Any, place: Place, kind: str, form: str) -> Atom:
    """Return the atom that `given` is, or writes as a text; messages call it `kind` and show its `form`."""
    if isinstance(given, Atom):
        return given
    if not isinstance(given, str):
        raise place.error(f"{abbreviate(given)} is no {kind}", f"write {form}")
    try:
        return parse_atom(given)
    except NotationError as mistake:
        raise place.error(mistake.problem, mistake.hint) from None


def _make_demand(
    kind: ConstraintKind, what: Any, utility: Any, *, other: PlacedValue | None = None, times: Any = 1
) -> Demand:
    place = find_caller()
    return Demand(kind, PlacedValue(what, place), place, other, times, utility)


class Reader(Protocol):
    """Resolves conditions and patterns of steps with the objects, predicates and actions of a problem."""

    def condition(self, value: Condition, place: Place) -> Formula:
        """Resolve a condition; raises an error at `place` for a mistake."""

    def step(self, pattern: Atom, place: Place) -> Atom:
        """Resolve a pattern of steps, whose arguments may be open; raises an error at `place` for a mistake."""


def split_constraints(value: Any) -> tuple[tuple[ConstraintLike, ...], Any]:
    """Split `value` into its constraints and all else."""
    if isinstance(value, ConstraintLike):
        return (value,), ()
    if not isinstance(value, list | tuple):
        return (), value
    return (
        tuple([each for each in value if isinstance(each, ConstraintLike)]),
        [each for each in value if not isinstance(each, ConstraintLike)],
    )


def constraints_of(value: Any, reader: Reader, place: Place) -> tuple[Constraint, ...]:
    """Read the constraints that `value` lists; `reader` resolves their names."""
    if isinstance(value, ConstraintLike):
        value = [value]
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise place.error(f"{abbreviate(value)} are no constraints", _EXAMPLES)
    return tuple([_read_constraint(each, reader, place.within(at)) for at, each in enumerate(value)])


_RELATING: Final = frozenset({ConstraintKind.BEFORE, ConstraintKind.NEVER_AFTER})
_EXAMPLES: Final = "give a list of always(…), sometime(…), never(…), at_most(…), before(…), forbidden(…) and the like"


def _read_constraint(demand: Any, reader: Reader, place: Place) -> Constraint:
    if isinstance(demand, Constraint):
        second = None if demand.other is None else PlacedValue(demand.other, place)
        demand = Demand(demand.kind, PlacedValue(demand.what, place), place, second, demand.times, demand.utility)
    if not isinstance(demand, Demand):
        raise place.error(f"{abbreviate(demand)} is no constraint", _EXAMPLES)
    kind: Any = demand.kind
    if not isinstance(kind, ConstraintKind):
        known = [each.name for each in ConstraintKind]
        near = did_you_mean(kind, known) if isinstance(kind, str) else None
        hint = near or f"write ConstraintKind.{known[0]}, or {', '.join(known[1:])}"
        raise place.error(f"{abbreviate(kind)} is no kind of constraint", hint)
    if (demand.other is None) == (demand.kind in _RELATING):
        raise place.error(f"{demand.kind.name} relates two happenings, and no other kind does")
    times = demand.times
    if isinstance(times, bool) or not isinstance(times, int):
        raise demand.place.error(f"{abbreviate(str(times))} is no number of times", "it is 0, 1, 2 …")
    if times < 0:
        raise demand.place.error(f"at most {times} times is less than never", "0 means never")
    other = None if demand.other is None else _read_happening(demand.other, reader)
    what = _read_happening(demand.what, reader)
    if demand.kind is ConstraintKind.ALWAYS and isinstance(what, Done):
        hint = "say what holds in each; mandatory(…) is for steps that have to be done"
        raise demand.what.place.error(f"'always' is about states, and {what.action} is a step", hint)
    gain = None if demand.utility is None else check_number(demand.utility, "the utility of a constraint", demand.place)
    if gain == 0:
        raise demand.place.error("the utility of a constraint is 0; it must be above 0", "without one, it is no wish")
    return Constraint(demand.kind, what, other, times, gain)


def _read_happening(said: PlacedValue, reader: Reader) -> Formula | Done:
    value, place = said
    if value is None:
        raise place.error("a constraint is on None", "give a condition that may hold, or done(…) for a step")
    if isinstance(value, Done):
        if not isinstance(value.action, Atom):
            raise place.error(f"{abbreviate(value.action)} is no step", "write done('action(arg, …)')")
        return Done(reader.step(value.action, place))
    if isinstance(value, str) and value.lstrip().startswith("done("):
        hint = 'a step is written done("action(arg, …)"), and in documents {done: "action(arg, …)"}'
        raise place.error(f"{abbreviate(value)} is no condition", hint)
    return reader.condition(value, place)
