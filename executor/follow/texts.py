"""Texts that handlers and services gave, made fit for a line."""

from __future__ import annotations

from typing import Any, Final

from executor.world.containment import text_from
from executor.world.data import text_of

LINE: Final = 200
"""Characters of a line that a text may fill."""
CUT: Final = " characters)"
"""The end of what is cut."""


def line_of(value: Any, most: int = LINE) -> str:
    """Return `value` as one line without control characters; what is cut off is said at its end."""
    text = text_from(value) if issubclass(type(value), str) else text_of(value)
    head = text[: 4 * most]
    line = " ".join("".join(each if each.isprintable() else " " for each in head).split())
    if len(line) <= most and len(head) == len(text):
        return line
    mark = f"… ({len(text):,}{CUT}"
    return line[: max(most - len(mark), 0)] + mark
