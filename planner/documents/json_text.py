"""JSON text to data, with the line and column of what is wrong; numbers with a fraction are exact decimals."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, NoReturn

from planner.declare.values import SURROGATE
from planner.documents.places import Path, Positions
from planner.documents.yaml_text import LONGEST_NUMBER, NO_CHARACTER
from planner.errors import DocumentError, Location

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)

_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str, source: str) -> list[Any]:
    """Return the documents of `text`: one object, or a list of them; raises `DocumentError` with line and column."""
    try:
        data = json.loads(
            text,
            parse_float=_decimal,
            parse_int=_integer,
            parse_constant=_refuse_constant,
            object_pairs_hook=_without_twins,
        )
    except json.JSONDecodeError as error:
        place = Location(source, error.lineno, error.colno)
        raise DocumentError(f"this is no JSON: {error.msg[:1].lower()}{error.msg[1:]}", place) from None
    except _TwinError:
        raise _twin(text, source) from None
    except _OutOfRangeError as error:
        offset = next((token.start() for token in _TOKEN.finditer(text) if token[0] == error.literal), 0)
        place = Location(source, *_position(offset, _line_starts(text)))
        raise DocumentError(str(error), place) from None
    except RecursionError:
        place = Location(source, *_position(_deepest(text), _line_starts(text)))
        raise DocumentError("lists and objects nest too deep", place, "write them flatter") from None
    if _SURROGATE_ESCAPE.search(text) or (not text.isascii() and SURROGATE.search(text)):
        _check_characters(text, source)
    return data if isinstance(data, list) else [data]


def _deepest(text: str) -> int:
    """Return the offset of the first bracket that is as deep as any."""
    depth = most = found = 0
    for token in _TOKEN.finditer(text):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if depth > most:
            most, found = depth, token.start()
    return found


def _check_characters(text: str, source: str) -> None:
    """Raise `DocumentError` at a text with half of a surrogate pair: nothing that names it could be written."""
    for token in _TOKEN.finditer(text):
        if token[0][0] == '"' and SURROGATE.search(json.loads(token[0], strict=False)):
            raise DocumentError(NO_CHARACTER, Location(source, *_position(token.start(), _line_starts(text))))


def json_positions(text: str) -> Positions:
    """Return where each value of `text`, which `parse_json` has read, is written: that of its key in an object."""
    found: dict[Path, tuple[int, int]] = {}
    lines = _line_starts(text)
    is_list = text.lstrip()[:1] == "["
    for path, offset in _walk(text):
        found.setdefault(path if is_list else (0, *path), _position(offset, lines))
    return found


def _walk(text: str) -> Iterator[tuple[Path, int]]:
    """Yield the path and the offset of each key and value, in the order of the text, keys that repeat included."""
    path: list[Any] = []
    opened: list[str] = []
    expects_key = False
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word in "{[":
            if not expects_key:
                yield tuple(path), token.start()
            opened.append(word)
            path.append(None if word == "{" else 0)
            expects_key = word == "{"
        elif word in "}]":
            opened.pop()
            path.pop()
            expects_key = False
        elif word == ",":
            expects_key = opened[-1] == "{"
            if not expects_key:
                path[-1] += 1
        elif expects_key:
            path[-1] = json.loads(word)
            yield tuple(path), token.start()
            expects_key = False
        elif word != ":":
            yield tuple(path), token.start()


class _TwinError(Exception):
    """A key stands twice in one object."""


class _OutOfRangeError(Exception):
    """A number that no plan needs, as the text writes it."""

    def __init__(self, message: str, literal: str) -> None:
        super().__init__(message)
        self.literal = literal


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _TwinError
    return found


def _twin(text: str, source: str) -> DocumentError:
    """Return the error for the first key that stands twice. A key's own value repeats its path, and comes next."""
    lines = _line_starts(text)
    seen: dict[Path, int] = {}
    for path, offset in _walk(text):
        if path in seen and path and isinstance(path[-1], str) and _is_key(text, offset):
            first, second = (Location(source, *_position(each, lines)) for each in (seen[path], offset))
            return DocumentError(f"the key {path[-1]!r} stands twice", second, f"it is already at {first}")
        seen.setdefault(path, offset)
    return DocumentError("a key stands twice", Location(source))


def _is_key(text: str, offset: int) -> bool:
    token = _TOKEN.match(text, offset)
    return token is not None and re.compile(r"\s*:").match(text, token.end()) is not None


def _line_starts(text: str) -> list[int]:
    return [0, *[match.end() for match in re.finditer(r"\n", text)]]


def _position(offset: int, lines: list[int]) -> tuple[int, int]:
    line = bisect_right(lines, offset)
    return line, offset - lines[line - 1] + 1


def _decimal(text: str) -> Decimal:
    _check_length(text)
    return Decimal(text)


def _integer(text: str) -> int:
    _check_length(text)
    return int(text)


def _check_length(text: str) -> None:
    if len(text) > LONGEST_NUMBER:
        raise _OutOfRangeError(f"a number of {len(text)} characters is out of range", text)


def _refuse_constant(name: str) -> NoReturn:
    raise _OutOfRangeError(f"{name} is no number", name)
