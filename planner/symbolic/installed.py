"""Whether the library for diagrams is there: all else works without it."""

from __future__ import annotations

from importlib.util import find_spec

from planner.errors import InputError


def is_there() -> bool:
    """Return whether OxiDD is installed."""
    return find_spec("oxidd") is not None


def check_there() -> None:
    """Raise `InputError` if OxiDD is not installed."""
    if not is_there():
        raise InputError("search 'symbolic' needs OxiDD", hint="pip install oxidd")
