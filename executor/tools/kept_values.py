"""Write values for the journal so that they come back as the types that they were.

JSON has no bytes, dates or exact decimals: these are marked by their type. Models, dataclasses and enumerations are
kept by their contents, from which the annotation of a parameter makes them again; objects of planning types by their
names. What cannot be kept comes back as `Lost`, which no step takes for a value.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import numbers
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path, PurePath
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel

from executor.tools.containment import as_plain_text, contain_errors
from executor.tools.value_changes import Edited, Spliced
from planner.errors import InputError, kind_of
from planner.language.declare.marks import Entity
from planner.model import Object

DEEPEST: Final = 200
"""Depth of nested values that are kept; JSON readers refuse what is much deeper."""
_MARK: Final = "$"
"""Begins the only key of a mapping that stands for a value of another type."""
LONGEST: Final = 12_000
"""Longest whole number that is kept as a number, in bits."""


HINT: Final = "keep what it can be made from again, such as an address or an id"


@dataclasses.dataclass(frozen=True, slots=True)
class Lost:
    """Stands for a value that the journal did not keep; `what` says what it was."""

    what: str

    def __repr__(self) -> str:
        return f"<{self.what}, which the journal does not keep>"


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """Stands for a value that was written as `data` before."""

    data: Any


_TYPES: Final[Mapping[type[Any], tuple[str, Callable[[Any], Any]]]] = {
    bytes: ("bytes", lambda value: base64.b64encode(value).decode()),
    bytearray: ("bytes", lambda value: base64.b64encode(value).decode()),
    Decimal: ("decimal", str),
    Fraction: ("fraction", str),
    datetime: ("datetime", datetime.isoformat),
    date: ("date", date.isoformat),
    time: ("time", time.isoformat),
    timedelta: ("duration", lambda value: [value.days, value.seconds, value.microseconds]),
    UUID: ("uuid", str),
    complex: ("complex", lambda value: [repr(value.real), repr(value.imag)]),
}
"""Types that JSON lacks, each with its mark and the function that writes its values."""
_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "bytes": base64.b64decode,
    "decimal": Decimal,
    "fraction": Fraction,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "duration": lambda parts: timedelta(*parts),
    "uuid": UUID,
    "path": Path,
    "pure-path": PurePath,
    "complex": lambda parts: complex(float(parts[0]), float(parts[1])),
    "float": float,
    "integer": lambda digits: int(digits, 16),
    "text": lambda data: base64.b64decode(data).decode("utf-16-le", "surrogatepass"),
    "tuple": lambda items: tuple(map(recall_value, items)),
    "set": lambda items: set(map(recall_value, items)),
    "frozenset": lambda items: frozenset(map(recall_value, items)),
    "map": lambda pairs: {recall_value(key): recall_value(each) for key, each in pairs},
    "lost": Lost,
    "spliced": lambda parts: Spliced(int(parts[0]), recall_value(parts[1]), int(parts[2])),
    "edited": lambda fields: Edited({name: recall_value(each) for name, each in fields.items()}),
}
"""Functions that read the values of each mark."""


@dataclasses.dataclass(slots=True)
class Keeper:
    """Writes values as JSON-ready data for `recall_value`; `lost` says what could not be kept, by its place."""

    lost: dict[str, str] = dataclasses.field(default_factory=dict)

    def keep(self, value: Any, place: str = "", depth: int = DEEPEST) -> Any:
        """Return `value` as data; what cannot be kept is marked."""
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return _write_text(value)
        if depth and kind is list:
            return self._keep_items(value, place, depth)
        if depth and kind is dict and all(map(_is_plain_key, value)):
            return self._keep_mapping(value, place, depth)
        try:
            with contain_errors():
                return self._keep(value, place, depth)
        except Exception:  # noqa: BLE001 - objects may do anything when they are looked into
            return self._lose(kind_of(value), place)

    def _keep(self, value: Any, place: str, depth: int) -> Any:
        if not depth:
            return self._lose("a value nested too deeply", place)
        for kind, (mark, write) in _TYPES.items():
            if isinstance(value, kind):
                return {_MARK + mark: write(value)}
        match value:
            case Entity() | Object():
                return _write_text(str(value.name))
            case Enum():
                return self.keep(value.value, place, depth - 1)
            case bool():
                return bool(value)
            case numbers.Integral():
                number = int(value)
                return number if number.bit_length() <= LONGEST else {f"{_MARK}integer": hex(number)}
            case numbers.Real():
                real = float(value)
                return real if math.isfinite(real) else {f"{_MARK}float": repr(real)}
            case str():
                return _write_text(as_plain_text(value))
            case PurePath():
                return {f"{_MARK}{'path' if isinstance(value, Path) else 'pure-path'}": str(value)}
            case BaseModel():
                fields = dict(value)  # with the extra ones
                return self._keep_fields(fields, place, depth)
            case Mapping():
                return self._keep_mapping(value, place, depth)
            case list() | deque():
                return self._keep_items(value, place, depth)
            case tuple():
                return {f"{_MARK}tuple": self._keep_items(value, place, depth)}
            case set() | frozenset():
                mark = "set" if isinstance(value, set) else "frozenset"
                return {_MARK + mark: sorted(self._keep_items(value, place, depth), key=repr)}
            case Lost():
                return {f"{_MARK}lost": value.what}
            case Kept():
                return value.data
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
            return self._keep_fields(fields, place, depth)
        if hasattr(value, "tolist") and hasattr(value, "dtype"):  # an array of numpy
            return self.keep(value.tolist(), place, depth - 1)
        return self._lose(kind_of(value), place)

    def _keep_items(self, value: Iterable[Any], place: str, depth: int) -> list[Any]:
        return [self.keep(each, f"{place}.{at}", depth - 1) for at, each in enumerate(value)]

    def _keep_fields(self, fields: Mapping[str, Any], place: str, depth: int) -> dict[str, Any]:
        return {name: self.keep(each, f"{place}.{name}", depth - 1) for name, each in fields.items()}

    def _keep_mapping(self, value: Mapping[Any, Any], place: str, depth: int) -> dict[str, Any]:
        keys = list(value)
        is_plain = all(map(_is_plain_key, keys))
        if is_plain and not (len(keys) == 1 and keys[0].startswith(_MARK)):
            return self._keep_fields(value, place, depth)
        pairs = [[self.keep(key, place, depth - 1), self.keep(value[key], f"{place}.{key}", depth - 1)] for key in keys]
        return {f"{_MARK}map": pairs}

    def _lose(self, what: str, place: str) -> dict[str, str]:
        self.lost[place.removeprefix(".")] = what
        return {f"{_MARK}lost": what}


def mark_changes(data: Any) -> Any:
    """Return `data`, of which some parts are changes of earlier data, with marks for these."""
    match data:
        case Spliced(begin, middle, end):
            return {f"{_MARK}spliced": [begin, middle, end]}
        case Edited(fields):
            return {f"{_MARK}edited": {name: mark_changes(each) for name, each in fields.items()}}
    return data


class UnkeptError(InputError):
    """A value was refused that the journal does not keep."""


def check_kept(lost: Mapping[str, str], what: str) -> None:
    """Raise `UnkeptError` if a part of `what` was `lost`."""
    for place, kind in lost.items():
        inside = place.partition(".")[2]
        where = f"has {kind} at {inside}" if inside else f"cannot be {kind}"
        raise UnkeptError(f"{what} {where}: the journal does not keep it", hint=HINT)


def _is_plain_key(key: Any) -> bool:
    """Return whether `key` can be a key of a JSON object as it is."""
    return type(key) is str and _write_text(key) is key


def _write_text(text: str) -> Any:
    """Return a text, or marked data of one that is no Unicode."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return {f"{_MARK}text": base64.b64encode(text.encode("utf-16-le", "surrogatepass")).decode()}
    return text


def recall_value(data: Any) -> Any:
    """Return the value of which `Keeper.keep` has made `data`; data without marks are what they are."""
    if isinstance(data, list):
        return [recall_value(each) for each in data]
    if not isinstance(data, dict):
        return data
    if len(data) == 1:
        ((key, inside),) = data.items()
        read = _READERS.get(key[1:]) if key[:1] == _MARK else None
        if read is not None:
            with suppress(TypeError, ValueError, ArithmeticError):  # a journal of an earlier version marks nothing
                return read(inside)
    return {key: recall_value(each) for key, each in data.items()}
