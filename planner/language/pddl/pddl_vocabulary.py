"""Names that a PDDL condition or effect may use, typed lists such as `a b - block c`, and errors for other names."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from planner.errors import Location, PddlError
from planner.language.pddl.syntax import Source, Tree, pluralize, quote, suggest_nearest, warn_at
from planner.lightweight import Final, dataclass, field
from planner.model import ROOT_TYPE, Atom, Function, Object, Predicate, TypeHierarchy, Variable
from planner.model.domain import Mention

UNTYPED: Final = (ROOT_TYPE,)
MAX_TYPE_DEPTH: Final = 100
"""How far below `object` a type may be: every type knows all that are above it, so a chain costs its square."""

Entry = tuple[str, tuple[str, ...], int]
"""A name, its types, and where in its list it stands."""


def read_typed_list(source: Source, tree: Tree, start: int, what: str) -> Iterator[Entry]:
    """Yield the entries of `tree` from item `start` on; `what` says for messages what is listed."""
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
            types = _types(source, tree, index)
        else:
            types = (item[1:],)
        yield from ((name, types, place) for name, place in pending)
        pending = []
    yield from ((name, UNTYPED, place) for name, place in pending)


def _types(source: Source, tree: Tree, index: int) -> tuple[str, ...]:
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
    """The types that a file may use; where `unresolved`, any."""

    __slots__ = ("_hierarchy", "declared", "source", "unresolved")

    def __init__(self, source: Source, declared: Mapping[str, tuple[str, ...]], *, unresolved: bool = False) -> None:
        self.source = source
        self.declared = declared
        self.unresolved = unresolved
        self._hierarchy: TypeHierarchy | None = None

    @property
    def hierarchy(self) -> TypeHierarchy:
        """What is above what; made when it is first asked for."""
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
        """Raise unless all of `types` are declared; `index` is where their first user stands."""
        for name in types:
            if name != ROOT_TYPE and name not in self.declared and not self.unresolved:
                raise self.unknown(name, tree, index)

    def unknown(self, name: str, tree: Tree, index: int) -> PddlError:
        """Return the error for the undeclared type `name` of the name at item `index`."""
        near = suggest_nearest(name, [*self.declared, ROOT_TYPE])
        hint = near or "declare it in the domain's (:types …)"
        return self.source.error(f"{quote(tree[index])} has the unknown type {quote(name)}", tree, index, hint)

    def variables(self, tree: Tree, start: int = 0, *, twice: bool = False) -> tuple[Variable, ...]:
        """Return the variables that `tree` declares from item `start` on; where `twice`, names may be repeated."""
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
    """Return the types that the `:types` sections declare, with their parents.

    A parent that is not declared itself is a type below `object`; one that is declared twice has all its parents;
    what is said of `object` itself means nothing and is left out.
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
    """Raise where a type is above itself, or further below `object` than `MAX_TYPE_DEPTH`."""
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
    section, index = _declaration(source, sections, waiting)
    if layer:
        message = f"the type {quote(section[index])} is more than {MAX_TYPE_DEPTH} levels below '{ROOT_TYPE}'"
        raise source.error(message, section, index, "make the hierarchy flatter")
    message = f"the type {quote(section[index])} is above itself, or below a type that is"
    raise source.error(message, section, index, "remove one of the parents on the way round")


def _declaration(source: Source, sections: list[Tree], wanted: Container[str]) -> tuple[Tree, int]:
    """Return the section and the index at which the first of `wanted` is declared."""
    entries = ((section, entry) for section in sections for entry in read_typed_list(source, section, 1, "a type"))
    return next((section, index) for section, (name, _, index) in entries if name in wanted)


Scope = Mapping[str, Variable]
"""The variables in scope by the names that the file has for them: in the model, they may have others."""


