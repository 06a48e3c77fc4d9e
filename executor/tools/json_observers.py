"""Make observers of HTTP requests and of read-only tools, which answer with JSON.

A path such as `orders.*.id` leads to values of an answer: `*` stands for each item of a list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Protocol

from executor.events.fluent_values import FluentValue, read_number
from executor.tools.containment import quote_value
from executor.tools.sql_observers import PREDICATE, name_look, select_bound
from planner.errors import InputError
from planner.lightweight import dataclass
from planner.model import OPEN, Atom

MOST_BYTES: Final = 1_000_000
"""Most bytes of an HTTP answer that one look reads."""
_GONE: Final = frozenset({404, 410})
"""HTTP statuses that say that there is no such thing."""
_FIELD: Final = re.compile(r"\{(\w+)\}")


class _Unset:
    """The type of `UNSET`."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()


class ReadOnlyTool(Protocol):
    """A tool that observers call: see `executor.foreign_tools`."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def parameters(self) -> Sequence[str]:
        """The names of its parameters."""

    @property
    def is_read_only(self) -> bool:
        """Whether its author says that it changes nothing, and that is believed."""

    def read(self, arguments: Mapping[str, Any]) -> Awaitable[Any]:
        """Call the tool, and return the data that it answers; raises where it fails."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How an answer is read: the value `at` a path, and what it `equals`; `fields` of each item for open arguments."""

    at: str = ""
    equals: Any = UNSET
    fields: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.at, str):
            raise InputError(f"at must be a path such as 'orders.*.id', got {self.at!r}")
        if isinstance(self.fields, str) or not all(isinstance(each, str) for each in self.fields):
            raise InputError(f"fields must be paths, one for each open argument, got {self.fields!r}")

    def check(self, pattern: Atom) -> None:
        """Raise `InputError` if this does not say how facts of `pattern` are read."""
        size = pattern.args.count(OPEN)
        if size and self.equals is not UNSET:
            raise InputError(f"{pattern} has open arguments, and equals is for patterns without", hint="leave it out")
        if self.fields and len(self.fields) != size:
            raise InputError(f"{pattern} has {size} open arguments, and there are {len(self.fields)} fields")
        if size > 1 and not self.fields:
            raise InputError(f"{pattern} has {size} open arguments", hint="fields=(…) gives the path of each")

    def read(self, pattern: Atom, body: Any) -> Any:
        """Convert an answer to that of an observer; raises `InputError` where the path leads nowhere."""
        found = find_values(body, self.at)
        if OPEN not in pattern.args:
            if "*" in self.at.split("."):
                return (True if self.equals is UNSET else self.equals) in found
            value = found[0]
            if self.equals is not UNSET:
                return bool(value == self.equals)
            if not isinstance(value, bool):
                hint = "equals=… says when the fact holds"
                raise InputError(f"the answer has {quote_value(value)} at {self.at!r}, not true or false", hint=hint)
            return value
        items = found[0] if "*" not in self.at.split(".") and isinstance(found[0], list) else found
        rows = [[find_values(item, path)[0] for path in self.fields or ("",)] for item in items]
        kept = [_as_texts(row, self.at, pattern) for row in rows if None not in row]
        return [tuple(row) if len(row) > 1 else row[0] for row in kept]


def find_values(body: Any, path: str) -> list[Any]:
    """Return the values at `path` in JSON data: one, or those of all items for each `*`; raises `InputError`."""
    found = [body]
    for part in filter(None, path.split(".")):
        further = list[Any]()
        for each in found:
            if part == "*" and isinstance(each, list):
                further += each
            elif isinstance(each, Mapping) and part in each:
                further.append(each[part])
            elif isinstance(each, list) and part.isdecimal() and int(part) < len(each):
                further.append(each[int(part)])
            else:
                raise InputError(f"the answer has nothing at {path!r}: {quote_value(each)} has no {part!r}")
        found = further
    return found


def _as_texts(row: Sequence[Any], path: str, pattern: Atom) -> list[str]:
    """Return the texts of the values in `row`: names of objects, and a number at the end for a numeric fluent."""
    if not isinstance(pattern, FluentValue):
        return [_as_name(value, path) for value in row]
    if read_number(row[-1]) is None:
        raise InputError(f"the answer has {quote_value(row[-1])} at {path!r}, which is no number")
    return [*[_as_name(value, path) for value in row[:-1]], str(row[-1])]


