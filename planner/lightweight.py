"""Dataclasses and names for annotations that cost next to nothing at start-up.

Importing `typing` takes a tenth of the time in which a small task is read and ground, and `dataclasses` imports half of
what Python knows about source code and compiles six functions for each class; a planner starts with some seventy
classes. Here `__init__` alone is compiled, when the first instance is made and once for all classes with as many
fields; the other methods are closures. Import `dataclass`, `field` and `replace` from here as from `dataclasses`, whose
own functions (`fields`, `asdict`, …) take these classes too.
"""

from __future__ import annotations

import functools
import operator
from types import CodeType, FunctionType

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Final, NoReturn, Protocol, TypeVar, cast
else:
    Any = Final = NoReturn = Protocol = object

    def TypeVar(name: str) -> object:  # noqa: N802 - as it is called there
        """Return `name`, which stands for a type variable."""
        return name

    def cast(_kind: object, value: object) -> object:
        """Return `value`."""
        return value


if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from dataclasses import Field, dataclass, field, replace
else:

    class Field:
        """The options of one field; `...` is no default."""

        __slots__ = ("compare", "default", "default_factory", "init", "repr")

        def __init__(
            self,
            default: Any = ...,
            default_factory: Any = ...,
            *,
            init: bool = True,
            repr: bool = True,  # noqa: A002 - as it is called there
            compare: bool = True,
        ) -> None:
            self.default, self.default_factory = default, default_factory
            self.init, self.repr, self.compare = init, repr, compare

    def field(**stated: Any) -> Field:
        """Return the options of one field, for a class body."""
        return Field(**stated)

    def dataclass(*, slots: bool, frozen: bool = False, eq: bool = True) -> Any:
        """Return a decorator that makes a class with `slots` a dataclass; there are none without."""
        assert slots
        return lambda cls: _make_dataclass(cls, frozen=frozen, eq=eq)

    def replace(record: Any, /, **changes: Any) -> Any:
        """Return a copy of `record` with other values for the fields in `changes`."""
        names = record.__match_args__
        return record.__class__(**{**dict(zip(names, _getter_of(names)(record), strict=True)), **changes})


class _Late:
    """An attribute of a class that is computed on first access."""

    __slots__ = ("_make", "_name", "_owner")

    def __init__(self, make: Callable[[type], Any]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        setattr(self._owner, self._name, self._make(self._owner))
        return getattr(owner if instance is None else instance, self._name)


def _make_dataclass(cls: type, *, frozen: bool, eq: bool) -> type:
    """Return `cls` as a dataclass with slots; methods that it defines itself stay."""
    own = dict(vars(cls))
    fields = {name: _as_field(own.pop(name, ...)) for name in own.get("__annotations__", ())}
    names = tuple(fields)
    methods: dict[str, Any] = {
        "__slots__": names,
        "__match_args__": tuple([name for name in names if fields[name].init]),
        "__init__": _Late(lambda made: _make_init(made, fields, frozen=frozen)),
        "__repr__": _make_repr([name for name in names if fields[name].repr]),
        "__dataclass_fields__": _Late(lambda made: _make_standard_class(made, fields).__dataclass_fields__),
    }
    if eq:
        methods |= _make_comparisons(_make_getter([name for name in names if fields[name].compare]))
        if not frozen:
            methods["__hash__"] = None
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
    for inherited in ("__dict__", "__weakref__"):
        own.pop(inherited, None)
    made = type(cls)(cls.__name__, cls.__bases__, methods | own)
    made.__qualname__ = cls.__qualname__
    return made


def _as_field(stated: Any) -> Any:
    """Return what a class body states, a default, a field, or nothing (`...`), as a field."""
    return stated if isinstance(stated, Field) else field(default=stated)


def _make_init(cls: type, fields: dict[str, Any], *, frozen: bool) -> Callable[..., None]:
    """Return `__init__`: code shared by all classes with as many fields, with the names and defaults of `cls`."""
    values: dict[str, Any] = {"missing": ...}
    names, lines, defaults = {}, [], []
    for number, (name, stated) in enumerate(fields.items()):
        generic, value, default = f"field{number}", f"field{number}", stated.default
        names[generic] = name
        values[f"set{number}"] = vars(cls)[name].__set__
        if stated.default_factory is not ...:
            values[f"make{number}"] = stated.default_factory
            value = f"make{number}() if {generic} is missing else {generic}" if stated.init else f"make{number}()"
        elif not stated.init and default is not ...:
            values[f"fixed{number}"] = default
            value = f"fixed{number}"
        if stated.init and (default is not ... or stated.default_factory is not ...):
            defaults.append(default)
        if stated.init or value != generic:
            lines.append(f"set{number}(self, {value})" if frozen else f"self.{generic} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = [generic for generic, name in names.items() if fields[name].init]
    code = _compile_init(", ".join(["self", *parameters]), "; ".join(lines) or "pass")
    named = code.replace(
        co_varnames=tuple([names.get(name, name) for name in code.co_varnames]),
        co_names=tuple([names.get(name, name) for name in code.co_names]),
        co_qualname=f"{cls.__qualname__}.__init__",
    )
    return FunctionType(named, values, "__init__", tuple(defaults))


@functools.cache
def _compile_init(parameters: str, body: str) -> CodeType:
    made: dict[str, Any] = {}
    exec(f"def __init__({parameters}):\n {body}", made)  # noqa: S102 - our own text, made of numbers
    code: CodeType = made["__init__"].__code__
    return code


def _make_standard_class(cls: type, fields: dict[str, Any]) -> Any:
    """Return a class with the same fields, made by the standard module."""
    import dataclasses

    def described(stated: Any) -> Any:
        options = {name: getattr(stated, name) for name in ("default", "default_factory", "init", "repr", "compare")}
        return dataclasses.field(**{name: value for name, value in options.items() if value is not ...})

    types = cls.__annotations__
    return dataclasses.make_dataclass(cls.__name__, [(name, types[name], described(fields[name])) for name in fields])


@functools.cache
def _getter_of(names: tuple[str, ...]) -> Callable[[Any], Any]:
    return _make_getter(names)


def _make_getter(names: Sequence[str]) -> Callable[[Any], Any]:
    """Return a function from an instance to the tuple of its `names`."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda instance: tuple([getattr(instance, name) for name in names])


def _make_comparisons(key: Callable[[Any], Any]) -> dict[str, Any]:
    def equal(self: Any, other: Any) -> bool:
        if self is other:
            return True
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(key(self))

    return {"__eq__": equal, "__hash__": hashed}


def _make_repr(names: list[str]) -> Callable[[Any], str]:
    def represent(self: Any) -> str:
        values = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{self.__class__.__qualname__}({values})"

    return represent


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__slots__]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__slots__, state, strict=True):
        object.__setattr__(self, name, value)


def _refuse_to_set(self: Any, name: str, value: Any) -> NoReturn:  # noqa: ARG001 - the signature is Python's
    raise _frozen_error(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> NoReturn:  # noqa: ARG001 - the signature is Python's
    raise _frozen_error(f"cannot delete field {name!r}")


def _frozen_error(message: str) -> AttributeError:
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError(message)


__all__ = ["TYPE_CHECKING", "Any", "Final", "NoReturn", "Protocol", "TypeVar", "cast", "dataclass", "field", "replace"]
