"""What is read as the field's other tools read it, though PDDL or HDDL say otherwise: with a warning, each time."""

from __future__ import annotations

import warnings

from planner.errors import Location
from planner.pddl.trees import Source, Tree


class FileWarning(UserWarning):
    """Something in a file is not as its language wants it, and is read as other tools read it."""


def warn(source: Source, tree: Tree, index: int | None, message: str) -> None:
    """Warn of what stands at item `index` of `tree`: `message` says how it is read."""
    warn_at(source.location(tree, index), message)


def warn_at(place: Location, message: str) -> None:
    """Warn of what stands at `place`: `message` says how it is read."""
    warnings.warn(f"{place}: {message}", FileWarning, stacklevel=3)
