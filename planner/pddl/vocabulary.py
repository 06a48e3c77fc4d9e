"""The names that a condition or an effect may use, and the errors for those that it may not."""

from __future__ import annotations

from collections.abc import Mapping

from planner.errors import Location, PddlError
from planner.model import ROOT_TYPE, Atom, Function, Object, Predicate, Variable
from planner.model.domain import Mention
from planner.pddl.lenient import warn_at
from planner.pddl.trees import Source, Tree, counted, nearest, quote
from planner.pddl.typed import Types
from planner.records import dataclass, field

Scope = Mapping[str, Variable]
"""The variables in scope by the names that the file has for them: in the model, they may have others."""


def widened(scope: Scope, variables: tuple[Variable, ...]) -> tuple[dict[str, Variable], tuple[Variable, ...]]:
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
            hint = nearest(name, self.functions) or "declare it in the domain's (:functions …)"
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
            message = wrong_type(tree[index], variable.types, wanted, f"argument {index} of {quote(tree[0])}")
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
        message = wrong_type(term, self.objects[term].types, wanted, role)
        raise self.source.error(message, tree, index, "use another object, or correct its type")

    def check_predicate(self, name: str, count: int, tree: Tree) -> None:
        """Raise unless `name` is a predicate with `count` parameters, or may become one by its use in `tree`."""
        if self.unresolved or self.arities.get(name) == count:
            return
        declared = self.predicates.get(name)
        if declared is None and not self.inferred:
            hint = nearest(name, self.predicates) or "declare it in the domain's (:predicates …)"
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
            hint = nearest(term, scope) or f"declare it in {places}"
            return self.source.error(f"the variable {quote(term)} is not bound", tree, index, hint)
        if f"?{term}" in scope:
            return self.source.error(f"the object {quote(term)} is not declared", tree, index, f"write '?{term}'")
        hint = nearest(term, self.objects) or "declare it in ':objects' or ':constants'"
        return self.source.error(f"the object {quote(term)} is not declared", tree, index, hint)


def _parameters(count: int) -> tuple[Variable, ...]:
    return tuple(Variable(f"?x{number}") for number in range(1, count + 1))


def wrong_type(name: str, found: tuple[str, ...], wanted: tuple[str, ...], role: str) -> str:
    """Return that the object `name` is of the types `found`, and that its `role` wants others."""
    is_of, has_to_be = " or ".join(found), " or ".join(wanted)
    return f"{quote(name)} is of type '{is_of}', but {role} has to be of type '{has_to_be}'"


def _wrong_number(name: str, found: int, parameters: tuple[Variable, ...]) -> str:
    return f"{quote(name)} has {counted(found, 'argument')} here, expected {len(parameters)}"


def _usage(declared: Predicate | Function) -> str:
    parameters = "".join(f" {variable}" for variable in declared.parameters)
    return f"it is declared as ({declared.name}{parameters})"
