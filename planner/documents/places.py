"""Where in a file something is written: a path of keys and indices, turned into line and column when needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from planner.errors import DocumentError, Location

Path = tuple[str | int, ...]
Positions = Mapping[Path, tuple[int, int]]
"""Line and column, from 1, of the value (or key) that each path leads to."""


class Document:
    """One document of a file: its data, and how to find where a part of it is written."""

    def __init__(self, data: Any, source: str, number: int, locate: Callable[[], Positions]) -> None:
        self.data = data
        self.source = source
        self._number = number
        self._locate = locate

    @cached_property
    def _positions(self) -> Positions:
        return self._locate()

    def location(self, path: Path) -> Location:
        """Return where `path` leads, or the nearest part above it that has a place."""
        full: Path = (self._number, *path)
        while full and full not in self._positions:
            full = full[:-1]
        return Location(self.source, *self._positions.get(full, (None, None)))

    @property
    def place(self) -> DocumentPlace:
        """The place of the whole document."""
        return DocumentPlace(self, ())


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """A part of a document."""

    document: Document
    path: Path

    @property
    def location(self) -> Location:
        """File, line and column."""
        return self.document.location(self.path)

    def error(self, message: str, hint: str | None = None) -> DocumentError:
        """Return a `DocumentError` here."""
        return DocumentError(message, self.location, hint)

    def within(self, *path: str | int) -> DocumentPlace:
        """Return the place of a part."""
        return DocumentPlace(self.document, (*self.path, *path))