def _as_name(value: Any, path: str) -> str:
    """Return the name of an object: a text, or a number as text; raises `InputError` for other values."""
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise InputError(f"the answer has {quote_value(value)} at {path!r}, which names no object")


def make_http_look(
    pattern: Atom, url: str, reading: Reading, headers: Mapping[str, str] | None, timeout: float | None
) -> Callable[..., Any]:
    """Return a function that looks for facts of `pattern` by an HTTP GET, for `World.observer`.

    Arguments stand in the `url` as `{order}`, and are quoted there. The statuses 404 and 410 mean that there is
    nothing. Other statuses than 2xx, redirects too, mean that the observer cannot say. Raises `InputError` where the
    URL does not fit the pattern.
    """
    if not (isinstance(url, str) and url.lower().startswith(("http://", "https://"))):
        raise InputError(f"an observer gets http:// or https:// URLs, not {url!r}")
    used = _FIELD.findall(url)
    names = select_bound(pattern, used, "the URL")
    reading.check(pattern)
    is_presence = OPEN not in pattern.args and not reading.at and reading.equals is UNSET

    def http_look(**arguments: str) -> Any:
        from urllib.parse import quote

        values = {PREDICATE: pattern.predicate, **arguments}
        status, body = _get(_FIELD.sub(lambda found: quote(values[found[1]], safe=""), url), headers or {}, timeout)
        if status in _GONE:
            return False if OPEN not in pattern.args else None
        if is_presence:
            return True
        try:
            answer = json.loads(body, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            raise InputError(f"the answer is no JSON: {error}") from None
        return reading.read(pattern, answer)

    return name_look(http_look, pattern, names)


def _get(url: str, headers: Mapping[str, str], timeout: float | None) -> tuple[int, bytes]:
    """Return status and body of an HTTP GET; raises `InputError` for a long body, `OSError` for other statuses."""
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Stay(HTTPRedirectHandler):
        """Follows no redirect: the headers, which may have secrets, are meant for one host."""

        def redirect_request(self, *_: Any, **__: Any) -> None:
            """Return None: an error for the caller."""

    try:
        request = Request(url, headers=dict(headers))  # noqa: S310 - http and https only, as checked
        with build_opener(Stay).open(request, timeout=timeout) as answer:
            body = answer.read(MOST_BYTES + 1)
            status = int(answer.status)
    except HTTPError as error:
        error.close()
        if error.code in _GONE:
            return error.code, b""
        raise OSError(f"HTTP status {error.code} of {url}") from None
    if len(body) > MOST_BYTES:
        raise InputError(f"the answer of {url} has more than {MOST_BYTES:,} bytes")
    return status, body


def make_tool_look(
    pattern: Atom, tool: ReadOnlyTool, reading: Reading, arguments: Mapping[str, Any] | None
) -> Callable[..., Any]:
    """Return a function that looks for facts of `pattern` by a read-only tool, for `World.observer`.

    The tool gets the arguments of the pattern that have names of its parameters, and the further `arguments`. Raises
    `InputError` for a tool that is not known to be read-only, or does not take these.
    """
    if not (hasattr(tool, "is_read_only") and hasattr(tool, "read")):
        raise InputError(f"{tool!r} is no tool", hint="take it from its tools: tools['list_orders']")
    if not tool.is_read_only:
        hint = "confirm a contract of it with tags: [read_only]; what a server says of itself is not enough"
        raise InputError(f"an observer may only look, and {tool.name} is not known to be read-only", hint=hint)
    fixed = dict(arguments or {})
    select_bound(Atom(pattern.predicate, (*tool.parameters, *pattern.args)), list(fixed), "arguments")
    names = [each for each in pattern.args if each in tool.parameters and each not in fixed]
    reading.check(pattern)

    async def tool_look(**bound: str) -> Any:
        return reading.read(pattern, await tool.read({**fixed, **bound}))

    return name_look(tool_look, pattern, names)
