"""The names of a domain: types with their Python classes, signatures of predicates, scopes of atoms, names of actions.

The signature of a predicate is declared, or inferred from its uses.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import Any, Final, Generic, NamedTuple, TypeVar

from planner.errors import InputError, did_you_mean
from planner.language.declare.atom_syntax import abbreviate, explain_bad_name, is_atom_name
from planner.language.declare.fields import Place, check_mapping, format_count, name_types
from planner.language.declare.marks import Entity, ObjectName, TypeLike, parent_classes
from planner.lightweight import dataclass, field, replace
from planner.model.actions import DURATION, Action
from planner.model.arithmetic import parse_number
from planner.model.domain import ROOT_TYPE, DomainModel, TypeHierarchy
from planner.model.formulas import OPEN, Arithmetic, Atom, Expression, Object, Variable, unmarked
from planner.model.object_names import find_term, is_name, qualified_term, read_term

DEEPEST: Final = 200


OPERANDS: Final = {"+": range(1, 1 << 20), "-": range(1, 3), "*": range(1, 1 << 20), "/": range(2, 3)}
"""How many operands each operator of arithmetic takes."""


class Types:
    """The types of a domain, and the Python classes that stand for some of them."""

    def __init__(self) -> None:
        self.parents: dict[str, tuple[str, ...]] = {}
        self._places: dict[str, Place] = {}
        self._classes: dict[str, type[Entity]] = {}
        self._hierarchy: TypeHierarchy | None = None
        self._overlaps: dict[tuple[tuple[str, ...], tuple[str, ...]], bool] = {}

    @classmethod
    def of(cls, parents: Mapping[str, tuple[str, ...]]) -> Types:
        """Return the types of a finished domain."""
        found = cls()
        found.parents.update(parents)
        return found

    @property
    def hierarchy(self) -> TypeHierarchy:
        """The table of types, computed again after a declaration."""
        if self._hierarchy is None:
            self._hierarchy = TypeHierarchy(self.parents)
        return self._hierarchy

    def __contains__(self, name: str) -> bool:
        return name == ROOT_TYPE or name in self.parents

    @property
    def classes(self) -> Mapping[str, type[Entity]]:
        """The Python classes declared so far, by the names of their types."""
        return self._classes

    def declare(self, types: Mapping[str, tuple[str, ...]], place: Place) -> None:
        """Add `types` (name → parents), which may refer to each other in any order."""
        for name in types:
            self._check_name(name, place)
        known = {ROOT_TYPE, *self.parents, *types}
        for name, parents in types.items():
            for parent in parents:
                if parent not in known:
                    message = f"type {name!r} is below the unknown type {parent!r}"
                    raise place.within(name).error(message, did_you_mean(parent, known))
        _check_order({**self.parents, **types}, place)
        self.parents.update(types)
        self._places.update({name: place.within(name) for name in types})
        self._hierarchy = None
        self._overlaps.clear()

    def _check_name(self, name: str, place: Place) -> None:
        if not is_name(name):
            raise place.within(name).error(*explain_bad_name(name, "a type"))
        if name == ROOT_TYPE:
            raise place.within(name).error("the type 'object' is above all others and is not declared")
        if name in self.parents:
            raise place.within(name).error(f"type {name!r} is already declared at {self._places[name].location}")

    def register(self, cls: type[Entity], place: Place) -> str:
        """Return the type that `cls` stands for; declare it and its bases if they are new."""
        if cls is Entity:
            return ROOT_TYPE
        name = cls.type_name
        known = self._classes.get(name)
        if known is not None and known is not cls:
            raise place.error(
                f"two classes are named {name!r}: {known.__module__}.{known.__qualname__} and "
                f"{cls.__module__}.{cls.__qualname__}",
                "name one of them otherwise: class …(Entity, type_name=…)",
            )
        if known is None:
            parents = tuple([self.register(base, place) for base in parent_classes(cls)])
            if name not in self.parents:
                self.declare({name: parents}, place)
            self._classes[name] = cls
        return name

    def resolve(self, value: TypeLike, place: Place) -> tuple[str, ...]:
        """Return the names of the types in `value`; raise an error for one that is not declared."""
        if isinstance(value, str):
            if value in self:
                return (value,)
            names = tuple([part.strip() for part in value.split("|")])
            for name in names:
                if name not in self:
                    raise self.unknown(name, place)
            return names
        if isinstance(value, type) and issubclass(value, Entity):
            return (self.register(value, place),)
        if isinstance(value, Iterable):
            found = tuple([name for part in value for name in self.resolve(part, place)])
            if found:
                return found
        message = f"{abbreviate(value)} is no planning type"
        raise place.error(message, "give the name of a type, or a class derived from Entity")

    def variables(self, value: Any, what: str, place: Place) -> tuple[Variable, ...]:
        """Read typed variables from a mapping: name, with or without `?`, → type."""
        found = []
        for key, type_ in check_mapping(value, what, place).items():
            name = key.removeprefix("?")
            if not is_name(name):
                raise place.within(key).error(*explain_bad_name(name, "a parameter"))
            found.append(Variable(f"?{name}", self.resolve(type_, place.within(key))))
        return tuple(found)

    def unknown(self, name: str, place: Place) -> InputError:
        """Make the error for a type that is not declared."""
        near = did_you_mean(name, self.parents)
        return place.error(f"unknown type {name!r}", near or f"declare it: domain.type({name!r})")

    def joined(self, names: Iterable[str]) -> tuple[str, ...]:
        """Generalise `names` to the lowest types above them, except `object`; unrelated types stay side by side."""
        found: list[str] = []
        for name in dict.fromkeys(names):
            current = name
            for other in tuple(found):
                common = self._find_lowest_common(current, other)
                if common is not None:
                    found.remove(other)
                    current = common
            found.append(current)
        return (ROOT_TYPE,) if ROOT_TYPE in found else tuple(found)

    def _find_lowest_common(self, one: str, other: str) -> str | None:
        above_one, above_other = self.hierarchy.ancestors(one), self.hierarchy.ancestors(other)
        if other in above_one:
            return other
        if one in above_other:
            return one
        common = (above_one & above_other) - {ROOT_TYPE}
        return max(sorted(common), key=lambda name: len(self.hierarchy.ancestors(name)), default=None)

    def overlap(self, some: tuple[str, ...], others: tuple[str, ...]) -> bool:
        """Return whether an object may have a type of both: one is above the other, or a third one is below both."""
        known = self._overlaps.get((some, others))
        if known is None:
            known = self._overlaps[some, others] = self._compute_overlap(some, others)
        return known

    def _compute_overlap(self, some: tuple[str, ...], others: tuple[str, ...]) -> bool:
        is_a = self.hierarchy.is_a
        if is_a(some, others) or is_a(others, some):
            return True
        return any(is_a((name,), some) and is_a((name,), others) for name in self.parents)


def _check_order(parents: Mapping[str, tuple[str, ...]], place: Place) -> None:
    """Raise an error for types below themselves, and for chains of types longer than anybody writes."""
    depth = {ROOT_TYPE: 0}
    try:
        for name in TopologicalSorter(parents).static_order():
            depth[name] = 1 + max((depth[parent] for parent in parents.get(name, ())), default=0)
            if depth[name] > DEEPEST:
                raise place.within(name).error(f"type {name!r} is nested deeper than {DEEPEST} levels")
    except CycleError as error:
        name = error.args[1][0]
        raise place.within(name).error(f"type {name!r} is below itself") from None


Types_scope = tuple[str, ...]
NO_NAMES: Final[frozenset[str]] = frozenset()


class Use(NamedTuple):
    """A use of a predicate, from which its signature can be inferred; `types` are None for open arguments."""

    atom: Atom
    types: tuple[Types_scope | None, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Scope:
    """The parameters (`variables`, by name with `?`) and objects that may be arguments in one declaration.

    `owner` names the declaration in messages. `data` and `created` are the names of data parameters and of objects that
    the action creates; `creators` maps objects that actions create, and that a problem cannot name, to their types.
    `uses` collects the resolved atoms, `functions` the resolved function terms; `known_functions` are the names of
    functions that are declared, or used before. Numeric effects of actions that `lasts` may read `?duration`.
    """

    owner: str
    variables: Mapping[str, Types_scope]
    objects: Mapping[str, Object]
    data: frozenset[str] = NO_NAMES
    created: Mapping[str, Types_scope] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)
    creators: Mapping[str, str] = field(default_factory=dict)
    functions: list[Use] = field(default_factory=list)
    known_functions: Container[str] = NO_NAMES
    lasts: bool = False
    places: Callable[[str], Sequence[Types_scope]] | None = None
    """Returns the types of the arguments of a predicate, function or action, where two objects have one name."""

    def inside(self, variables: Iterable[Variable]) -> Scope:
        """Extend the scope by the variables of a quantifier."""
        more = {variable.name: variable.types for variable in variables}
        return replace(self, variables={**self.variables, **more})

    def with_created(self) -> Scope:
        """Extend the scope to effects, where created objects exist."""
        return replace(self, variables={**self.variables, **self.created}, created={}) if self.created else self

    def atom(self, atom: Atom, place: Place, *, bare: bool, may_open: bool = False, record: bool = True) -> Atom:
        """Resolve the arguments of `atom`, and record its use.

        Where `bare`, a name without `?` may mean a parameter, as in `name(arg, …)` but not in PDDL.
        """
        if not atom.args:
            if record:
                self.uses.append(Use(atom, (), place))
            return atom
        variables = self.variables
        term = self.term
        args = [arg if arg in variables else term(arg, atom, place, bare=bare, may_open=may_open) for arg in atom.args]
        if self.places is not None:
            wanted = [*self.places(atom.predicate), *[()] * len(args)]
            args = [find_term(arg, self.objects, types) for arg, types in zip(args, wanted, strict=False)]
        resolved = Atom(atom.predicate, tuple(args))
        if record:
            self.uses.append(Use(resolved, tuple([self.types_of(arg) for arg in args]), place))
        return resolved

    def expression(self, expression: Expression, place: Place, *, bare: bool, in_effect: bool = False) -> Expression:
        """Resolve the arguments of all functions in `expression`, and record their uses.

        Only an expression `in_effect` may read the duration of the step.
        """
        match expression:
            case Atom() if expression == DURATION:
                if in_effect and self.lasts:
                    return DURATION
                hint = "only numeric effects of actions with a duration read it"
                raise place.error(f"{DURATION} is the duration of a step, which has none here", hint)
            case Atom(function):
                if not is_atom_name(function):
                    raise place.error(*explain_bad_name(function, "a function"))
                resolved = self.atom(expression, place, bare=bare, record=False)
                types = tuple([self.types_of(arg) for arg in resolved.args])
                self.functions.append(Use(resolved, types, place))
                return Atom(resolved.predicate, resolved.args)
            case Arithmetic(operator, operands):
                if operator not in OPERANDS:
                    raise place.error(f"{operator!r} is no operator of arithmetic", f"write {', '.join(OPERANDS)}")
                if len(operands) not in OPERANDS[operator]:
                    raise place.error(f"{abbreviate(str(operands))}: {operator} does not take {len(operands)} operands")
                if operator == "/" and operands[1] == 0:
                    raise place.error(f"{expression} divides by 0")
                parts = [self.expression(each, place, bare=bare, in_effect=in_effect) for each in operands]
                return Arithmetic(operator, tuple(parts))
            case float():
                raise place.error(f"{expression!r} is a float, which is not exact", f"write Decimal('{expression!r}')")
            case bool():
                raise place.error(f"{expression!r} is no number")
            case int() | Decimal():
                try:
                    return parse_number(expression)
                except ValueError as error:
                    raise place.error(str(error)) from None
        raise place.error(f"{abbreviate(expression)} is no arithmetic", "write fuel(r) + 2")

    def is_term(self, term: str, *, bare: bool) -> bool:
        """Return whether `term` names a parameter or an object."""
        return term in self.variables or term in self.objects or (bare and f"?{term}" in self.variables)

    def term(self, term: str, inside: object, place: Place, *, bare: bool, may_open: bool = False) -> str:
        """Resolve the argument `term` to `?parameter`, an object, or `_`."""
        if isinstance(term, ObjectName):
            own = qualified_term(term.entity.name, type(term.entity).type_name)
            if own in self.objects:
                return own
            if term in self.objects:
                return str(term)
            raise place.error(f"{term.entity!r} in {inside} is no object of {self.owner}", "declare it as a constant")
        if term in self.variables:
            return term
        if term == OPEN:
            if may_open:
                return term
            raise place.error(
                f"'_' leaves an argument of {inside} open, which only patterns may do "
                f"(modifies, stale_with, unknown, after, senses, done)",
                "name the object; a condition may also be a PDDL expression: (exists (?x - type) …)",
            )
        variable = f"?{term}" if bare else ""
        if variable in self.variables:
            if term in self.objects:
                message = f"'{term}' in {inside} may be the parameter or the object of {self.owner}"
                raise place.error(message, f"write '{variable}' for the parameter, or rename one of them")
            return variable
        if term in self.objects:
            return term
        if isinstance(term, str) and read_term(term) in self.objects:
            return read_term(term)
        raise self._unknown_error(term, inside, place)

    def types_of(self, term: str) -> Types_scope | None:
        """Return the types of a resolved argument; None where it is open."""
        return self.variables[term] if term in self.variables else self.objects[term].types if term != OPEN else None

    def _unknown_error(self, term: Any, inside: object, place: Place) -> InputError:
        if not isinstance(term, str):
            return place.error(f"{term!r} in an atom is no name", "call the predicate with it, or give its name")
        name = term.removeprefix("?")
        if name in self.data:
            message = f"'{name}' in {inside} is a data parameter of {self.owner}, which search does not bind"
            return place.error(message, "only parameters of planning types may be arguments of atoms")
        if f"?{name}" in self.created:
            return place.error(f"'{name}' in {inside} is created by {self.owner} and does not exist before it")
        if f"?{name}" in self.variables:
            message = f"'{term}' in {inside} is no object of {self.owner}"
            return place.error(message, f"PDDL writes parameters '?{name}'")
        if name in self.creators:
            wanted = f"say what holds of it: (exists (?{name} - {self.creators[name]}) …)"
            return place.error(f"'{term}' in {inside} is created by an action, and no object of {self.owner}", wanted)
        mine = [variable.removeprefix("?") for variable in self.variables]
        near = did_you_mean(name, [*mine, *self.objects])
        what = "no parameter" if term != name else "neither a parameter nor an object" if mine else "no object"
        if not near and mine:
            near = f"the parameters are {', '.join(mine)}"
        return place.error(f"'{term}' in {inside} is {what} of {self.owner}", near)


Kind = TypeVar("Kind")


class Signatures(Generic[Kind]):
    """The signatures of all predicates (or all functions) of a domain; `make` makes one with its parameters."""

    def __init__(self, kind: str, make: Callable[[str, tuple[Variable, ...]], Kind]) -> None:
        self.kind = kind
        self._make = make
        self._declared: dict[str, tuple[tuple[Variable, ...], Place]] = {}
        self._arities: dict[str, tuple[int, Place]] = {}
        self._uses: dict[str, dict[tuple[tuple[str, ...] | None, ...], Use]] = {}
        self._inferred: dict[str, Kind] = {}
        self._changed: dict[str, None] = {}
        """Names with new declarations or uses since the last call of `inferred`."""
        self._types = 0
        """The number of types at that call."""

    def declare(self, name: str, parameters: tuple[Variable, ...], place: Place) -> None:
        """Add a declared signature; raise an error where it is declared twice, or used with another arity."""
        if name in self._declared:
            raise place.error(f"{self.kind} {name!r} is already declared at {self._declared[name][1].location}")
        known = self._arities.get(name)
        if known is not None and known[0] != len(parameters):
            raise place.error(
                f"{self.kind} {name!r} is declared with {format_count(len(parameters))}, "
                f"but used with {known[0]} at {known[1].location}"
            )
        self._declared[name] = (parameters, place)
        self._inferred.pop(name, None)
        self._changed[name] = None
        self._arities[name] = (len(parameters), place)

    def check_arities(self, uses: Iterable[Use]) -> None:
        """Raise an error for the first of `uses` that contradicts the known number of arguments."""
        new: dict[str, tuple[int, Place]] = {}
        for use in uses:
            name, arity = use.atom.predicate, len(use.atom.args)
            known = self._arities.get(name) or new.setdefault(name, (arity, use.place))
            if known[0] != arity:
                verb = "declared" if name in self._declared else "used"
                raise use.place.error(
                    f"{unmarked(use.atom)} gives {self.kind} {name!r} {format_count(arity)}, "
                    f"but it is {verb} with {known[0]} at {known[1].location}"
                )

    def note(self, uses: Iterable[Use]) -> None:
        """Record `uses`, which `check_arities` has accepted."""
        for use in uses:
            name = use.atom.predicate
            if name not in self._arities:
                self._arities[name] = (len(use.atom.args), use.place)
            known = self._uses.get(name)
            if known is None:
                self._uses[name] = {use.types: use}
                if name not in self._declared:
                    self._inferred[name] = self._make(name, ())
                if use.types:
                    self._changed[name] = None
            elif use.types not in known:
                known[use.types] = use
                self._changed[name] = None

    def __contains__(self, name: object) -> bool:
        """Return whether `name` is declared or used."""
        return name in self._arities

    def place_of(self, name: str) -> Place:
        """Return where `name` is declared, or used first."""
        return self._arities[name][1]

    def inferred(self, types: Types) -> Mapping[str, Kind]:
        """Infer the signatures that are not declared; raise an error where a use contradicts a declaration.

        Examines only names with new declarations or uses since the last call, unless there are more types now.
        """
        if len(types.parents) > self._types:
            self._changed.update(dict.fromkeys(self._uses))
        for name in self._changed:
            uses = self._uses.get(name, {})
            if name in self._declared:
                self._check_types(name, uses.values(), types)
            else:
                columns = [
                    [name for names in column if names is not None for name in names]
                    for column in zip(*uses, strict=True)
                ]
                generalised = [types.joined(column) or (ROOT_TYPE,) for column in columns]
                self._inferred[name] = self._make(name, name_parameters(generalised))
        self._changed.clear()
        self._types = len(types.parents)
        return self._inferred

    def _check_types(self, name: str, uses: Iterable[Use], types: Types) -> None:
        parameters, place = self._declared[name]
        for use in uses:
            for number, (given, parameter) in enumerate(zip(use.types, parameters, strict=True)):
                if given is not None and not types.overlap(given, parameter.types):
                    raise use.place.error(
                        f"argument {number + 1} of {unmarked(use.atom)} is of type {name_types(given)}, "
                        f"but {self.kind} {name!r} takes {name_types(parameter.types)}, declared at {place.location}",
                        suggest_swap(use, [each.types for each in parameters], types.overlap),
                    )


def suggest_swap(
    use: Use, wanted: Sequence[tuple[str, ...]], fits: Callable[[tuple[str, ...], tuple[str, ...]], bool]
) -> str | None:
    """Return "did you mean 'x'?" for the atom of `use` with two arguments swapped, if one swap alone suits."""
    found = []
    for first, second in combinations(range(len(wanted)), 2):
        order = [*range(len(wanted))]
        order[first], order[second] = second, first
        given = [use.types[each] for each in order]
        if all(own is not None and fits(own, kinds) for own, kinds in zip(given, wanted, strict=True)):
            found.append(Atom(use.atom.predicate, tuple([use.atom.args[each] for each in order])))
    return f"did you mean '{unmarked(found[0])}'?" if len(found) == 1 else None


def name_parameters(types: Sequence[tuple[str, ...]]) -> tuple[Variable, ...]:
    """Name parameters after their types, with numbers where a type occurs twice: `?robot ?room1 ?room2`."""
    bases = [names[0].lower() for names in types]
    taken: set[str] = set()
    found = []
    for base, names in zip(bases, types, strict=True):
        number = 1 if bases.count(base) > 1 else 0
        while f"?{base}{number or ''}" in taken:
            number += 1
        taken.add(f"?{base}{number or ''}")
        found.append(Variable(f"?{base}{number or ''}", names))
    return tuple(found)


def fold_name(name: str) -> str:
    """Fold the case of `name`, and remove underscores, hyphens and spaces."""
    return "".join(name.casefold().replace("_", " ").replace("-", " ").split())


def resolve_action(domain: DomainModel, name: str) -> Action:
    """Find the action that `name` means: by its exact name, or by its name or a simile up to case, `_`, `-` and spaces.

    Raises `InputError` where there is none, with the nearest known name, and where there is more than one.
    """
    if name in domain.actions:
        return domain.actions[name]
    wanted = fold_name(name)
    found = [
        action
        for action in domain.actions.values()
        if any(fold_name(each) == wanted for each in (action.name, *action.similes))
    ]
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(repr(action.name) for action in found)
        raise InputError(f"the name {name!r} is ambiguous: it may mean {names}")
    known = [each for action in domain.actions.values() for each in (action.name, *action.similes)]
    raise InputError(f"there is no action {name!r} in domain {domain.name!r}", hint=did_you_mean(name, known))


def check_similes(actions: Iterable[Action], places: Mapping[str, Place]) -> None:
    """Raise an error where an alternative name also means another action."""
    names = {fold_name(action.name): action.name for action in actions}
    similes: dict[str, str] = {}
    for action in actions:
        for simile in action.similes:
            key = fold_name(simile)
            other = names.get(key) or similes.setdefault(key, action.name)
            if not key:
                raise places[action.name].error(f"the simile {simile!r} of action {action.name!r} is no name")
            if other != action.name:
                raise places[action.name].error(
                    f"the simile {simile!r} of action {action.name!r} also means action {other!r}, "
                    f"declared at {places[other].location}"
                )
