"""Values that authors write in declarations: `When`, `Outcome`, `From`, `FIXED`, entities, and callable predicates.

A subclass of `Entity` is a planning type; `at(r2, hall)` of a declared predicate is an atom.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypedDict

from planner.language.declare.atom_syntax import abbreviate, explain_bad_name, is_name
from planner.language.declare.fields import find_caller, format_count, name_types
from planner.model import ROOT_TYPE, Atom, Case, Formula, Number, Object
from planner.model import Outcome as ModelOutcome
from planner.model import When as ModelWhen

if TYPE_CHECKING:
    from planner.language.declare.declared_names import Types


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
            raise find_caller().error(*explain_bad_name(name, "an object"))
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


Condition = str | Formula | Iterable[str | Formula]
"""An atom or another condition as text or value, or several that must all hold."""
Patterns = str | Atom | Iterable[str | Atom]
TypeLike = str | type[Entity] | Iterable[str | type[Entity]]
"""A planning type: its name or class; several mean either."""


@dataclass(frozen=True, slots=True)
class When:
    """A conditional effect, for all objects of `variables` (name → type)."""

    requires: Condition = ()
    provides: Condition = ()
    modifies: Patterns = ()
    variables: Mapping[str, TypeLike] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A possible result of an action, with its probability (0 < probability ≤ 1)."""

    probability: Number | float | str
    provides: Condition = ()
    modifies: Patterns = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a data parameter, as `From` makes it: the result at `path` of the step that provides `fact`."""

    fact: str | Atom
    path: str = ""
    approved: bool = False


def From(fact: str | Atom, path: str = "", *, approved: bool = False) -> Any:  # noqa: N802 - reads as the marker that it is, as pydantic's Field
    """Mark a data parameter that takes its value from the result of the step that provides the required `fact`.

    The mark is the default of the parameter, or stands inside `Annotated`. `path` leads to a field of the result. An
    agent asks for approval of an irreversible step that gets text from there, unless it is `approved` here.
    """
    return Source(fact, path, approved)


class Fixed:
    """The type of `FIXED`."""

    def __repr__(self) -> str:
        return "FIXED"


FIXED: Final = Fixed()
"""Marks a data parameter, inside `Annotated`, that no language model may fill."""


class ActionFields(TypedDict, total=False):
    """The fields of an action besides its name and parameters."""

    requires: Condition
    provides: Condition
    modifies: Patterns
    when: When | ModelWhen | Iterable[When | ModelWhen]
    cost: Any
    uses: Mapping[str, Any]
    resolution: Number | float | str | None
    after: Patterns
    creates: Mapping[str, str | type[Entity]]
    duration: Number | float | str | None
    risk: Number | float | str
    outcomes: Iterable[Outcome | ModelOutcome]
    cases: Iterable[Case]
    senses: Patterns
    lists: Patterns
    tags: str | Iterable[str]
    description: str
    similes: str | Iterable[str]
    examples: str | Iterable[str]


class ObjectName(str):
    """The name of a Python entity inside an atom; it means that object even where a parameter has the same name."""

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
            raise find_caller().error(f"{expected} is given {format_count(len(arguments))}")
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
        raise find_caller().error(f"an argument of {self.name} is an entity or a name, not {abbreviate(argument)}")

    def _check_type(self, argument: Entity | Object, given: tuple[str, ...], wanted: tuple[str, ...]) -> None:
        """Raise an error for an argument that can have none of the `wanted` types."""
        known = self._declared
        if known is not None and not any(known.hierarchy.is_a((name,), wanted) for name in given if name in known):
            raise find_caller().error(
                f"{argument.name!r} in {self.name} is {name_types(given[:1])}, but it takes {name_types(wanted)} there"
            )

    def __str__(self) -> str:
        return self.name
