"""The events of YAML: scalars, and the beginnings and ends of lists and mappings, with their places in the text.

`read_events` reads the plain part of YAML that nearly all files keep to by itself: block lists and mappings, lists and
mappings in brackets, plain and quoted scalars, comments. At anything else, such as anchors, tags, block scalars, tabs
or mistakes, the parser of ruamel.yaml reads the whole text, whose events are the same, in ten times the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, NoReturn


class Event(NamedTuple):
    """One event: `kind` is "scalar", "map", "list", "end", "alias", "document" or "document end".

    `start` and `end` are offsets, `line` and `column` those of `start`, from 0. A plain scalar has no `style`.
    """

    kind: str
    start: int
    end: int
    line: int
    column: int
    value: str = ""
    style: str | None = None
    is_flow: bool = False
    anchor: str | None = None
    tag: str | None = None


def read_events(text: str) -> Iterable[Event]:
    """Return the events of `text`; for text that is no YAML, what ruamel.yaml raises comes after those before it."""
    try:
        return _PlainReader(text).read()
    except _UnusualError:
        return _parse_by_ruamel(text)


_KINDS: Final = {
    "ScalarEvent": "scalar", "MappingStartEvent": "map", "SequenceStartEvent": "list", "MappingEndEvent": "end",
    "SequenceEndEvent": "end", "AliasEvent": "alias", "DocumentStartEvent": "document",
    "DocumentEndEvent": "document end",
}  # fmt: skip


def _parse_by_ruamel(text: str) -> Iterator[Event]:
    from ruamel.yaml import YAML

    for event in YAML(typ="safe", pure=True).parse(text):
        kind = _KINDS.get(type(event).__name__)
        if kind is not None:
            start, more = event.start_mark, [getattr(event, name, None) for name in ("anchor", "tag")]
            value, style, is_flow = (getattr(event, name, None) for name in ("value", "style", "flow_style"))
            place = start.index, event.end_mark.index, start.line, start.column
            yield Event(kind, *place, value or "", style, bool(is_flow), *more)


class _UnusualError(Exception):
    """The text has what the plain reader does not know."""


_ODD: Final = re.compile("[\x00-\x09\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
"""Characters that are white space, breaks of lines, or nothing at all."""
_BEGIN: Final = r"(?:[^ \n\-?:,\[\]{}#&*!|>'\"%@`]|-(?=[^ \n\-]))"
"""The first character of a plain scalar."""
_KEY: Final = re.compile(
    rf"""(?:"([^"\\\n]*)"|'([^'\n]*)'|({_BEGIN}[^ \n:#]*(?:[ ]+[^ \n:#]+)*))[ ]*(:)(?=[ \n]|\Z)[ ]*"""
)
_SCALAR: Final = re.compile(
    rf"""({_BEGIN}(?:[^ \n:#]+|:(?=[^ \n])|(?<=[^ \n])#|[ ]+(?=[^ \n#]))*)"""
    r"""|"((?:[^"\\\n]|\\["\\/nt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4})*)"|'((?:[^'\n]|''|\n[ ]+(?=[^ \n]))*)'"""
)
_FLOW: Final = re.compile(
    rf"""[ \n]*(?:([\[\]{{}},])|(?:({_BEGIN}[^\n:?,\[\]{{}}\#]*)"""
    r"""|"((?:[^"\\\n]|\\["\\/nt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4})*)"|'((?:[^'\n]|'')*)')[ ]*(:(?=[ \n]))?)"""
)
_REST: Final = re.compile(r"[ ]*(?:(?<= )#[^\n]*)?(?:\n|\Z)")
"""What may follow a value on its line."""
_ESCAPE: Final = re.compile(r"\\(?:u(....)|(.))")
_MEANINGS: Final = {"n": "\n", "t": "\t"}
_LONGEST_KEY: Final = 500
"""Keys of YAML have fewer than 1,024 characters."""


class _Block:
    """An unfinished block list or mapping at the column `indent`.

    `waits_at` is the offset after a key or dash that has no value yet, else -1. An `inner` list stands at the column of
    the key whose value it is.
    """

    __slots__ = ("indent", "inner", "is_list", "line", "waits_at")

    def __init__(self, indent: int, *, is_list: bool, inner: bool = False) -> None:
        self.indent, self.is_list, self.inner = indent, is_list, inner
        self.waits_at = self.line = -1


