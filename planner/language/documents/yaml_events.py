"""The events of YAML: scalars, and the beginnings and ends of lists and mappings, with their places in the text.

ruamel.yaml takes 3 s for 1 MB. Whoever reads a model reads its text several times (for its data, for the places of
findings, for its names in an editor), so the events of the last text are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple


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


_KINDS: Final = {
    "ScalarEvent": "scalar", "MappingStartEvent": "map", "SequenceStartEvent": "list", "MappingEndEvent": "end",
    "SequenceEndEvent": "end", "AliasEvent": "alias", "DocumentStartEvent": "document",
    "DocumentEndEvent": "document end",
}  # fmt: skip


_KEPT: Final[dict[str, list[Event]]] = {}
"""The events of the last text that was read to its end."""


def read_events(text: str) -> Iterator[Event]:
    """Yield the events of `text`; what ruamel.yaml raises for text that is no YAML comes after the events before it."""
    kept = _KEPT.get(text)
    if kept is not None:
        yield from kept
        return
    events: list[Event] = []
    for event in _parse(text):
        events.append(event)
        yield event
    _KEPT.clear()
    _KEPT[text] = events


def _parse(text: str) -> Iterator[Event]:
    from ruamel.yaml import YAML

    for event in YAML(typ="safe", pure=True).parse(text):
        kind = _KINDS.get(type(event).__name__)
        if kind is not None:
            start, more = event.start_mark, [getattr(event, name, None) for name in ("anchor", "tag")]
            value, style, is_flow = (getattr(event, name, None) for name in ("value", "style", "flow_style"))
            place = start.index, event.end_mark.index, start.line, start.column
            yield Event(kind, *place, value or "", style, bool(is_flow), *more)
