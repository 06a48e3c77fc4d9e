"""Numbers and names in messages."""

from __future__ import annotations

from collections.abc import Iterable

from planner.model import Atom


def plain(atom: Atom) -> str:
    """Return `atom` as authors write it: parameters without `?`."""
    return str(atom).replace("?", "")


def count(number: int) -> str:
    """Return the number of arguments in words."""
    return "no arguments" if number == 0 else "1 argument" if number == 1 else f"{number} arguments"


def either(names: Iterable[str]) -> str:
    """Return type names for a message: `'robot' or 'truck'`."""
    return " or ".join(repr(name) for name in names)