class _PlainReader:
    """Reads plain YAML, line by line; raises `_UnusualError` at anything else."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._events: list[Event] = []
        self._blocks: list[_Block] = []
        self._at = self._line = self._line_start = 0
        self._is_open = self._has_root = False

    def read(self) -> list[Event]:
        """Return the events of the text."""
        text = self._text
        if _ODD.search(text):
            self._give_up()
        while self._at < len(text):
            self._line_start = start = self._at
            while text.startswith(" ", start):
                start += 1
            if start == len(text) or text[start] in "\n#":
                self._go_on(text.find("\n", start))
            elif start == self._line_start and text.startswith(("---", "..."), start):
                self._take_marker(start)
            else:
                self._take_line(start)
        self._end_document(len(text))
        return self._events

    def _give_up(self) -> NoReturn:
        raise _UnusualError

    def _go_on(self, end: int) -> None:
        """Go on after the break of a line at offset `end`, or to the end of the text where that is -1."""
        self._at = len(self._text) if end < 0 else end + 1
        self._line += end >= 0

    def _add(self, kind: str, start: int, end: int, value: str = "", style: str | None = None) -> None:
        line_start = self._line_start
        self._events.append(Event(kind, start, end, self._line, start - line_start, value, style))

    def _take_marker(self, start: int) -> None:
        end = self._text.find("\n", start)
        if self._text[start : end if end >= 0 else None].rstrip(" ") != "---" or (self._is_open and not self._has_root):
            self._give_up()
        if self._is_open:
            self._end_document(start)
        self._begin_document(start, start + 3)
        self._go_on(end)

    def _begin_document(self, start: int, end: int) -> None:
        self._add("document", start, end)
        self._is_open, self._has_root = True, False

    def _end_document(self, at: int) -> None:
        if not self._has_root:
            self._give_up()
        self._line_start = self._text.rfind("\n", 0, at) + 1
        self._close(-1, at)
        self._add("document end", at, at)

    def _close(self, indent: int, at: int) -> None:
        """End the blocks that are further right than `indent`, where the next one begins at the offset `at`."""
        while self._blocks and self._blocks[-1].indent > indent:
            self._pop(at)

    def _pop(self, at: int) -> None:
        self._fill(self._blocks.pop(), at)
        self._add("end", at, at)

    def _fill(self, block: _Block, at: int) -> None:
        """Give a dash without a value an empty one; a key has it where the next thing begins, at `at`."""
        if block.waits_at >= 0 and not block.is_list:
            self._add("scalar", at, at)
        elif block.waits_at >= 0:
            place = block.waits_at
            column = place - (self._text.rfind("\n", 0, place) + 1)
            self._events.append(Event("scalar", place, place, block.line, column))
        block.waits_at = -1

    def _take_line(self, start: int) -> None:
        text, indent = self._text, start - self._line_start
        if not self._is_open:
            self._begin_document(start, start)
        self._close(indent, start)
        is_list = self._is_dash(start)
        top = self._blocks[-1] if self._blocks else None
        if top is not None and top.inner and top.indent == indent and not is_list:
            self._pop(start)
            top = self._blocks[-1]
        if top is None and self._has_root:
            self._give_up()
        elif top is None and text[start] in "[{":
            self._has_root = True
            self._end_line(self._take_flow(start))
            return
        elif top is None or top.indent < indent:
            self._open(indent, start, is_list=is_list)
        elif top.is_list is not is_list:
            if not (is_list and top.waits_at >= 0):
                self._give_up()
            self._open(indent, start, is_list=True, inner=True)
        else:
            self._fill(top, start)
        self._take_entry(start)

    def _open(self, indent: int, start: int, *, is_list: bool, inner: bool = False) -> None:
        """Begin a block: the value of the document, or of what waits for one."""
        if self._blocks:
            if self._blocks[-1].waits_at < 0:
                self._give_up()
            self._blocks[-1].waits_at = -1
        self._has_root = True
        self._add("list" if is_list else "map", start, start + inner)
        self._blocks.append(_Block(indent, is_list=is_list, inner=inner))

    def _is_dash(self, at: int) -> bool:
        text = self._text
        return text[at] == "-" and (at + 1 == len(text) or text[at + 1] in " \n")

    def _wait(self, at: int) -> None:
        block = self._blocks[-1]
        block.waits_at, block.line = at, self._line

    def _take_entry(self, at: int) -> None:
        """Take a key or dash at offset `at`, and what stands after it on the line."""
        text = self._text
        while self._blocks[-1].is_list:
            after = at + 1
            while text.startswith(" ", after):
                after += 1
            if after == len(text) or text[after] in "\n#":
                self._wait(at + 1)
                self._go_on(text.find("\n", after))
                return
            self._wait(at + 1)
            is_list = self._is_dash(after)
            if not is_list and _KEY.match(text, after) is None:
                self._blocks[-1].waits_at = -1
                self._take_value(after)
                return
            self._open(after - self._line_start, after, is_list=is_list)
            at = after
        self._take_pair(at)

    def _take_pair(self, at: int) -> None:
        found, text = _KEY.match(self._text, at), self._text
        if found is None or found.end(4) - at > _LONGEST_KEY:
            self._give_up()
        group = next(number for number in (1, 2, 3) if found[number] is not None)
        start, end = found.span(group)
        style = {1: '"', 2: "'", 3: None}[group]
        quotes = group < 3
        self._add("scalar", start - quotes, end + quotes, found[group], style)
        after = found.end()
        if after == len(text) or text[after] in "\n#":
            self._wait(found.end(4))
            self._go_on(text.find("\n", after))
        else:
            self._take_value(after)

    def _take_value(self, at: int) -> None:
        """Take the scalar or flow collection at `at`, to the end of its line."""
        if self._text[at] in "[{":
            self._end_line(self._take_flow(at))
            return
        found = _SCALAR.match(self._text, at)
        if found is None:
            self._give_up()
        if found[1] is not None:
            self._take_plain(found)
            return
        style = '"' if found[2] is not None else "'"
        value = _unescape(found[2]) if found[2] is not None else found[3].replace("''", "'")
        self._add("scalar", at, found.end(), value, style)
        if "\n" in found[0]:
            self._events[-1] = self._events[-1]._replace(value=re.sub(r" *\n *", " ", value))
            self._line += found[0].count("\n")
        self._end_line(found.end())

    def _take_plain(self, found: re.Match[str]) -> None:
        """Take a plain scalar, which goes on in lines that are further right than the block."""
        text, value, end = self._text, found[1], found.end()
        first = len(self._events)
        self._add("scalar", found.start(), end, value)
        self._end_line(end)
        if text[end : self._at].strip(" \n"):  # a comment ends it
            return
        while True:
            start = self._at
            while text.startswith(" ", start):
                start += 1
            if start == len(text) or text[start] in "\n#" or start - self._at <= self._blocks[-1].indent:
                break
            stop = text.find("\n", start)
            line = text[start : stop if stop >= 0 else None].rstrip(" ")
            if ": " in line or " #" in line or line.endswith(":"):
                self._give_up()
            value, end = f"{value} {line}", start + len(line)
            self._go_on(stop)
        if end != found.end():
            self._events[first] = self._events[first]._replace(end=end, value=value)

    def _end_line(self, at: int) -> None:
        rest = _REST.match(self._text, at)
        if rest is None:
            self._give_up()
        self._at = rest.end()
        self._line += rest[0].endswith("\n")

    def _take_flow(self, at: int) -> int:
        """Take a list or mapping in brackets; return the offset after it."""
        text, opened, expected = self._text, list[str](), "value"
        while found := _FLOW.match(text, at):
            start = next(found.start(n) - (n > 2) for n in (1, 2, 3, 4) if found[n] is not None)
            if "\n" in text[at:start]:
                self._line += text.count("\n", at, start)
                self._line_start = text.rfind("\n", at, start) + 1
            at, mark = found.end(), found[1]
            if mark is None:
                is_key = found[5] is not None
                if is_key is not (expected == "key") or expected == "next":
                    break
                self._take_flow_scalar(found, start)
                expected = "value" if is_key else "next"
            elif mark in "[{":
                if expected not in ("item", "value"):
                    break
                self._add("list" if mark == "[" else "map", start, at)
                self._events[-1] = self._events[-1]._replace(is_flow=True)
                opened.append(mark)
                expected = "item" if mark == "[" else "key"
            elif mark == ",":
                if expected != "next":
                    break
                expected = "item" if opened[-1] == "[" else "key"
            else:
                if expected == "value" or opened.pop() + mark not in ("[]", "{}"):
                    break
                self._add("end", start, at)
                if not opened:
                    return at
                expected = "next"
        return self._give_up()

    def _take_flow_scalar(self, found: re.Match[str], start: int) -> None:
        if found[2] is not None:
            value = found[2].rstrip(" ")
            self._add("scalar", start, start + len(value), value)
        elif found[3] is not None:
            self._add("scalar", start, found.end(3) + 1, _unescape(found[3]), '"')
        else:
            self._add("scalar", start, found.end(4) + 1, found[4].replace("''", "'"), "'")


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda each: chr(int(each[1], 16)) if each[1] else _MEANINGS.get(each[2], each[2]), text)
