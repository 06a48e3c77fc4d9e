"""What handlers are declared to return, and whether a path leads to something in it."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from executor.world.results import ActionResult, Wait
from executor.world.returned import FIELDS
from executor.world.world import Skill

_PLAIN: Final = (bool, int, float, complex, bytes, str)
_ROWS: Final = (list, tuple, Sequence, set, frozenset)


def may_have(function: Callable[..., Any], path: str) -> bool:
    """Return whether `path` may lead to something in the result of `function`, by what it is annotated to return.

    A path begins with a field of `ActionResult`. What is not annotated, or not closed, may have anything.
    """
    first, *rest = [part for part in path.split(".") if part] or ["data"]
    if first not in FIELDS:
        return False
    return any(_may_bring(each, first, rest) for each in _members(_returned(function)))


def may_leave(skill: Skill, name: str) -> bool:
    """Return whether a handler may leave a value called `name` in working memory, which results and contexts can do.

    One that is annotated says so by what it returns; the code of any other has to take a context, to wait, or to speak
    of the name.
    """
    if skill.takes_context:
        return True
    found = _returned(skill.function)
    if found is not Any:
        return any(_may_bring(each, "values", [name]) for each in _members(found))
    code = getattr(_call(skill.function), "__code__", None)
    return code is None or any(name in each.co_consts or "Wait" in each.co_names for each in _codes(code))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code of a function, and of the functions in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)


def _call(function: Callable[..., Any]) -> Any:
    return function if hasattr(function, "__code__") else getattr(function, "__call__", function)  # noqa: B004 - its code


def promise(function: Callable[..., Any]) -> str:
    """Return what `function` is annotated to return, as authors write it."""
    found = _returned(function)
    return getattr(found, "__name__", "") if isinstance(found, type) and not get_args(found) else str(found)


def _returned(function: Callable[..., Any]) -> Any:
    try:
        return get_type_hints(_call(function), include_extras=True).get("return", Any)
    except Exception:  # noqa: BLE001 - annotations may name what is not to be had here
        return Any


def _members(kind: Any) -> Iterable[Any]:
    """Yield the types that a value annotated with `kind` may have."""
    origin = get_origin(kind)
    if origin is Annotated or origin in (Awaitable, Coroutine):
        yield from _members(get_args(kind)[-1 if origin is Coroutine else 0])
    elif origin in (typing.Union, types.UnionType):
        for each in get_args(kind):
            yield from _members(each)
    else:
        yield type(None) if kind is None else kind


def _may_bring(kind: Any, first: str, rest: Sequence[str]) -> bool:
    """Return whether a handler that returns `kind` may have brought what the path leads to."""
    if not isinstance(get_origin(kind) or kind, type):
        return True
    cls = get_origin(kind) or kind
    if cls is object or issubclass(cls, ActionResult | Wait):
        return True
    if "success" in (names := _field_names(cls)):
        return first != "data" or _result_has(cls, names, rest)
    if issubclass(cls, Mapping) and not typing.is_typeddict(cls):
        return first != "data" or _leads(kind, rest)
    if first == "data":
        return cls not in (type(None), bool) and _leads(kind, rest)
    return not rest or first not in ("data", "text", "values", "created")


def _field_names(cls: type) -> frozenset[str]:
    """Return the fields that `cls`, a model, a dataclass or a typed dict, declares; none for any other class."""
    if issubclass(cls, BaseModel):
        return frozenset(cls.model_fields)
    return frozenset(_hints(cls)) if typing.is_typeddict(cls) or dataclasses.is_dataclass(cls) else frozenset()


def _result_has(cls: type, names: frozenset[str], path: Sequence[str]) -> bool:
    """Return whether `path` may lead to something in the data of a result of the class `cls`, whose fields are `names`.

    Fields beside those of `ActionResult` are kept under `data`; without a field `data`, it is the whole object.
    """
    if not path:
        return True
    is_kept = path[0] not in FIELDS or path[0] == "data" or not ("data" in names or typing.is_typeddict(cls))
    return (is_kept and _has(cls, path[0], path[1:])) or ("data" in names and _has(cls, "data", path))


def _leads(kind: Any, path: Sequence[str]) -> bool:
    """Return whether `path` may lead to something in a value of `kind`."""
    return not path or any(_has(each, path[0], path[1:]) for each in _members(kind))


def _has(kind: Any, name: str, rest: Sequence[str]) -> bool:  # noqa: PLR0911 - a line for each kind of type
    cls, args = get_origin(kind) or kind, get_args(kind)
    if not isinstance(cls, type) or cls is object:
        return True
    if typing.is_typeddict(cls):
        return name in cls.__annotations__ and _leads(_hints(cls)[name], rest)
    if issubclass(cls, Mapping):
        return not args or _leads(args[-1], rest)
    if issubclass(cls, _ROWS) and not issubclass(cls, str | bytes):
        return name.isdecimal() and (not args or _leads(args[0] if len(args) < 2 or args[1] is ... else Any, rest))
    if issubclass(cls, BaseModel):
        is_open = cls.model_config.get("extra") == "allow" or hasattr(cls, name)
        return _leads(cls.model_fields[name].annotation, rest) if name in cls.model_fields else is_open
    if dataclasses.is_dataclass(cls):
        return _leads(_hints(cls).get(name, Any), rest) if name in _hints(cls) else hasattr(cls, name)
    if issubclass(cls, str):
        return False
    return hasattr(cls, name) if issubclass(cls, (*_PLAIN, type(None))) else True


def _hints(cls: type) -> Mapping[str, Any]:
    try:
        return get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations may name what is not to be had here
        return dict.fromkeys(cls.__annotations__, Any)
