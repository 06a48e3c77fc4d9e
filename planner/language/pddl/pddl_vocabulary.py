"""Read typed lists such as `a b - block c`, and resolve the names in PDDL conditions and effects."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from planner.errors import Location, PddlError
from planner.language.pddl.syntax import TOTAL_COST, Source, Tree, pluralize, quote, suggest_nearest, warn_at
from planner.lightweight import Final, dataclass, field
from planner.model import ROOT_TYPE, Atom, Function, Object, Predicate, TypeHierarchy, Variable
from planner.model.domain import Mention

UNTYPED: Final = (ROOT_TYPE,)
MAX_TYPE_DEPTH: Final = 100
"""Most levels of types below `object`: every type has a set of all its ancestors, so a chain costs its square."""

Entry = tuple[str, tuple[str, ...], int]
"""A name, its types, and where in its list it stands."""


def read_typed_list(source: Source, tree: Tree, start: int, what: str) -> Iterator[Entry]:
    """Read the typed list in `tree` from item `start` on; messages call its entries `what`."""
    pending: list[tuple[str, int]] = []
    items = iter(range(start, len(tree)))
    for index in items:
        item = tree[index]
        if isinstance(item, list):
            hint = "write '- (either …)' before several types" if item[:1] == ["either"] else "remove the parentheses"
            raise source.error(f"found {quote(item)}, expected the name of {what}", tree, index, hint)
        if item[0] != "-":
            pending.append((item, index))
            continue
        if not pending:
            raise source.error(f"found {quote(item)} with no name before it, expected {what}", tree, index)
        if item == "-":
            index = next(items, len(tree))  # noqa: PLW2901 - the type is the next item, and the loop skips it
            types = _read_types(source, tree, index)
        else:
            types = (item[1:],)
        yield from ((name, types, place) for name, place in pending)
        pending = []
    yield from ((name, UNTYPED, place) for name, place in pending)


def _read_types(source: Source, tree: Tree, index: int) -> tuple[str, ...]:
    """Return the type, or the alternatives of `(either …)`, at item `index`."""
    if index == len(tree):
        raise source.error("found the end of the list after '-', expected a type", tree, index, "name the type")
    match tree[index]:
        case str(name):
            return (name,)
        case [str(word), *names] if word.lower() == "either" and names and all(isinstance(x, str) for x in names):
            return tuple(dict.fromkeys(names))
        case other:
            raise source.error(f"found {quote(other)}, expected a type or '(either type type …)'", tree, index)


class Types:
    """The declared types; where `unresolved`, a file may use any others."""

    __slots__ = ("_hierarchy", "declared", "source", "unresolved")

    def __init__(self, source: Source, declared: Mapping[str, tuple[str, ...]], *, unresolved: bool = False) -> None:
        self.source = source
        self.declared = declared
        self.unresolved = unresolved
        self._hierarchy: TypeHierarchy | None = None

    @property
    def hierarchy(self) -> TypeHierarchy:
        """The table of ancestors, computed at the first use."""
        if self._hierarchy is None:
            self._hierarchy = TypeHierarchy(self.declared)
        return self._hierarchy

    def above(self, types: Iterable[str]) -> set[str]:
        """Return `types` and all types above them."""
        return set().union(*(self.hierarchy.ancestors(name) for name in types))

    def below(self, types: Iterable[str]) -> set[str]:
        """Return `types` and all types below them."""
        wanted = set(types)
        return wanted.union(name for name in self.declared if not wanted.isdisjoint(self.hierarchy.ancestors(name)))

    def check(self, types: tuple[str, ...], tree: Tree, index: int) -> None:
        """Raise an error unless all of `types` are declared; `index` is the place of their first entry."""
        for name in types:
            if name != ROOT_TYPE and name not in self.declared and not self.unresolved:
                raise self.unknown(name, tree, index)

    def unknown(self, name: str, tree: Tree, index: int) -> PddlError:
        """Make the error for the undeclared type `name` of the name at item `index`."""
        near = suggest_nearest(name, [*self.declared, ROOT_TYPE])
        hint = near or "declare it in the domain's (:types …)"
        return self.source.error(f"{quote(tree[index])} has the unknown type {quote(name)}", tree, index, hint)

    def variables(self, tree: Tree, start: int = 0, *, twice: bool = False) -> tuple[Variable, ...]:
        """Read the variables that `tree` declares from item `start` on; where `twice`, names may repeat."""
        found: dict[str, Variable] = {}
        for name, types, index in read_typed_list(self.source, tree, start, "a variable"):
            if name[0] != "?" or name == "?":
                hint = f"write '?{name}', or '- {name}' where it is a type" if name != "?" else "name it"
                raise self.source.error(f"found {quote(name)}, expected a variable such as '?x'", tree, index, hint)
            if name in found and twice:
                name = f"{name}-{index}"  # noqa: PLW2901 - the name means nothing, but the model has no doubles
            if name in found:
                raise self.source.error(f"the variable {quote(name)} is declared twice here", tree, index, "rename one")
            if types is not UNTYPED:
                self.check(types, tree, index)
            found[name] = Variable(name, types)
        return tuple(found.values())


def read_types(source: Source, sections: list[Tree]) -> dict[str, tuple[str, ...]]:
    """Read the types of the `:types` sections, with their parents.

    A parent that is not declared itself is a type below `object`; a type that is declared twice has all its parents;
    declarations of `object` itself are ignored.
    """
    found: dict[str, tuple[str, ...]] = {}
    for section in sections:
        for name, parents, _ in read_typed_list(source, section, 1, "a type"):
            if name != ROOT_TYPE:
                both = dict.fromkeys((*found.get(name, ()), *parents))
                both.pop(name, None)
                if len(both) > 1:
                    both.pop(ROOT_TYPE, None)
                found[name] = tuple(both) or UNTYPED
            for parent in parents:
                if parent != ROOT_TYPE:
                    found.setdefault(parent, UNTYPED)
    _refuse_cycles(source, sections, found)
    return found


def _refuse_cycles(source: Source, sections: list[Tree], types: Mapping[str, tuple[str, ...]]) -> None:
    """Raise an error where a type is above itself, or further below `object` than `MAX_TYPE_DEPTH`."""
    children: dict[str, list[str]] = {}
    for name, parents in types.items():
        for parent in parents:
            children.setdefault(parent, []).append(name)
    waiting = {name: len(parents) for name, parents in types.items()}
    layer, depth = [ROOT_TYPE], 0
    while layer and depth <= MAX_TYPE_DEPTH:
        below = [child for parent in layer for child in children.get(parent, ())]
        layer, depth = [], depth + 1
        for child in below:
            waiting[child] -= 1
            if not waiting[child]:
                del waiting[child]
                layer.append(child)
    if not waiting:
        return
    section, index = _find_declaration(source, sections, waiting)
    if layer:
        message = f"the type {quote(section[index])} is more than {MAX_TYPE_DEPTH} levels below '{ROOT_TYPE}'"
        raise source.error(message, section, index, "make the hierarchy flatter")
    message = f"the type {quote(section[index])} is above itself, or below a type that is"
    raise source.error(message, section, index, "remove one of the parents on the way round")


def _find_declaration(source: Source, sections: list[Tree], wanted: Container[str]) -> tuple[Tree, int]:
    """Return the section and the index at which the first of `wanted` is declared."""
    entries = ((section, entry) for section in sections for entry in read_typed_list(source, section, 1, "a type"))
    return next((section, index) for section, (name, _, index) in entries if name in wanted)


Scope = Mapping[str, Variable]
"""The variables in scope by their names in the file; in the model, they may have other names."""


def extend_scope(scope: Scope, variables: tuple[Variable, ...]) -> tuple[dict[str, Variable], tuple[Variable, ...]]:
    """Extend `scope` by `variables`; return it, and the variables, renamed where they hide others.

    No variable of the model hides another, so that conditions can be moved between scopes.
    """
    inner = dict(scope)
    renamed = []
    taken = set(scope).union([variable.name for variable in scope.values()])
    for variable in variables:
        name, number = variable.name, 2
        while name in taken:
            name, number = f"{variable.name}-{number}", number + 1
        inner[variable.name] = variable if name == variable.name else Variable(name, variable.types)
        renamed.append(inner[variable.name])
    return inner, tuple(renamed)


@dataclass(slots=True)
class NumberUses:
    """What a file does with functions: which ones its conditions and effects read, and which ones effects change.

    `total` is the name of `total-cost` in the model where it is a function like others. It is one where `is_total_odd`:
    some effect on it is no unconditional increase. `bad_costs` are the errors of numbers that no cost may be. Where it
    `has_duration`, expressions may read `?duration`. `costs_at_start` says of actions that last how many of
    their costs, the first ones, come at their start; the others come at their end.
    """

    total: str = TOTAL_COST
    reads: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    is_total_odd: bool = False
    bad_costs: list[PddlError] = field(default_factory=list)
    has_duration: bool = False
    costs_at_start: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Vocabulary:
    """The names that a file may use.

    Where `inferred`, the first use of a predicate declares it; where `functions_inferred`, that of a function does.
    Where `unresolved`, every name is valid. Where `undeclared` is a table, it collects the objects that the domain
    names and does not declare, since problems may declare them.

    `misplaced` locates arguments of types that cannot stand there, by atom and `owner`, the declaration that contains
    it.
    """

    source: Source
    types: Types
    predicates: dict[str, Predicate]
    objects: Mapping[str, Object]
    functions: dict[str, Function]
    inferred: bool = False
    functions_inferred: bool = False
    unresolved: bool = False
    undeclared: dict[str, list[Mention]] | None = None
    owner: str = ""
    misplaced: dict[tuple[str, Atom], Location] = field(default_factory=dict)
    numbers: NumberUses = field(default_factory=NumberUses)
    arities: dict[str, int] = field(init=False)
    _members: dict[str, list[str]] = field(init=False)
    _extents: dict[tuple[str, ...], set[str]] = field(default_factory=dict)
    _first_use: dict[str, Tree] = field(default_factory=dict)
    _overlaps: dict[tuple[tuple[str, ...], tuple[str, ...]], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.arities = {name: len(predicate.parameters) for name, predicate in self.predicates.items()}
        self._members = self.types.hierarchy.objects_by_type(self.objects.values())

    def extent(self, types: tuple[str, ...]) -> set[str]:
        """Return the names of the objects of `types`."""
        if types not in self._extents:
            self._extents[types] = set().union(*(self._members.get(kind, ()) for kind in types))
        return self._extents[types]

    def atom(self, tree: Tree, scope: Scope) -> Atom:
        """Read the atom `tree`; raise an error for an unknown predicate or argument, or a wrong number of arguments."""
        predicate = tree[0]
        if self.arities.get(predicate) != len(tree) - 1:
            self.check_predicate(predicate, len(tree) - 1, tree)
        atom = Atom(predicate, self.terms(tree, scope))
        if predicate in self.predicates:
            self._check_types(tree, self.predicates[predicate].parameters, scope, atom)
        return atom

    def terms(self, tree: Tree, scope: Scope) -> tuple[str, ...]:
        """Resolve the arguments of `tree`, the items after the first."""
        objects = self.objects
        found = []
        for term in tree[1:]:
            if term.__class__ is str:
                if term in scope:
                    found.append(scope[term].name)
                    continue
                if term in objects:
                    found.append(term)
                    continue
            found.append(self._accept_term(tree, term, scope))
        return tuple(found)

    def function_term(self, tree: Tree, scope: Scope) -> Atom:
        """Read the function term `tree`; raise an error unless the function has as many parameters."""
        name = tree[0] if tree else None
        if not isinstance(name, str):
            raise self.source.error(f"found {quote(tree)}, expected a function with its arguments", tree)
        if name == TOTAL_COST and len(tree) == 1:
            return Atom(self.numbers.total)
        if self.unresolved:
            return Atom(name, self.terms(tree, scope))
        function = self.functions.get(name)
        if function is None and not self.functions_inferred:
            hint = suggest_nearest(name, self.functions) or "declare it in the domain's (:functions …)"
            raise self.source.error(f"the function {quote(name)} is not declared", tree, 0, hint)
        if function is None:
            function = Function(name, _make_parameters(len(tree) - 1))
            self.functions[name] = function
        if len(function.parameters) != len(tree) - 1:
            raise self.source.error(
                _describe_wrong_number(name, len(tree) - 1, function.parameters), tree, None, _describe_usage(function)
            )
        atom = Atom(name, self.terms(tree, scope))
        for index, (term, parameter) in enumerate(zip(tree[1:], function.parameters, strict=True), start=1):
            if term in scope:
                self._check_variable(tree, index, scope[term], parameter.types, atom)
            elif term[0] != "?":
                self.check_type(tree, index, term, parameter.types)
        return atom

    def _check_types(self, tree: Tree, parameters: tuple[Variable, ...], scope: Scope, atom: Atom) -> None:
        """Check the types of the arguments of `atom`, read from `tree`: raise for objects, and warn of variables."""
        for index, (term, parameter) in enumerate(zip(tree[1:], parameters, strict=True), start=1):
            if term in scope:
                self._check_variable(tree, index, scope[term], parameter.types, atom)
            elif term[0] != "?":
                self.check_type(tree, index, term, parameter.types)

    def _check_variable(self, tree: Tree, index: int, variable: Variable, wanted: tuple[str, ...], atom: Atom) -> None:
        """Warn where no object can have the type of `variable` and one of `wanted`, which PDDL allows."""
        if not self.overlap(variable.types, wanted):
            place = self.source.location(tree, index)
            message = describe_wrong_type(tree[index], variable.types, wanted, f"argument {index} of {quote(tree[0])}")
            warn_at(place, f"{message}; look at the order of the arguments")
            self.misplaced.setdefault((self.owner, atom), place)

    def overlap(self, found: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
        """Return whether an object may have a type of `found` and one of `wanted`."""
        if found == wanted or ROOT_TYPE in wanted:
            return True
        key = (found, wanted)
        if key not in self._overlaps:
            below, extent = self.types.below, self.extent
            shared = not below(found).isdisjoint(below(wanted))
            self._overlaps[key] = shared or not extent(found).isdisjoint(extent(wanted))
        return self._overlaps[key]

    def check_type(self, tree: Tree, index: int, term: str, wanted: tuple[str, ...]) -> None:
        """Raise an error unless the object `term`, item `index` of `tree`, has one of the types `wanted`.

        An object that is not declared yet is recorded instead.
        """
        if term in self.extent(wanted):
            return
        role = f"argument {index} of {quote(tree[0])}"
        if self.undeclared is not None and term in self.undeclared:
            self.undeclared[term].append(Mention(self.source.location(tree, index), wanted, role))
            return
        message = describe_wrong_type(term, self.objects[term].types, wanted, role)
        raise self.source.error(message, tree, index, "use another object, or correct its type")

    def check_predicate(self, name: str, count: int, tree: Tree) -> None:
        """Raise an error unless `name` is a predicate with `count` parameters, or its use in `tree` may declare it."""
        if self.unresolved or self.arities.get(name) == count:
            return
        declared = self.predicates.get(name)
        if declared is None and not self.inferred:
            hint = suggest_nearest(name, self.predicates) or "declare it in the domain's (:predicates …)"
            raise self.source.error(f"the predicate {quote(name)} is not declared", tree, 0, hint)
        if declared is None:
            self.predicates[name] = Predicate(name, _make_parameters(count))
            self.arities[name] = count
            self._first_use[name] = tree
            return
        first = self._first_use.get(name)
        place = f"it was first used with {len(declared.parameters)} at {self.source.location(first)}" if first else ""
        raise self.source.error(
            _describe_wrong_number(name, count, declared.parameters), tree, None, place or _describe_usage(declared)
        )

    def _accept_term(self, tree: Tree, term: Tree | str, scope: Scope) -> str:
        """Accept `term`, which is neither in scope nor a known object, where the vocabulary allows it, or raise."""
        if self.unresolved and isinstance(term, str):
            return term
        index = next(place for place, item in enumerate(tree) if item is term and place)
        if isinstance(term, str):
            if self.undeclared is None or term[0] == "?" or f"?{term}" in scope:
                raise self._unknown_term_error(tree, index, term, scope)
            self.undeclared.setdefault(term, []).append(Mention(self.source.location(tree, index)))
            return term
        hint = "an argument is a variable or the name of an object"
        raise self.source.error(f"found {quote(term)} as an argument of {quote(tree[0])}", tree, index, hint)

    def _unknown_term_error(self, tree: Tree, index: int, term: str, scope: Scope) -> PddlError:
        if term[0] == "?":
            bound, free = "':parameters', or with 'forall' or 'exists'", "'forall' or 'exists', or name an object"
            hint = suggest_nearest(term, scope) or f"declare it in {bound if scope else free}"
            return self.source.error(f"the variable {quote(term)} is not bound", tree, index, hint)
        if f"?{term}" in scope:
            return self.source.error(f"the object {quote(term)} is not declared", tree, index, f"write '?{term}'")
        hint = suggest_nearest(term, self.objects) or "declare it in ':objects' or ':constants'"
        return self.source.error(f"the object {quote(term)} is not declared", tree, index, hint)


def _make_parameters(count: int) -> tuple[Variable, ...]:
    return tuple(Variable(f"?x{number}") for number in range(1, count + 1))


def describe_wrong_type(name: str, found: tuple[str, ...], wanted: tuple[str, ...], role: str) -> str:
    """Return the message that `name` has the types `found`, but its `role` requires others."""
    is_of, has_to_be = " or ".join(found), " or ".join(wanted)
    return f"{quote(name)} is of type '{is_of}', but {role} has to be of type '{has_to_be}'"


def _describe_wrong_number(name: str, found: int, parameters: tuple[Variable, ...]) -> str:
    return f"{quote(name)} has {pluralize(found, 'argument')} here, expected {len(parameters)}"


def _describe_usage(declared: Predicate | Function) -> str:
    parameters = "".join(f" {variable}" for variable in declared.parameters)
    return f"it is declared as ({declared.name}{parameters})"