def extend_scope(scope: Scope, variables: tuple[Variable, ...]) -> tuple[dict[str, Variable], tuple[Variable, ...]]:
    """Return `scope` with `variables`, and these with new names where they hide others.

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
class Vocabulary:
    """What is declared.

    Where `inferred`, a predicate is declared by its first use; where `functions_inferred`, a function is. Where
    `unresolved`, every name is taken as it is. Where `undeclared` is a table, problems may declare objects that the
    domain names, and these are noted there.

    `misplaced` notes where an atom has an argument of a type that cannot stand there, by atom and `owner`, which is the
    declaration that is being read.
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
    arities: dict[str, int] = field(init=False)
    _members: dict[str, list[str]] = field(init=False)
    _extents: dict[tuple[str, ...], set[str]] = field(default_factory=dict)
    _first_use: dict[str, Tree] = field(default_factory=dict)
    _overlaps: dict[tuple[tuple[str, ...], tuple[str, ...]], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.arities = {name: len(predicate.parameters) for name, predicate in self.predicates.items()}
        self._members = self.types.hierarchy.objects_by_type(self.objects.values())

    def extent(self, types: tuple[str, ...]) -> set[str]:
        """Return the names of the objects that are of any of `types`."""
        if types not in self._extents:
            self._extents[types] = set().union(*(self._members.get(kind, ()) for kind in types))
        return self._extents[types]

    def atom(self, tree: Tree, scope: Scope) -> Atom:
        """Return the atom that `tree` is; raise unless its predicate, its number of arguments and they are known."""
        predicate = tree[0]
        if self.arities.get(predicate) != len(tree) - 1:
            self.check_predicate(predicate, len(tree) - 1, tree)
        atom = Atom(predicate, self.terms(tree, scope))
        if predicate in self.predicates:
            self._check_types(tree, self.predicates[predicate].parameters, scope, atom)
        return atom

    def terms(self, tree: Tree, scope: Scope) -> tuple[str, ...]:
        """Return the arguments of `tree`: its items but the first."""
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
            found.append(self._other_term(tree, term, scope))
        return tuple(found)

    def function_term(self, tree: Tree, scope: Scope) -> Atom:
        """Return the term that `tree` is; raise unless the function is declared with as many parameters."""
        name = tree[0] if tree else None
        if not isinstance(name, str):
            raise self.source.error(f"found {quote(tree)}, expected a function with its arguments", tree)
        function = self.functions.get(name)
        if function is None and not self.functions_inferred:
            hint = suggest_nearest(name, self.functions) or "declare it in the domain's (:functions …)"
            raise self.source.error(f"the function {quote(name)} is not declared", tree, 0, hint)
        if function is None:
            function = Function(name, _parameters(len(tree) - 1))
            self.functions[name] = function
        if len(function.parameters) != len(tree) - 1:
            raise self.source.error(
                _wrong_number(name, len(tree) - 1, function.parameters), tree, None, _usage(function)
            )
        atom = Atom(name, self.terms(tree, scope))
        for index, (term, parameter) in enumerate(zip(tree[1:], function.parameters, strict=True), start=1):
            if term in scope:
                self._check_variable(tree, index, scope[term], parameter.types, atom)
        return atom

    def _check_types(self, tree: Tree, parameters: tuple[Variable, ...], scope: Scope, atom: Atom) -> None:
        """Raise where an object among the arguments of `atom`, which `tree` is, has another type; warn of variables."""
        for index, (term, parameter) in enumerate(zip(tree[1:], parameters, strict=True), start=1):
            if term in scope:
                self._check_variable(tree, index, scope[term], parameter.types, atom)
            elif term[0] != "?":
                self.check_type(tree, index, term, parameter.types)

    def _check_variable(self, tree: Tree, index: int, variable: Variable, wanted: tuple[str, ...], atom: Atom) -> None:
        """Warn where no object of the type of `variable` is of one of the types `wanted`: PDDL allows it."""
        if not self.overlap(variable.types, wanted):
            place = self.source.location(tree, index)
            message = describe_wrong_type(tree[index], variable.types, wanted, f"argument {index} of {quote(tree[0])}")
            warn_at(place, f"{message}; look at the order of the arguments")
            self.misplaced.setdefault((self.owner, atom), place)

    def overlap(self, found: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
        """Return whether an object may be of a type of `found` and of one of `wanted`."""
        if found == wanted or ROOT_TYPE in wanted:
            return True
        key = (found, wanted)
        if key not in self._overlaps:
            below, extent = self.types.below, self.extent
            shared = not below(found).isdisjoint(below(wanted))
            self._overlaps[key] = shared or not extent(found).isdisjoint(extent(wanted))
        return self._overlaps[key]

    def check_type(self, tree: Tree, index: int, term: str, wanted: tuple[str, ...]) -> None:
        """Raise unless the object `term`, item `index` of `tree`, is of one of the types `wanted`.

        An object that is not declared yet is noted instead.
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
        """Raise unless `name` is a predicate with `count` parameters, or may become one by its use in `tree`."""
        if self.unresolved or self.arities.get(name) == count:
            return
        declared = self.predicates.get(name)
        if declared is None and not self.inferred:
            hint = suggest_nearest(name, self.predicates) or "declare it in the domain's (:predicates …)"
            raise self.source.error(f"the predicate {quote(name)} is not declared", tree, 0, hint)
        if declared is None:
            self.predicates[name] = Predicate(name, _parameters(count))
            self.arities[name] = count
            self._first_use[name] = tree
            return
        first = self._first_use.get(name)
        place = f"it was first used with {len(declared.parameters)} at {self.source.location(first)}" if first else ""
        raise self.source.error(_wrong_number(name, count, declared.parameters), tree, None, place or _usage(declared))

    def _other_term(self, tree: Tree, term: Tree | str, scope: Scope) -> str:
        """Return `term`, which is no variable in scope and no known object, where all names are taken, or raise."""
        if self.unresolved and isinstance(term, str):
            return term
        index = next(place for place, item in enumerate(tree) if item is term and place)
        if isinstance(term, str):
            if self.undeclared is None or term[0] == "?" or f"?{term}" in scope:
                raise self._unknown_term(tree, index, term, scope)
            self.undeclared.setdefault(term, []).append(Mention(self.source.location(tree, index)))
            return term
        hint = "an argument is a variable or the name of an object"
        raise self.source.error(f"found {quote(term)} as an argument of {quote(tree[0])}", tree, index, hint)

    def _unknown_term(self, tree: Tree, index: int, term: str, scope: Scope) -> PddlError:
        if term[0] == "?":
            places = (
                "':parameters', or with 'forall' or 'exists'" if scope else "'forall' or 'exists', or name an object"
            )
            hint = suggest_nearest(term, scope) or f"declare it in {places}"
            return self.source.error(f"the variable {quote(term)} is not bound", tree, index, hint)
        if f"?{term}" in scope:
            return self.source.error(f"the object {quote(term)} is not declared", tree, index, f"write '?{term}'")
        hint = suggest_nearest(term, self.objects) or "declare it in ':objects' or ':constants'"
        return self.source.error(f"the object {quote(term)} is not declared", tree, index, hint)


def _parameters(count: int) -> tuple[Variable, ...]:
    return tuple(Variable(f"?x{number}") for number in range(1, count + 1))


def describe_wrong_type(name: str, found: tuple[str, ...], wanted: tuple[str, ...], role: str) -> str:
    """Return that the object `name` is of the types `found`, and that its `role` wants others."""
    is_of, has_to_be = " or ".join(found), " or ".join(wanted)
    return f"{quote(name)} is of type '{is_of}', but {role} has to be of type '{has_to_be}'"


def _wrong_number(name: str, found: int, parameters: tuple[Variable, ...]) -> str:
    return f"{quote(name)} has {pluralize(found, 'argument')} here, expected {len(parameters)}"


def _usage(declared: Predicate | Function) -> str:
    parameters = "".join(f" {variable}" for variable in declared.parameters)
    return f"it is declared as ({declared.name}{parameters})"
