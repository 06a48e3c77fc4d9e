"""`Entity`: the base class of the Python classes that are planning types."""

from __future__ import annotations

from typing import ClassVar

from planner.declare.places import caller
from planner.declare.syntax import cannot_name, is_name
from planner.model import ROOT_TYPE


class Entity:
    """Something in the world, known by its type and its name.

    `class Room(Entity)` declares the type `Room`, `class Office(Room)` a type below it;
    `class Room(Entity, type_name="room")` names the type otherwise. Entities of one type with one name are equal.
    """

    type_name: ClassVar[str] = ROOT_TYPE
    name: str

    def __init_subclass__(cls, *, type_name: str | None = None, **options: object) -> None:
        super().__init_subclass__(**options)
        cls.type_name = type_name or cls.__dict__.get("type_name", cls.__name__)

    def __init__(self, name: str) -> None:
        if not is_name(name):
            raise caller().error(*cannot_name(name, "an object"))
        self.name = name

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Entity) and self.name == other.name

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def parent_classes(cls: type[Entity]) -> tuple[type[Entity], ...]:
    """Return the direct bases of `cls` that are entities; none for `Entity` itself."""
    return tuple(base for base in cls.__bases__ if issubclass(base, Entity))


def type_names(cls: type[Entity]) -> tuple[str, ...]:
    """Return the type that `cls` stands for, and those of the classes above it."""
    return tuple(base.type_name for base in cls.__mro__ if issubclass(base, Entity))
