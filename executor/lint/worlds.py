"""Worlds that a Python file leaves behind, beside its domain and problems."""

from __future__ import annotations

from executor.world.world import World
from planner.loading.files import FolderSource
from planner.loading.python import PythonSource
from planner.loading.source import Source


def worlds_of(source: Source) -> list[World]:
    """Return the worlds in the file that `source` is, each once; none where it is no Python."""
    if isinstance(source, FolderSource):
        source = source.domain_file
    return source.values(World) if isinstance(source, PythonSource) else []
