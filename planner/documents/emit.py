"""Plain data as YAML or JSON text: exact decimals, short lists on one line, and texts in quotes where needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

WIDTH: Final = 110
_PLAIN: Final = re.compile(r"[A-Za-z][\w.-]*\Z", re.ASCII)
_OTHERWISE: Final = frozenset({"true", "false", "null"}) | frozenset({"yes", "no", "on", "off", "y", "n"})
"""Words that mean something else to readers of YAML 1.2 or 1.1."""
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")


def to_yaml(documents: Iterable[dict[str, Any]]) -> str:
    """Return `documents` as YAML 1.2."""
    return "---\n".join("".join(f"{line}\n" for line in _mapping(document, "")) for document in documents)


def _mapping(value: dict[str, Any], indent: str) -> Iterable[str]:
    for key, each in value.items():
        yield from _entry(f"{indent}{_scalar(key)}:", each, indent)


def _entry(head: str, value: Any, indent: str) -> Iterable[str]:
    """Yield the lines of `head`, which ends in a colon or is a dash, with its value."""
    flow = _flow(value)
    if not isinstance(value, dict | list) or not value or (len(head) + len(flow) < WIDTH and _is_short(value)):
        yield f"{head} {flow}"
        return
    yield head
    if isinstance(value, dict):
        yield from _mapping(value, indent + "  ")
    else:
        for each in value:
            first, *others = _entry(f"{indent}  -", each, indent + "  ")
            yield first if not others else f"{first} {others.pop(0).lstrip()}"
            yield from others


def _is_short(value: Any) -> bool:
    """Return whether `value` reads well on one line: it holds no mapping of mappings or lists."""
    if isinstance(value, dict):
        return all(not isinstance(each, dict | list) for each in value.values())
    return all(not isinstance(each, dict) for each in value)


def _flow(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{_scalar(key)}: {_flow(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value if _PLAIN.match(value) and value.lower() not in _OTHERWISE else _quoted(value)
    return _number(value)


def _quoted(text: str) -> str:
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


def _number(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Decimal():
            return format(value, "f")
    return repr(value)


def to_json(value: Any, indent: str = "") -> str:
    """Return `value` as JSON."""
    inside = indent + "  "
    match value:
        case dict() if value:
            lines = [f"{inside}{json.dumps(key)}: {to_json(each, inside)}" for key, each in value.items()]
        case list() if any(isinstance(each, dict | list) for each in value) or len(repr(value)) > WIDTH:
            lines = [f"{inside}{to_json(each, inside)}" for each in value]
        case list():
            return "[" + ", ".join(map(to_json, value)) + "]"
        case str() | dict():
            return json.dumps(value)
        case _:
            return _number(value)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(lines) + f"\n{indent}{closing}"
