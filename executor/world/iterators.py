"""Iterators among values that are kept: they are gone through once, and what they gave is kept instead."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from planner.errors import InputError, kind_of

MOST: Final = 1_000_000
"""What an iterator may give."""
DEEPEST: Final = 100
"""Levels of values that are looked through."""
_OWN: Final = frozenset({"builtins", "itertools"})
_NESTS: Final = frozenset({dict, list, tuple})


def listed(value: Any) -> Any:
    """Return `value` with a list in place of each of Python's own iterators in it; itself where there are none.

    Iterators of others, such as files, stay as they are: there may be more to them. So do containers of other types
    than dict, list and tuple, which have methods of their own. Raises `InputError` for one that
    does not end, and what an iterator raises.
    """
    return value if value is None else _listed(value, {}, DEEPEST)


def _is_iterator(value: Any) -> bool:
    return type(value).__module__ in _OWN and issubclass(type(value), Iterator)


def _listed(value: Any, known: dict[int, tuple[Any, Any]], depth: int) -> Any:
    """Return what `value` becomes; `known` are those that were met, by id, each with what it has become so far."""
    if not depth or not (type(value) in _NESTS or _is_iterator(value)):
        return value
    if id(value) in known:
        return known[id(value)][1]
    found: Any = value
    known[id(value)] = value, found
    parts: list[Any]
    if isinstance(value, dict):
        parts = [_listed(each, known, depth - 1) for each in value.values()]
        if any(new is not old for new, old in zip(parts, value.values(), strict=True)):
            found = dict(zip(value, parts, strict=True))
    elif isinstance(value, list | tuple):
        parts = [_listed(each, known, depth - 1) for each in value]
        if any(new is not old for new, old in zip(parts, value, strict=True)):
            found = parts if isinstance(value, list) else tuple(parts)
    else:
        found = [_listed(each, known, depth - 1) for each in islice(value, MOST + 1)]
        if len(found) > MOST:
            hint = "return what is needed, as a list"
            raise InputError(f"{kind_of(value)} among the values gives more than {MOST:,}", hint=hint)
    known[id(value)] = value, found
    return found
