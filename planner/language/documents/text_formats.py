"""Parse YAML 1.2 and JSON text to data, and find the line and column of every key and value.

The YAML reader takes the events of a parser, does not recurse, and refuses expansion bombs. It follows the core schema,
so `yes`, `no`, `on` and `off` are texts. Keys are always texts. Numbers with a fraction are exact decimals, in JSON
too. A place is a path of keys and indices; its line and column are computed when an error needs them.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, NoReturn

from planner.errors import DocumentError, Location
from planner.language.declare.fields import SURROGATE
from planner.language.documents.yaml_events import Event, read_events
from planner.language.wrong_words import point_at_word

Path = tuple[str | int, ...]
Positions = Mapping[Path, tuple[int, int]]
"""Line and column, from 1, of the value (or key) that each path leads to."""


class Document:
    """One document of a file: its data, and the function `locate` that finds the positions of its parts.

    With the `text` of the file, errors stand at the word that is wrong, else where its value begins.
    """

    def __init__(self, data: Any, source: str, number: int, locate: Callable[[], Positions], text: str = "") -> None:
        self.data = data
        self.source = source
        self.text = text
        self._number = number
        self._locate = locate

    @cached_property
    def _positions(self) -> Positions:
        return self._locate()

    def location(self, path: Path) -> Location:
        """Return the place of `path`, or of the nearest part above it that has one."""
        full: Path = (self._number, *path)
        while full and full not in self._positions:
            full = full[:-1]
        return Location(self.source, *self._positions.get(full, (None, None)))

    @property
    def place(self) -> DocumentPlace:
        """The place of the whole document."""
        return DocumentPlace(self, ())


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """A part of a document."""

    document: Document
    path: Path

    @property
    def location(self) -> Location:
        """File, line and column."""
        return self.document.location(self.path)

    def error(self, message: str, hint: str | None = None) -> DocumentError:
        """Make a `DocumentError` at this place."""
        return DocumentError(message, point_at_word(self.location, self.document.text, message, hint), hint)

    def within(self, *path: str | int) -> DocumentPlace:
        """Return the place of a part."""
        return DocumentPlace(self.document, (*self.path, *path))


DEEPEST: Final = 50
"""Most levels of lists and mappings."""
LARGEST: Final = 5_000_000
"""Most values of a file after expansion of its aliases."""
LONGEST_NUMBER: Final = 60

NO_CHARACTER: Final = "the text has half of a surrogate pair in it, which is no character"

_NULL: Final = re.compile(r"~|null|Null|NULL|")
_BOOL: Final = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL: Final = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LETTERS: Final = frozenset("abcdeghijklmopqrsuvwxyzABCDEGHIJKLMOPQRSUVWXYZ")
"""First letters of plain texts, but for those of numbers, truth values and nothing."""
_TAG: Final = "tag:yaml.org,2002:"


def parse_yaml(text: str, source: str) -> list[Any]:
    """Parse the documents in `text`; raises `DocumentError` with line and column."""
    builder = _Builder(source)
    for event in _read_events(text, source):
        builder.take(event)
    return builder.documents


def yaml_positions(text: str, source: str) -> Positions:
    """Find the position of each value of `text`, which `parse_yaml` has read; in a mapping, that of its key."""
    builder = _Builder(source, positions={})
    for event in _read_events(text, source):
        builder.take(event)
    return builder.positions or {}


def _read_events(text: str, source: str) -> Iterator[Event]:
    try:
        yield from read_events(text)
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - the scanner has more ways to stumble than it declares
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = Location(source, mark.line + 1, mark.column + 1) if mark else Location(source)
        reason = getattr(error, "problem", None) or getattr(error, "context", None)
        reason = reason or str(error).strip().partition("\n")[0] or type(error).__name__
        raise DocumentError(f"this is no YAML: {reason}", place) from None


@dataclass(slots=True)
class _Frame:
    """An unfinished list or mapping."""

    value: Any
    anchor: str | None
    path: Path
    key: str | None = None
    size: int = 1
    keys: dict[str, Event] = field(default_factory=dict)


class _Builder:
    """Builds documents from events, and records positions if given a table for them."""

    def __init__(self, source: str, positions: dict[Path, tuple[int, int]] | None = None) -> None:
        self.documents: list[Any] = []
        self.positions = positions
        self._source = source
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int]] = {}

    def take(self, event: Event) -> None:
        """Process the next event of the parser."""
        kind = event.kind
        if kind == "scalar":
            self._take_scalar(event)
        elif kind in ("map", "list"):
            self._open(event, {} if kind == "map" else [])
        elif kind == "end":
            frame = self._stack.pop()
            self._add(frame.value, frame.size, frame.anchor, event)
        elif kind == "alias":
            self._take_alias(event)
        elif kind == "document":
            self._anchors = {}

    def _take_scalar(self, event: Event) -> None:
        frame = self._stack[-1] if self._stack else None
        if not event.value.isascii() and SURROGATE.search(event.value):
            raise DocumentError(NO_CHARACTER, self._location(event))
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            self._take_key(frame, event)
        else:
            self._mark(event)
            self._add(self._resolve(event), 1, event.anchor, event)

    def _take_key(self, frame: _Frame, event: Event) -> None:
        key = event.value
        if key == "<<" and event.style is None and event.tag is None:
            message = "merge keys '<<' are not taken"
            raise DocumentError(message, self._location(event), "write the keys out, or use an alias for a value")
        if key in frame.value:
            hint = f"it is already at {self._location(frame.keys[key])}"
            raise DocumentError(f"the key {key!r} stands twice", self._location(event), hint)
        frame.key = key
        frame.keys[key] = event
        self._mark(event)

    def _open(self, event: Event, value: Any) -> None:
        if self._stack and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is None:
            raise DocumentError("a key is a text, not a list or mapping", self._location(event))
        if len(self._stack) >= DEEPEST:
            raise DocumentError(f"lists and mappings nest deeper than {DEEPEST} levels", self._location(event))
        if event.tag and event.tag not in (_TAG + "map", _TAG + "seq"):
            raise self._unknown_tag_error(event)
        self._mark(event)
        self._stack.append(_Frame(value, event.anchor, self._current_path()))

    def _take_alias(self, event: Event) -> None:
        if event.anchor is None or event.anchor not in self._anchors:
            raise DocumentError(f"there is no anchor '&{event.anchor}' before this alias", self._location(event))
        if self._stack and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is None:
            raise DocumentError("a key is a text, not an alias", self._location(event))
        self._mark(event)
        self._add(*self._anchors[event.anchor], None, event)

    def _add(self, value: Any, size: int, anchor: str | None, event: Event) -> None:
        if anchor:
            self._anchors[anchor] = (value, size)
        if not self._stack:
            self.documents.append(value)
            return
        frame = self._stack[-1]
        frame.size += size
        if frame.size > LARGEST:
            raise DocumentError(f"with its aliases, this holds more than {LARGEST} values", self._location(event))
        if isinstance(frame.value, list):
            frame.value.append(value)
        else:
            frame.value[frame.key] = value
            frame.key = None

    def _current_path(self) -> Path:
        if not self._stack:
            return (len(self.documents),)
        frame = self._stack[-1]
        return (*frame.path, len(frame.value) if isinstance(frame.value, list) else frame.key or "")

    def _mark(self, event: Event) -> None:
        if self.positions is not None:
            self.positions.setdefault(self._current_path(), (event.line + 1, event.column + 1))

    def _location(self, event: Event) -> Location:
        return Location(self._source, event.line + 1, event.column + 1)

    def _resolve(self, event: Event) -> Any:
        """Return the value of a scalar."""
        text, tag = event.value, event.tag
        if tag == _TAG + "str" or tag == "!" or (tag is None and event.style is not None):
            return text
        if tag is not None and tag not in (_TAG + "int", _TAG + "float", _TAG + "bool", _TAG + "null"):
            raise self._unknown_tag_error(event)
        value = self._parse_plain(text, event)
        if tag is not None and (isinstance(value, str) or tag.removeprefix(_TAG) != _kind(value)):
            raise DocumentError(f"{text!r} is no {tag.removeprefix(_TAG)}", self._location(event))
        return value

    def _parse_plain(self, text: str, event: Event) -> Any:
        if text[:1] in _LETTERS:
            return text
        if _NULL.fullmatch(text):
            return None
        if _BOOL.fullmatch(text):
            return text.lower() == "true"
        special = _SPECIAL.fullmatch(text)
        if special:
            return float(f"{special[1] or ''}{special[2] or special[3]}")
        whole = _INT.fullmatch(text)
        if (whole or _FLOAT.fullmatch(text)) and len(text) > LONGEST_NUMBER:
            raise DocumentError(f"a number of {len(text)} characters is out of range", self._location(event))
        if whole:
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        return Decimal(text) if _FLOAT.fullmatch(text) else text

    def _unknown_tag_error(self, event: Event) -> DocumentError:
        return DocumentError(f"the tag {str(event.tag)!r} is not known here", self._location(event), "leave it out")


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int"
    return "float"


_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)

_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str, source: str) -> list[Any]:
    """Parse `text`, one object or a list of objects; raises `DocumentError` with line and column."""
    try:
        data = json.loads(
            text,
            parse_float=lambda literal: Decimal(_check_length(literal)),
            parse_int=lambda literal: int(_check_length(literal)),
            parse_constant=_refuse_constant,
            object_pairs_hook=_refuse_twins,
        )
    except json.JSONDecodeError as error:
        place = Location(source, error.lineno, error.colno)
        raise DocumentError(f"this is no JSON: {error.msg[:1].lower()}{error.msg[1:]}", place) from None
    except _TwinError:
        raise _make_twin_error(text, source) from None
    except _OutOfRangeError as error:
        offset = next((token.start() for token in _TOKEN.finditer(text) if token[0] == error.literal), 0)
        place = Location(source, *_find_position(offset, _find_line_starts(text)))
        raise DocumentError(str(error), place) from None
    except RecursionError:
        place = Location(source, *_find_position(_find_deepest(text), _find_line_starts(text)))
        raise DocumentError("lists and objects nest too deep", place, "write them flatter") from None
    if _SURROGATE_ESCAPE.search(text) or (not text.isascii() and SURROGATE.search(text)):
        _check_characters(text, source)
    return data if isinstance(data, list) else [data]


def _find_deepest(text: str) -> int:
    """Return the offset of the first bracket that is as deep as any."""
    depth = most = found = 0
    for token in _TOKEN.finditer(text):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if depth > most:
            most, found = depth, token.start()
    return found


def _check_characters(text: str, source: str) -> None:
    """Raise `DocumentError` at a text with half of a surrogate pair: messages could not print it."""
    for token in _TOKEN.finditer(text):
        if token[0][0] == '"' and SURROGATE.search(json.loads(token[0], strict=False)):
            raise DocumentError(NO_CHARACTER, Location(source, *_find_position(token.start(), _find_line_starts(text))))


def json_positions(text: str) -> Positions:
    """Find the position of each value of `text`, which `parse_json` has read; in an object, that of its key."""
    found: dict[Path, tuple[int, int]] = {}
    lines = _find_line_starts(text)
    is_list = text.lstrip()[:1] == "["
    for path, offset in _walk(text):
        found.setdefault(path if is_list else (0, *path), _find_position(offset, lines))
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
    """A number is too long or not finite; `literal` is its text."""

    def __init__(self, message: str, literal: str) -> None:
        super().__init__(message)
        self.literal = literal


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _TwinError
    return found


def _make_twin_error(text: str, source: str) -> DocumentError:
    """Make the error for the first repeated key; the value after a key has the same path and does not count."""
    lines = _find_line_starts(text)
    seen: dict[Path, int] = {}
    for path, offset in _walk(text):
        if path in seen and path and isinstance(path[-1], str) and _is_key(text, offset):
            first, second = (Location(source, *_find_position(each, lines)) for each in (seen[path], offset))
            return DocumentError(f"the key {path[-1]!r} stands twice", second, f"it is already at {first}")
        seen.setdefault(path, offset)
    return DocumentError("a key stands twice", Location(source))


def _is_key(text: str, offset: int) -> bool:
    token = _TOKEN.match(text, offset)
    return token is not None and re.compile(r"\s*:").match(text, token.end()) is not None


def _find_line_starts(text: str) -> list[int]:
    return [0, *[match.end() for match in re.finditer(r"\n", text)]]


def _find_position(offset: int, lines: list[int]) -> tuple[int, int]:
    line = bisect_right(lines, offset)
    return line, offset - lines[line - 1] + 1


def _check_length(literal: str) -> str:
    if len(literal) > LONGEST_NUMBER:
        raise _OutOfRangeError(f"a number of {len(literal)} characters is out of range", literal)
    return literal


def _refuse_constant(name: str) -> NoReturn:
    raise _OutOfRangeError(f"{name} is no number", name)
