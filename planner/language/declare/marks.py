"""Values that authors write in declarations: `When`, `Outcome`, `From`, `FIXED`, entities, and callable predicates.

A subclass of `Entity` is a planning type; `at(r2, hall)` of a declared predicate is an atom.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypedDict

from planner.language.declare.atom_syntax import abbreviate
from planner.language.declare.fields import find_caller, format_count, name_types
from planner.model import (
    OPEN,
    ROOT_TYPE,
    Arithmetic,
    Atom,
    Case,
    Comparison,
    Expression,
    Formula,
    Number,
    NumericEffect,
    Object,
)
from planner.model import Outcome as ModelOutcome
from planner.model import When as ModelWhen
from planner.model.actions import Duration
from planner.model.actions import Moment as ModelMoment
from planner.model.object_names import read_term, term_of

if TYPE_CHECKING:
    from planner.language.declare.declared_names import Types


class Entity:
    """Something in the world, known by its type and its name.

    `class Room(Entity)` declares the type `Room`, `class Office(Room)` a type below it;
    `class Room(Entity, type_name="room")` names the type otherwise, and `was="Chamber"` gives its name in earlier
    versions, or several. Entities of one type with one name are equal.
    """

    type_name: ClassVar[str] = ROOT_TYPE
    earlier_names: ClassVar[tuple[str, ...]] = ()
    name: str

    def __init_subclass__(
        cls, *, type_name: str | None = None, was: str | Iterable[str] = (), **options: object
    ) -> None:
        super().__init_subclass__(**options)
        cls.earlier_names = (was,) if isinstance(was, str) else tuple(was)
        cls.type_name = type_name or cls.__dict__.get("type_name", cls.__name__)

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise find_caller().error(f"{abbreviate(name)} cannot name an object", "a name is a text")
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
Changes = str | Atom | NumericEffect | Iterable[str | Atom | NumericEffect]
"""Patterns, and numeric effects such as `fuel(r) -= 3`."""
TypeLike = str | type[Entity] | Iterable[str | type[Entity]]
"""A planning type: its name or class; several mean either."""


@dataclass(frozen=True, slots=True)
class When:
    """A conditional effect, for all objects of `variables` (name → type)."""

    requires: Condition = ()
    provides: Condition = ()
    modifies: Changes = ()
    variables: Mapping[str, TypeLike] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A possible result of an action, with its probability (0 < probability ≤ 1)."""

    probability: Number | float | str
    provides: Condition = ()
    modifies: Changes = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """What a step that lasts requires and changes at its start (`at_start`) or at its end (`at_end`)."""

    requires: Condition = ()
    provides: Condition = ()
    modifies: Changes = ()
    when: When | ModelWhen | Iterable[When | ModelWhen] = ()


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
    modifies: Changes
    when: When | ModelWhen | Iterable[When | ModelWhen]
    cost: Any
    uses: Mapping[str, Any]
    resolution: Number | float | str | None
    after: Patterns
    creates: Mapping[str, str | type[Entity]]
    duration: Duration | float | str | Mapping[str, Number | float | str] | None
    throughout: Condition
    at_start: Moment | ModelMoment | Mapping[str, Any] | None
    at_end: Moment | ModelMoment | Mapping[str, Any] | None
    holds: str | Iterable[str] | Mapping[str, Any]
    risk: Number | float | str
    outcomes: Iterable[Outcome | ModelOutcome]
    cases: Iterable[Case]
    senses: Patterns
    lists: Patterns
    tags: str | Iterable[str]
    description: str
    similes: str | Iterable[str]
    examples: str | Iterable[str]
    was: str | Iterable[str]


class ObjectName(str):
    """The term of a Python entity inside an atom; it means that object even where a parameter has the same name."""

    __slots__ = ("entity",)
    entity: Entity

    @classmethod
    def of(cls, entity: Entity) -> ObjectName:
        """Return the term of `entity`, which keeps the entity."""
        name = cls(term_of(entity.name))
        name.entity = entity
        return name


