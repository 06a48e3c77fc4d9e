"""Predicates and functions as callable values: `at(r2, hall)` is an atom."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from planner.declare.entity import Entity, type_names
from planner.declare.places import caller
from planner.declare.syntax import shown
from planner.declare.words import count, either
from planner.model import Atom, Object

if TYPE_CHECKING:
    from planner.declare.types import Types


class ObjectName(str):
    """The name of a Python entity inside an atom: it means that object, also where a parameter has the same name."""

    __slots__ = ("entity",)
    entity: Entity

    @classmethod
    def of(cls, entity: Entity) -> ObjectName:
        """Return the name of `entity`, which keeps the entity."""
        name = cls(entity.name)
        name.entity = entity
        return name


@dataclass(frozen=True, slots=True)
class PredicateRef:
    """A declared predicate or function; called with arguments, it gives an atom.

    Arguments are entities, objects, names (of parameters or objects), or `_` where a pattern leaves one open.
    """

    name: str
    types: tuple[tuple[str, ...], ...]
    _declared: Types | None = field(default=None, compare=False, repr=False)

    def __call__(self, *arguments: Entity | Object | str) -> Atom:
        """Return the atom with these arguments."""
        if len(arguments) != len(self.types):
            expected = f"{self.name}({', '.join(' | '.join(names) for names in self.types)})"
            raise caller().error(f"{expected} is given {count(len(arguments))}")
        pairs = zip(arguments, self.types, strict=True)
        return Atom(self.name, tuple([self._term(argument, types) for argument, types in pairs]))

    def _term(self, argument: Entity | Object | str, types: tuple[str, ...]) -> str:
        match argument:
            case str():
                return argument
            case Entity():
                self._check_type(argument, type_names(type(argument)), types)
                return ObjectName.of(argument)
            case Object():
                self._check_type(argument, argument.types, types)
                return argument.name
        raise caller().error(f"an argument of {self.name} is an entity or a name, not {shown(argument)}")

    def _check_type(self, argument: Entity | Object, given: tuple[str, ...], wanted: tuple[str, ...]) -> None:
        """Refuse an argument that can be of none of the `wanted` types."""
        known = self._declared
        if known is not None and not any(known.hierarchy.is_a((name,), wanted) for name in given if name in known):
            raise caller().error(
                f"{argument.name!r} in {self.name} is {either(given[:1])}, but it takes {either(wanted)} there"
            )

    def __str__(self) -> str:
        return self.name
