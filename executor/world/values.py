"""Values that pass between handlers and the record of a run: each side has its own, and changes nobody else's."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from typing import Any, Final

from pydantic import BaseModel

from executor.world.containment import attempt

DEEPEST: Final = 100
"""Levels that are copied."""
_SHARED: Final = frozenset({str, int, float, bool, bytes, type(None)})
_COPIED: Final = (dict, list, tuple, set, bytearray, deque, BaseModel)


def own(value: Any) -> Any:
    """Return a copy of `value`, with copies of the containers of Python and pydantic models in it.

    Objects of other types are the same in both: nobody knows what a copy of them would be.
    """
    kind: type[Any] = type(value)
    if kind in _SHARED or not issubclass(kind, _COPIED):
        return value
    return _own(value, {}, DEEPEST)


def _own(value: Any, known: dict[int, Any], depth: int) -> Any:
    """Return a copy of `value`; `known` are the copies of what was met, by id."""
    kind: type[Any] = type(value)
    if kind in _SHARED or not depth or not issubclass(kind, _COPIED):
        return value
    if id(value) in known:
        return known[id(value)]
    copy: Any
    if kind is dict:
        copy = known[id(value)] = {}
        pairs = [(key, _own(each, known, depth - 1)) for key, each in value.items()]
        copy = attempt(lambda: _filled(copy, pairs), value)  # keys have functions of their own
    elif kind is list:
        copy = known[id(value)] = []
        copy.extend([_own(each, known, depth - 1) for each in value])
    elif kind is tuple:
        copy = tuple([_own(each, known, depth - 1) for each in value])
    elif kind is set:
        copy = set(value)
    else:
        copy = attempt(lambda: deepcopy(value), value)  # what is in it may do anything when it is copied
    known[id(value)] = copy
    return copy


def _filled(copy: dict[Any, Any], pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    copy.update(pairs)
    return copy
