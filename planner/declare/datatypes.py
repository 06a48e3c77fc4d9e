"""The types of data parameters by name, for declarations that are not written in Python."""

from __future__ import annotations

import datetime as dt
import types
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, Union, get_args, get_origin

NAMED: Final[Mapping[str, Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "decimal": Decimal,
    "date": dt.date,
    "datetime": dt.datetime,
    "time": dt.time,
    "list": list,
    "dict": dict,
    "any": Any,
}
_NAMES: Final = {value: name for name, value in NAMED.items()}
_LONGEST: Final = 200
"""Characters in a type's text: more than any hand writes, and little enough to recurse over."""


def data_type(text: str) -> Any | None:
    """Return the Python type that `text` names: a name, `list[type]`, `dict[str, type]`, `type | None`; else None."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if text in NAMED:
        return NAMED[text]
    front, bar, last = text.rpartition("|")
    if bar and last.strip() == "None":
        inner = data_type(front)
        return None if inner is None or inner is Any else inner | None
    if text.startswith("list[") and text.endswith("]"):
        inner = data_type(text[5:-1])
        return None if inner is None else list[inner]  # type: ignore[valid-type]  # a type made at run time
    if text.startswith("dict[str,") and text.endswith("]"):
        inner = data_type(text[9:-1])
        return None if inner is None else dict[str, inner]  # type: ignore[valid-type]  # as above
    return None


def data_type_name(annotation: Any) -> str | None:
    """Return the text for which `data_type` gives `annotation`, or None where there is none."""
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is None:
        return _NAMES.get(annotation) if annotation.__hash__ else None
    if origin is list:
        inner = data_type_name(members[0])
        return inner and f"list[{inner}]"
    if origin is dict and members[0] is str:
        inner = data_type_name(members[1])
        return inner and f"dict[str, {inner}]"
    if origin in (types.UnionType, Union) and len(members) == 2 and members[1] is type(None):
        inner = data_type_name(members[0])
        return inner and f"{inner} | None"
    return None
