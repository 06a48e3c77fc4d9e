"""Lays YAML documents out: keys in the order of the schema, two spaces a level, short values on one line, all comments.

What the document means stays as it is, and so do the spelling of scalars, comments, anchors and aliases. A comment on
lines of its own belongs to what follows it, and moves with it; at the top of a document, it stays there.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, get_args

from pydantic import BaseModel

from executor.desk.loop.case_documents import CasesDocument
from executor.desk.loop.yaml_tree import BLOCK_STYLES, Node, parse_tree
from planner.errors import DocumentError, Location
from planner.language.documents.document_writer import WIDTH, to_json
from planner.language.documents.schema import DomainDocument, ProblemDocument
from planner.language.documents.text_formats import parse_json, parse_yaml

LEADING: Final[dict[str, tuple[str, ...]]] = {
    "ActionDocument": ("description",),
    "MethodDocument": ("description", "parameters", "task", "requires"),
    "WhenDocument": ("variables",),
    "OutcomeDocument": ("probability", "name"),
    "TaskDocument": ("description",),
    "CasesDocument": ("domain", "description", "time_limit"),
}
"""The keys of parts of documents that come first; the others have the order of the schema."""

_COMMENT: Final = re.compile(r"(?<!\S)#[^\n]*")


@dataclass(frozen=True, slots=True)
class Shape:
    """What the schema says of a value: the part of a document that it is, or that its values or items are."""

    part: type[BaseModel] | None = None
    values: type[BaseModel] | None = None
    items: type[BaseModel] | None = None

    def of_key(self, key: str) -> Shape:
        """Return the shape of the value of a key."""
        if self.part is None:
            return Shape(self.values)
        fields = {field.alias or name: field.annotation for name, field in self.part.model_fields.items()}
        return shape_of(fields[key]) if key in fields else Shape()

    @property
    def of_item(self) -> Shape:
        """The shape of the items of a list."""
        return Shape(self.items)

    def rank(self) -> Callable[[str], int]:
        """Return the function that gives the place of each key."""
        if self.part is None:
            return lambda _key: 0
        names = [field.alias or name for name, field in self.part.model_fields.items()]
        first = LEADING.get(self.part.__name__, ())
        order = {name: place for place, name in enumerate(dict.fromkeys((*first, *names)))}
        return lambda key: order.get(key, len(order))


def shape_of(annotation: Any) -> Shape:
    """Return the shape of a value that is annotated so, in whatever unions and forms."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Shape(annotation)
    inner = [shape_of(each) for each in get_args(annotation)]
    origin = getattr(annotation, "__origin__", None)
    if origin is dict:
        return Shape(values=inner[1].part)
    if origin is list:
        return Shape(items=inner[0].part)
    return Shape(
        next((each.part for each in inner if each.part), None),
        next((each.values for each in inner if each.values), None),
        next((each.items for each in inner if each.items), None),
    )


def format_yaml(text: str, name: str) -> str:
    """Return the YAML `text`, laid out; raises `DocumentError` where it is no YAML."""
    before = parse_yaml(text, name)
    is_blank = all(each is None for each in before)
    if is_blank or "\t" in text or re.search(r"^%", text, re.MULTILINE):
        return _check(text, "\n".join(line.rstrip() for line in text.rstrip().split("\n")) + "\n", before, name)
    layout = _Layout(text, name)
    return _check(text, layout.write(), before, name)


def _check(text: str, formatted: str, before: list[Any], name: str) -> str:
    """Return `formatted` if it means what `text` does and has its comments."""
    found = [each for each in parse_yaml(formatted, name) if each is not None]
    kept = sorted(_comments(text)) == sorted(_comments(formatted))
    if found != [each for each in before if each is not None] or not kept:
        message = "this cannot be laid out without a change of what it says, and stays as it is"
        raise DocumentError(message, Location(name), "write it in a simpler form")
    return formatted


def _comments(text: str) -> list[str]:
    return [match[0].strip() for _, match in _find_comments(text, parse_tree(text, "text"))]


def _find_comments(text: str, roots: Iterable[Node]) -> list[tuple[int, re.Match[str]]]:
    """Return the comments of `text` with their offsets: what looks like one and is not in a scalar."""
    leaves = sorted((leaf.start, leaf.end) for root in roots for leaf in _leaves(root))
    starts = [start for start, _ in leaves]
    found = []
    for match in _COMMENT.finditer(text):
        place = bisect_left(starts, match.start() + 1) - 1
        if place < 0 or leaves[place][1] <= match.start():
            found.append((match.start(), match))
    return found


def _leaves(node: Node) -> Iterable[Node]:
    stack = [node]
    while stack:
        each = stack.pop()
        if each.kind in ("scalar", "alias"):
            yield each
        stack.extend(each.items)


def format_json(text: str, name: str) -> str:
    """Return the JSON `text`, laid out; raises `DocumentError` where it is no JSON."""
    data = parse_json(text, name)
    ordered = [_order(each, Shape(_part_of(each.__contains__ if isinstance(each, dict) else bool))) for each in data]
    is_list = text.lstrip()[:1] == "["
    return to_json(ordered if is_list else ordered[0]) + "\n"


