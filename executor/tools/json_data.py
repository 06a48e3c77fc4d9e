"""Convert values of handlers and authors to JSON-ready data."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from pydantic_core import to_json

from executor.tools.containment import as_plain_text, call_or_else, contain_errors
from executor.tools.isolated_values import copy_value
from executor.tools.results import ActionResult, Wait, as_texts
from planner.errors import kind_of

_FIELDS: Final[Mapping[type[Any], tuple[str, ...]]] = {kind: kind.__match_args__ for kind in (ActionResult, Wait)}
MOST_DIGITS: Final = 4000
"""Longest whole number that Python converts to and from text, in digits."""
DEEPEST: Final = 20
"""Depth to which data are kept that JSON cannot represent."""


def data_of(record: ActionResult | Wait, seconds: float = 0.0) -> dict[str, Any]:
    """Return the fields of `record` with copies of the handler's values; adds `seconds` to the duration of a result."""
    found = {name: getattr(record, name) for name in _FIELDS[type(record)]}
    if isinstance(record, ActionResult):
        for name in ("data", "values", "created", "found"):
            if found[name] is not None:
                found[name] = copy_value(found[name])
        metrics = record.metrics
        found["metrics"] = {"duration": metrics.duration + seconds, "tokens": metrics.tokens, "cost": metrics.cost}
        found["observed"] = as_texts(record.observed)
    return found


def dump_json(data: Mapping[str, Any]) -> str:
    """Return `data` as JSON text: bytes in base 64, and other objects that JSON lacks as their name or `str`."""
    try:
        with contain_errors():
            return to_json(data, fallback=_name_value, inf_nan_mode="strings", bytes_mode="base64").decode()
    except Exception:  # noqa: BLE001 - objects may do anything when they are looked into
        return json.dumps(_convert_or_describe(data, DEEPEST))


def dump_json_value(value: Any) -> str:
    """Return `value` as JSON text."""
    return dump_json({"": value})[len('{"":') : -1]


def load_json(text: str) -> Any:
    """Parse the JSON text that `dump_json` wrote, also with whole numbers of any length."""
    return json.loads(text, parse_int=_parse_whole_number)


def _parse_whole_number(digits: str) -> int:
    """Parse a whole number of any length: `int` refuses more than some thousand digits."""
    return int(digits) if len(digits) <= MOST_DIGITS else int(Decimal(digits))


def _convert_or_describe(value: Any, depth: int) -> Any:
    """Convert as much as possible of a value that is circular, too deep or not JSON, or whose methods raise."""
    return call_or_else(lambda: _convert(value, depth), kind_of(value))


def _convert(value: Any, depth: int) -> Any:
    match value:
        case None | bool():
            return value
        case int():
            number = int.__int__(value)
            return number if number.bit_length() <= 3 * MOST_DIGITS else hex(number)
        case float():
            return float.__float__(value) if math.isfinite(value) else str(float.__float__(value))
        case str():
            return as_plain_text(value).encode("utf-8", "backslashreplace").decode()
        case _ if not depth:
            return "…"
        case Mapping():
            return {
                _convert_or_describe(_name_value(key), depth): _convert_or_describe(each, depth - 1)
                for key, each in value.items()
            }
        case list() | tuple() | set() | frozenset():
            return [_convert_or_describe(each, depth - 1) for each in value]
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return _convert_or_describe(_name_value(value), depth)


def _name_value(value: Any) -> str:
    return call_or_else(lambda: as_plain_text(str(getattr(value, "name", value))), kind_of(value))
