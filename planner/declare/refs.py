"""Predicates and functions as callable values: `at(r2, hall)` is an atom."""

from __future__ import annotations

from dataclasses import dataclass

from planner.declare.entity import Entity
from planner.declare.places import caller
from planner.declare.words import count
from planner.model import Atom, Object


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

    def __call__(self, *arguments: Entity | Object | str) -> Atom:
        """Return the atom with these arguments."""
        if len(arguments) != len(self.types):
            expected = f"{self.name}({', '.join(' | '.join(names) for names in self.types)})"
            raise caller().error(f"{expected} is given {count(len(arguments))}")
        return Atom(self.name, tuple([self._term(argument) for argument in arguments]))

    def _term(self, argument: Entity | Object | str) -> str:
        match argument:
            case str():
                return argument
            case Entity():
                return ObjectName.of(argument)
            case Object():
                return argument.name
        raise caller().error(f"an argument of {self.name} is an entity or a name, not {argument!r}")

    def __str__(self) -> str:
        return self.name