class Operators:
    """Arithmetic in Python: `fuel(r) >= distance(a, b) + 2` is a comparison, `fuel(r).decrease(3)` an effect.

    `==` compares the terms themselves, as for all values: write `fuel(r).equals(3)`.
    """

    __slots__ = ()

    def __add__(self, other: Arithmetical) -> ArithmeticTerm:
        return ArithmeticTerm("+", (_operand(self), _operand(other)))

    def __radd__(self, other: Arithmetical) -> ArithmeticTerm:
        return ArithmeticTerm("+", (_operand(other), _operand(self)))

    def __sub__(self, other: Arithmetical) -> ArithmeticTerm:
        return ArithmeticTerm("-", (_operand(self), _operand(other)))

    def __rsub__(self, other: Arithmetical) -> ArithmeticTerm:
        return ArithmeticTerm("-", (_operand(other), _operand(self)))

    def __mul__(self, other: Arithmetical) -> ArithmeticTerm:
        return ArithmeticTerm("*", (_operand(self), _operand(other)))

    def __rmul__(self, other: Arithmetical) -> ArithmeticTerm:
        return ArithmeticTerm("*", (_operand(other), _operand(self)))

    def __truediv__(self, other: Arithmetical) -> ArithmeticTerm:
        return ArithmeticTerm("/", (_operand(self), _operand(other)))

    def __rtruediv__(self, other: Arithmetical) -> ArithmeticTerm:
        return ArithmeticTerm("/", (_operand(other), _operand(self)))

    def __neg__(self) -> ArithmeticTerm:
        return ArithmeticTerm("-", (_operand(self),))

    def __lt__(self, other: Arithmetical) -> Comparison:
        return Comparison(_operand(self), "<", _operand(other))

    def __le__(self, other: Arithmetical) -> Comparison:
        return Comparison(_operand(self), "<=", _operand(other))

    def __gt__(self, other: Arithmetical) -> Comparison:
        return Comparison(_operand(self), ">", _operand(other))

    def __ge__(self, other: Arithmetical) -> Comparison:
        return Comparison(_operand(self), ">=", _operand(other))

    def equals(self, other: Arithmetical) -> Comparison:
        """Return the comparison that this value equals the other one."""
        return Comparison(_operand(self), "=", _operand(other))


class FunctionTerm(Operators, Atom):
    """A function with its arguments, as `fuel(r2)` of a declared function gives it; equal to the atom that it is."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and (self.predicate, self.args) == (other.predicate, other.args)

    def __hash__(self) -> int:
        return hash(Atom(self.predicate, self.args))

    def increase(self, amount: Arithmetical) -> NumericEffect:
        """Return the effect that increases the value by `amount`."""
        return NumericEffect(self, "+=", _operand(amount))

    def decrease(self, amount: Arithmetical) -> NumericEffect:
        """Return the effect that decreases the value by `amount`."""
        return NumericEffect(self, "-=", _operand(amount))

    def scale(self, factor: Arithmetical) -> NumericEffect:
        """Return the effect that multiplies the value by `factor`."""
        return NumericEffect(self, "*=", _operand(factor))

    def assign(self, value: Arithmetical) -> NumericEffect:
        """Return the effect that sets the value."""
        return NumericEffect(self, ":=", _operand(value))


class ArithmeticTerm(Operators, Arithmetic):
    """An expression that takes part in further arithmetic."""

    __slots__ = ()


Arithmetical = Operators | Atom | Arithmetic | int | Decimal
"""A term or number in arithmetic; a float is no exact number."""


def _operand(value: Any) -> Expression:
    if isinstance(value, Atom | Arithmetic | int | Decimal) and not isinstance(value, bool):
        return value
    hint = f"write Decimal('{value!r}')" if isinstance(value, float) else "write fuel(r) + 2"
    raise find_caller().error(f"{abbreviate(value)} takes no part in arithmetic", hint)


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
                return argument if argument == OPEN or argument.startswith("?") else read_term(argument)
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


class FunctionRef(PredicateRef):
    """A declared function; called with arguments, it gives a term that takes part in arithmetic."""

    __slots__ = ()

    def __call__(self, *arguments: Entity | Object | str) -> FunctionTerm:
        """Return the function with these arguments."""
        atom = PredicateRef.__call__(self, *arguments)
        return FunctionTerm(atom.predicate, atom.args)