def _order(value: Any, shape: Shape) -> Any:
    """Return `value` with the keys of all parts in order."""
    if isinstance(value, list):
        return [_order(each, shape.of_item) for each in value]
    if not isinstance(value, dict):
        return value
    rank = shape.rank()
    return {key: _order(value[key], shape.of_key(key)) for key in sorted(value, key=rank)}


def _part_of(has: Callable[[str], bool]) -> type[BaseModel]:
    """Return the kind of a document that has some keys."""
    return CasesDocument if has("cases") else ProblemDocument if has("problem") else DomainDocument


class _Layout:
    """Writes the documents of one text."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._roots = parse_tree(text, name)
        self._comments = [(at, match[0].rstrip()) for at, match in _find_comments(text, self._roots)]
        self._taken: set[int] = set()

    def write(self) -> str:
        """Return all documents, laid out."""
        documents = []
        for number, root in enumerate(self._roots):
            following = self._roots[number + 1].start if number + 1 < len(self._roots) else len(self._text)
            if root.is_empty and root.kind == "scalar":
                continue
            documents.append(self._write_document(root, following))
        return "---\n".join("\n".join(each).strip("\n") + "\n" for each in documents)

    def _write_document(self, root: Node, end: int) -> list[str]:
        lead = self._take_lead(root.start, is_first=True)
        part = _part_of(lambda key: root.kind == "mapping" and root.get(key) is not None)
        body = self._write_block(root, "", Shape(part), [])
        foot = self._take(root.end, self._end_of_document(root, end))
        return [*lead, *body, *[comment for _, comment in foot]]

    def _end_of_document(self, root: Node, end: int) -> int:
        """Return where the document ends: at the marker before the next one."""
        marker = re.compile(r"^(---|\.\.\.)(?=\s|$)", re.MULTILINE).search(self._text, root.end, end)
        return end if marker is None else marker.start()

    def _take(self, start: int, end: int) -> list[tuple[int, str]]:
        """Take the comments between two offsets that nobody has taken yet."""
        found = [(at, comment) for at, comment in self._comments if start <= at < end and at not in self._taken]
        self._taken.update(at for at, _ in found)
        return found

    def _take_lead(self, start: int, *, is_first: bool) -> list[str]:
        """Take the comments on lines of their own before `start`, with single blank lines where there were some."""
        found = self._take(0, start)
        lines, last = [], None
        for at, comment in found:
            if last is not None and self._text.count("\n", last, at) > 1:
                lines.append("")
            lines.append(comment)
            last = at
        line_start = self._text.rfind("\n", 0, start) + 1
        if lines and last is not None and self._text.count("\n", last, line_start) > 1:
            lines.append("")
        begin = found[0][0] if found else start
        above = self._text[: self._text.rfind("\n", 0, begin) + 1]
        has_gap = re.search(r"\n[ \t]*\n\Z", above) is not None
        return ["", *lines] if has_gap and not is_first else lines

    def _take_trail(self, end: int) -> str:
        """Take the comment behind what ends at `end`, on its line."""
        line_end = self._text.find("\n", end)
        found = self._take(end, len(self._text) if line_end < 0 else line_end)
        return f" {found[0][1]}" if found else ""

    def _write_block(self, node: Node, indent: str, shape: Shape, lead: list[str]) -> list[str]:
        """Write a node over lines of its own; `lead` are the comments before its first part."""
        if node.kind == "mapping" and node.items and not node.marked:
            return self._write_mapping(node, indent, shape, lead)
        if node.kind == "sequence" and node.items and not node.marked:
            return self._write_sequence(node, indent, shape, lead)
        flow = self._flow(node, shape)
        lines = [f"{indent}{flow}"] if flow is not None else self._raw(node, indent)
        lines[-1] += self._take_trail(node.end)
        return [*_indent(lead, indent), *lines]

    def _write_mapping(self, node: Node, indent: str, shape: Shape, lead: list[str]) -> list[str]:
        entries = []
        for number, (key, value) in enumerate(node.pairs):
            before = lead if number == 0 else self._take_lead(key.start, is_first=False)
            lines = self._write_entry(key, value, indent, shape.of_key(key.value))
            entries.append((key.value, before, lines))
        rank = shape.rank()
        ordered = sorted(entries, key=lambda entry: rank(entry[0]))
        if ordered[0] is not entries[0]:
            ordered = _move_gap(ordered)
        return [line for _, before, lines in ordered for line in (*_indent(before, indent), *lines)]

    def _write_entry(self, key: Node, value: Node, indent: str, shape: Shape) -> list[str]:
        head = f"{indent}{self._slice(key)}:"
        return self._write_value(head, value, indent, shape, key.end)

    def _write_value(self, head: str, value: Node, indent: str, shape: Shape, after: int) -> list[str]:
        """Write what stands behind `head`, a key with its colon or a dash."""
        flow = None if value.is_block else self._flow(value, shape)
        if value.is_empty or (flow is not None and self._may_stay(value, head, flow)):
            line = f"{head} {flow}" if not value.is_empty else head
            return [line + self._take_trail(max(value.end, after))]
        is_atomic = value.marked or value.kind in ("scalar", "alias")
        if is_atomic or (not value.is_block and self._has_comments(value)):
            first, *others = self._raw(value, indent)
            lines = [f"{head} {first.lstrip()}", *others]
            lines[-1] += self._take_trail(value.end)
            return lines
        trail = self._take_trail(after)
        lead = self._take_lead(value.items[0].start, is_first=True)
        return [head + trail, *self._write_block(value, f"{indent}  ", shape, lead)]

    def _breaks(self, value: Node, head: str, shape: Shape) -> bool:
        """Return whether a list or mapping is written over lines of its own."""
        if value.kind not in ("sequence", "mapping") or value.marked or not value.items:
            return False
        if value.is_block:
            return True
        flow = self._flow(value, shape)
        return not self._has_comments(value) and (flow is None or not self._may_stay(value, head, flow))

    def _may_stay(self, value: Node, head: str, flow: str) -> bool:
        """Return whether a value may stand on one line: a scalar, what is short, and what has no parts."""
        return value.kind in ("scalar", "alias") or not value.items or len(head) + len(flow) < WIDTH

    def _write_sequence(self, node: Node, indent: str, shape: Shape, lead: list[str]) -> list[str]:
        lines: list[str] = []
        for number, each in enumerate(node.items):
            before = lead if number == 0 else self._take_lead(_first_leaf(each).start, is_first=False)
            written = self._write_item(each, indent, shape.of_item)
            lines += [*_indent(before, indent), *written]
        return lines

    def _write_item(self, item: Node, indent: str, shape: Shape) -> list[str]:
        if not self._breaks(item, f"{indent}-", shape):
            return self._write_value(f"{indent}-", item, indent, shape, item.start)
        lines = self._write_block(item, f"{indent}  ", shape, [])
        place = next(number for number, line in enumerate(lines) if line and not line.lstrip().startswith("#"))
        above = [line[2:] if line else line for line in lines[:place]]
        return [*above, f"{indent}- {lines[place][len(indent) + 2 :]}", *lines[place + 1 :]]

    def _flow(self, node: Node, shape: Shape) -> str | None:
        """Return a node on one line; None where it cannot be: comments inside, several lines, blocks, anchors."""
        if node.kind in ("scalar", "alias"):
            text = self._slice(node)
            return None if "\n" in text or node.style in BLOCK_STYLES else text
        if node.is_block or node.marked or self._has_comments(node):
            return None
        if node.kind == "sequence":
            parts = [self._flow(each, shape.of_item) for each in node.items]
            return None if None in parts else f"[{', '.join(part for part in parts if part is not None)}]"
        rank, entries = shape.rank(), []
        for key, value in node.pairs:
            written = self._flow(value, shape.of_key(key.value))
            if written is None or "\n" in self._slice(key):
                return None
            entries.append((rank(key.value), f"{self._slice(key)}: {written}"))
        return "{" + ", ".join(text for _, text in sorted(entries, key=lambda entry: entry[0])) + "}"

    def _has_comments(self, node: Node) -> bool:
        return any(node.start <= at < node.end for at, _ in self._comments)

    def _slice(self, node: Node) -> str:
        return self._text[node.start : node.end]

    def _raw(self, node: Node, indent: str) -> list[str]:
        """Return the lines of a node as they are, moved to the column of `indent` and two more."""
        self._take(node.start, node.end)
        first, *others = self._slice(node).split("\n")
        line_start = self._text.rfind("\n", 0, node.start) + 1
        line = self._text[line_start : node.start]
        was = len(line) - len(line.lstrip(" -"))
        shift = len(indent) - was + (2 if line.lstrip().startswith("-") else 0)
        return [f"{indent}{first}", *[_shift(each, shift) for each in others]]


def _first_leaf(node: Node) -> Node:
    """Return what is written first of an item: a dash stands before a block, so that its first part is that."""
    while node.is_block and node.items:
        node = node.items[0]
    return node


def _shift(line: str, columns: int) -> str:
    """Move a line by some columns to the right, or as far as it goes to the left."""
    if not line.strip():
        return ""
    spaces = len(line) - len(line.lstrip(" "))
    return " " * max(0, spaces + columns) + line.lstrip(" ")


def _indent(lines: Iterable[str], indent: str) -> list[str]:
    return [f"{indent}{line}" if line else "" for line in lines]


Entry = tuple[str, list[str], list[str]]


def _move_gap(entries: list[Entry]) -> list[Entry]:
    """Drop the blank line before what has become the first entry."""
    name, before, lines = entries[0]
    return [(name, before[1:] if before[:1] == [""] else before, lines), *entries[1:]]
