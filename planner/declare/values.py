"""Fields that have to be texts, lists, mappings or tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from planner.declare.places import Place
from planner.declare.syntax import cannot_name, is_name, shown
from planner.errors import did_you_mean
from planner.model import TAGS

ALIKE: Final = 0.7
"""How much a domain's own tag may be like one with a meaning, from 0 to 1."""
SURROGATE: Final = re.compile("[\ud800-\udfff]")


def tags(value: str | Iterable[str] | None, known: Iterable[str], owner: str, place: Place) -> frozenset[str]:
    """Return `value` as a set of known tags."""
    found = texts(value, "tags", place)
    for tag in found:
        if tag not in known:
            near = did_you_mean(tag, known) or f"{owner} may be tagged {', '.join(sorted(known))}"
            raise place.error(f"unknown tag {shown(tag)}", near)
    return frozenset(found)


def action_tags(value: str | Iterable[str] | None, place: Place) -> frozenset[str]:
    """Return `value` as a set of tags of an action: those with a meaning, and the domain's own.

    A tag that is nearly one with a meaning is taken for a misspelling: raises `DeclarationError`.
    """
    found = texts(value, "tags", place)
    for tag in found:
        if not is_name(tag):
            raise place.error(*cannot_name(tag, "a tag"))
        near = None if tag in TAGS else did_you_mean(tag, TAGS, cutoff=ALIKE)
        if near is not None:
            raise place.error(f"unknown tag {shown(tag)}", near)
    return frozenset(found)


def texts(value: str | Iterable[str] | None, what: str, place: Place) -> tuple[str, ...]:
    """Return one text or several as a tuple."""
    if value is None:
        return ()
    found = value if isinstance(value, list | tuple | set | frozenset) else (value,)
    for item in found:
        if not isinstance(item, str):
            raise place.error(f"{what} are texts, not {shown(item)}")
        text(item, f"one of {what}", place)
    return tuple(found)


def text(value: Any, what: str, place: Place) -> str:
    """Return `value`, which has to be a text."""
    if not isinstance(value, str):
        raise place.error(f"{what} is a text, not {shown(value)}")
    if not value.isascii() and SURROGATE.search(value):
        raise place.error(f"{what} has half of a surrogate pair in it, which is no character")
    return value


def mapping(value: Any, what: str, place: Place) -> Mapping[str, Any]:
    """Return `value`, which has to map texts."""
    if not isinstance(value, Mapping) or not all(map(_is_text, value)):
        raise place.error(f"{what} is a mapping from names, not {shown(value)}")
    return value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def several(value: Any, what: str, place: Place) -> Iterable[Any]:
    """Return `value`, which has to be a list or tuple."""
    if not isinstance(value, list | tuple):
        raise place.error(f"{what} is a list, not {shown(value)}")
    return value
