"""The syntax tree of a YAML or JSON text, with the offsets of each node, so that tools change a file and keep the rest.

Aliases stay aliases, and scalars their spelling. Offsets count characters of the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from planner.errors import DocumentError, Location

BLOCK_STYLES: Final = ("|", ">")


@dataclass(slots=True, eq=False)
class Node:
    """A scalar, an alias, a sequence or a mapping, whose `items` are keys and values in turn.

    `value` is the text of a plain or quoted scalar; `marked` says that the node has an anchor or a tag.
    """

    kind: str
    start: int
    end: int
    flow: bool = False
    value: str = ""
    style: str | None = None
    marked: bool = False
    items: list[Node] = field(default_factory=list)

    @property
    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """The keys and values of a mapping."""
        return zip(self.items[::2], self.items[1::2], strict=True)

    @property
    def is_block(self) -> bool:
        """Whether it is written over lines of its own: a sequence or mapping without brackets."""
        return self.kind in ("sequence", "mapping") and not self.flow

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written: a key without a value."""
        return self.kind == "scalar" and self.style is None and self.start == self.end

    def get(self, key: str) -> Node | None:
        """Return the value of a key of a mapping; None where there is none."""
        return next((value for name, value in self.pairs if name.value == key), None)


def parse_tree(text: str, source: str) -> list[Node]:
    """Return the root nodes of the documents in `text`; raises `DocumentError` where it is no YAML."""
    roots: list[Node] = []
    stack: list[Node] = []
    for event in _events(text, source):
        kind = type(event).__name__
        if kind in ("SequenceEndEvent", "MappingEndEvent"):
            closed = stack.pop()
            closed.end = event.end_mark.index if closed.flow else _end_of_block(closed)
            _add(stack, roots, closed)
        elif kind in ("SequenceStartEvent", "MappingStartEvent"):
            name = "sequence" if kind == "SequenceStartEvent" else "mapping"
            marked = event.anchor is not None or event.tag is not None
            stack.append(Node(name, event.start_mark.index, 0, bool(event.flow_style), marked=marked))
        elif kind == "AliasEvent":
            _add(stack, roots, Node("alias", event.start_mark.index, event.end_mark.index))
        elif kind == "ScalarEvent":
            _add(stack, roots, _put_after_colon(_scalar(event, text), stack, text))
    return roots


def _put_after_colon(scalar: Node, stack: list[Node], text: str) -> Node:
    """Let the value of a key that has none begin after its colon: the parser says that it is where the next one is."""
    is_value = stack and stack[-1].kind == "mapping" and len(stack[-1].items) % 2 == 1
    if is_value and scalar.is_empty:
        colon = text.find(":", stack[-1].items[-1].end)
        scalar.start = scalar.end = colon + 1 if 0 <= colon < scalar.start else scalar.start
    return scalar


def _events(text: str, source: str) -> Iterator[Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError

    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Location(source, mark.line + 1, mark.column + 1) if mark else Location(source)
        raise DocumentError(f"this is no YAML: {error.problem or error.context}", place) from None


def _scalar(event: Any, text: str) -> Node:
    start, end = event.start_mark.index, event.end_mark.index
    if event.style in BLOCK_STYLES:
        end = start + len(text[start:end].rstrip())
    marked = event.anchor is not None or event.tag is not None
    return Node("scalar", start, end, value=event.value, style=event.style, marked=marked)


def _end_of_block(node: Node) -> int:
    return node.items[-1].end if node.items else node.start


def _add(stack: list[Node], roots: list[Node], node: Node) -> None:
    (stack[-1].items if stack else roots).append(node)


def insert_key(text: str, mapping: Node, key: str, value: str, *, quoted: bool) -> tuple[int, int, str]:
    """Return the change (start, end, new text) that gives `mapping`, or an empty value, the first key `key`.

    With `quoted`, the key is written as in JSON.
    """
    name = f'"{key}"' if quoted else key
    if mapping.is_empty:
        return mapping.start, mapping.end, f" {{{name}: {value}}}"
    if mapping.flow:
        return mapping.start + 1, mapping.start + 1, f"{name}: {value}{', ' if mapping.items else ''}"
    first = mapping.items[0].start if mapping.items else mapping.start
    indent = first - (text.rfind("\n", 0, first) + 1)
    return first, first, f"{name}: {value}\n{' ' * indent}"


def apply_changes(text: str, changes: list[tuple[int, int, str]]) -> str:
    """Return `text` with its parts from start to end replaced by new text; the parts do not overlap."""
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text
