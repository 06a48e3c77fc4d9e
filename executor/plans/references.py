"""References in a plan's parameters to results of earlier steps: `{{step.data.tasks}}`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

REFERENCE: Final = re.compile(r"\{\{\s*([^\s.{}]+)\s*(?:\.\s*([^\s{}]+)\s*)?\}\}")
"""A step, and the path of a field of its result."""


def references(value: Any) -> Iterator[str]:
    """Yield the ids of the steps that texts inside `value` refer to."""
    for text in texts_in(value):
        if "{{" in text:
            yield from (match[1] for match in REFERENCE.finditer(text))


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts inside `value`: of mappings those of their values."""
    stack = [value]
    while stack:
        match stack.pop():
            case str() as text:
                yield text
            case dict() as mapping:
                stack.extend(reversed(mapping.values()))
            case list() | tuple() as items:
                stack.extend(reversed(items))
