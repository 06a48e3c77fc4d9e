"""Which names an atom may use where it stands, what they mean, and of which types they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from planner.declare.places import Place
from planner.declare.refs import ObjectName
from planner.errors import InputError, did_you_mean
from planner.model import OPEN, Atom, Object, Variable
from planner.records import dataclass, field, replace

Types = tuple[str, ...]
NO_NAMES: Final[frozenset[str]] = frozenset()


class Use(NamedTuple):
    """An atom as it was used, for what its predicate's parameters must be; `types` are None where left open."""

    atom: Atom
    types: tuple[Types | None, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Scope:
    """The parameters (`variables`, by name with `?`), and the objects, that may be arguments.

    `owner` is what is declared, for messages. `data` and `created` are the names of data parameters and of objects
    that the action creates; `creators` has what actions create and a problem cannot name, with the types. `uses`
    collects what was resolved.
    """

    owner: str
    variables: Mapping[str, Types]
    objects: Mapping[str, Object]
    data: frozenset[str] = NO_NAMES
    created: Mapping[str, Types] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)
    creators: Mapping[str, str] = field(default_factory=dict)

    def inside(self, variables: Iterable[Variable]) -> Scope:
        """Return the scope with the variables of a quantifier."""
        more = {variable.name: variable.types for variable in variables}
        return replace(self, variables={**self.variables, **more})

    def with_created(self) -> Scope:
        """Return the scope of effects, where the created objects exist."""
        return replace(self, variables={**self.variables, **self.created}, created={}) if self.created else self

    def atom(self, atom: Atom, place: Place, *, bare: bool, may_open: bool = False, record: bool = True) -> Atom:
        """Return `atom` with its arguments resolved, and record its use.

        `bare`: a name without `?` may mean a parameter, as in `name(arg, …)` but not in PDDL.
        """
        if not atom.args:
            if record:
                self.uses.append(Use(atom, (), place))
            return atom
        variables = self.variables
        args = tuple(
            [
                arg if arg in variables else self.term(arg, atom, place, bare=bare, may_open=may_open)
                for arg in atom.args
            ]
        )
        resolved = Atom(atom.predicate, args)
        if record:
            self.uses.append(Use(resolved, tuple([self.types_of(arg) for arg in args]), place))
        return resolved

    def term(self, term: str, inside: object, place: Place, *, bare: bool, may_open: bool = False) -> str:
        """Return what the argument `term` names: `?parameter`, an object, or `_`."""
        if isinstance(term, ObjectName):
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
                raise place.error(
                    f"'{term}' in {inside} may be the parameter or the object of {self.owner}",
                    f"write '{variable}' for the parameter, or rename one of them",
                )
            return variable
        if term in self.objects:
            return term
        raise self._unknown(term, inside, place)

    def types_of(self, term: str) -> Types | None:
        """Return the types of a resolved argument; None where it is open."""
        return self.variables[term] if term in self.variables else self.objects[term].types if term != OPEN else None

    def _unknown(self, term: Any, inside: object, place: Place) -> InputError:
        if not isinstance(term, str):
            return place.error(f"{term!r} in an atom is no name", "call the predicate with it, or give its name")
        name = term.removeprefix("?")
        if name in self.data:
            return place.error(
                f"'{name}' in {inside} is a data parameter of {self.owner}, which search does not bind",
                "only parameters of planning types may be arguments of atoms",
            )
        if f"?{name}" in self.created:
            return place.error(f"'{name}' in {inside} is created by {self.owner} and does not exist before it")
        if f"?{name}" in self.variables:
            return place.error(
                f"'{term}' in {inside} is no object of {self.owner}", f"PDDL writes parameters '?{name}'"
            )
        if name in self.creators:
            wanted = f"say what holds of it: (exists (?{name} - {self.creators[name]}) …)"
            return place.error(f"'{term}' in {inside} is created by an action, and no object of {self.owner}", wanted)
        mine = [variable.removeprefix("?") for variable in self.variables]
        near = did_you_mean(name, [*mine, *self.objects])
        what = "no parameter" if term != name else "neither a parameter nor an object" if mine else "no object"
        if not near and mine:
            near = f"the parameters are {', '.join(mine)}"
        return place.error(f"'{term}' in {inside} is {what} of {self.owner}", near)


def no_names(owner: str, objects: Mapping[str, Object]) -> Scope:
    """Return a scope with objects only: that of facts and goals."""
    return Scope(owner, {}, objects)
