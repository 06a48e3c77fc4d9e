"""Copy values that pass between handlers and the record of a run, so that neither side changes the other's.

An iterator is read once, and replaced by a list of what it gave.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from copy import deepcopy
from itertools import islice
from typing import Any, Final

from pydantic import BaseModel

from executor.tools.containment import call_or_else
from planner.errors import InputError, kind_of

DEEPEST_COPY: Final = 100
"""Depth to which nested values are copied."""
_SHARED: Final = frozenset({str, int, float, bool, bytes, type(None)})
_COPIED: Final = (dict, list, tuple, set, bytearray, deque, BaseModel)


def copy_value(value: Any) -> Any:
    """Return a copy of `value`, with copies of the containers of Python and pydantic models in it.

    Objects of other types are shared, as a copy of them may mean anything.
    """
    kind: type[Any] = type(value)
    if kind in _SHARED or not issubclass(kind, _COPIED):
        return value
    return _copy_nested(value, {}, DEEPEST_COPY)


def _copy_nested(value: Any, known: dict[int, Any], depth: int) -> Any:
    """Return a copy of `value`; `known` maps ids of values to the copies made so far."""
    kind: type[Any] = type(value)
    if kind in _SHARED or not depth or not issubclass(kind, _COPIED):
        return value
    if id(value) in known:
        return known[id(value)]
    copy: Any
    if kind is dict:
        copy = known[id(value)] = {}
        pairs = [(key, _copy_nested(each, known, depth - 1)) for key, each in value.items()]
        copy = call_or_else(lambda: _fill_dict(copy, pairs), value)  # keys have functions of their own
    elif kind is list:
        copy = known[id(value)] = []
        copy.extend([_copy_nested(each, known, depth - 1) for each in value])
    elif kind is tuple:
        copy = tuple([_copy_nested(each, known, depth - 1) for each in value])
    elif kind is set:
        copy = set(value)
    else:
        copy = call_or_else(lambda: deepcopy(value), value)  # what is in it may do anything when it is copied
    known[id(value)] = copy
    return copy


def _fill_dict(copy: dict[Any, Any], pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    copy.update(pairs)
    return copy


MOST: Final = 1_000_000
"""Most items that an iterator may yield."""
DEEPEST_ITERATOR: Final = 100
"""Depth to which iterators are searched for in nested values."""
_OWN: Final = frozenset({"builtins", "itertools"})
_NESTS: Final = frozenset({dict, list, tuple})


def replace_iterators(value: Any) -> Any:
    """Return `value` with each of Python's own iterators in it replaced by a list; `value` itself if it has none.

    Other iterators, such as files, stay, and so do containers other than dict, list and tuple: they have methods of
    their own. Raises `InputError` for an iterator of more than `MOST` items, and whatever an iterator raises.
    """
    return value if value is None else _replace_nested(value, {}, DEEPEST_ITERATOR)


def _is_iterator(value: Any) -> bool:
    return type(value).__module__ in _OWN and issubclass(type(value), Iterator)


def _replace_nested(value: Any, known: dict[int, tuple[Any, Any]], depth: int) -> Any:
    """Return `value` without iterators; `known` maps ids of values to (value, replacement so far)."""
    if not depth or not (type(value) in _NESTS or _is_iterator(value)):
        return value
    if id(value) in known:
        return known[id(value)][1]
    found: Any = value
    known[id(value)] = value, found
    parts: list[Any]
    if isinstance(value, dict):
        parts = [_replace_nested(each, known, depth - 1) for each in value.values()]
        if any(new is not old for new, old in zip(parts, value.values(), strict=True)):
            found = dict(zip(value, parts, strict=True))
    elif isinstance(value, list | tuple):
        parts = [_replace_nested(each, known, depth - 1) for each in value]
        if any(new is not old for new, old in zip(parts, value, strict=True)):
            found = parts if isinstance(value, list) else tuple(parts)
    else:
        found = [_replace_nested(each, known, depth - 1) for each in islice(value, MOST + 1)]
        if len(found) > MOST:
            hint = "return what is needed, as a list"
            raise InputError(f"{kind_of(value)} among the values gives more than {MOST:,}", hint=hint)
    known[id(value)] = value, found
    return found
