"""Where something was declared, and the error to raise there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from planner.errors import DeclarationError, InputError, Location
from planner.records import dataclass


class Place(Protocol):
    """A place of declaration: in Python, or in a document."""

    @property
    def location(self) -> Location:
        """Where it is."""
        ...

    def error(self, message: str, hint: str | None = None) -> InputError:
        """Return the error to raise for a mistake made here."""
        ...

    def within(self, *path: str | int) -> Place:
        """Return the place of a part, where parts have places of their own."""
        ...


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A line of Python."""

    source: str
    line: int | None = None

    @property
    def location(self) -> Location:
        """File and line."""
        return Location(self.source, self.line)

    def error(self, message: str, hint: str | None = None) -> DeclarationError:
        """Return a `DeclarationError` at this line."""
        return DeclarationError(message, self.location, hint)

    def within(self, *path: str | int) -> CodePlace:  # noqa: ARG002 - all parts of a call share its line
        """Return this place: one line is all that Python tells."""
        return self


def caller() -> CodePlace:
    """Return the line outside this package from which the declaration was called."""
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way to a caller's line, at a hundredth of inspect's price
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("planner.declare"):
        frame = frame.f_back
    return CodePlace(frame.f_code.co_filename, frame.f_lineno)


def caller_names() -> Mapping[str, Any]:
    """Return the local names where the declaration was called: annotations may name classes made in a function."""
    frame = sys._getframe(1)  # noqa: SLF001 - see `caller`
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("planner.declare"):
        frame = frame.f_back
    return frame.f_locals


def definition(function: Callable[..., Any]) -> CodePlace:
    """Return the line where `function` is defined, or that of the call where it has no code of its own."""
    code = getattr(function, "__code__", None)
    if code is None:
        return caller()
    return CodePlace(code.co_filename, code.co_firstlineno)
