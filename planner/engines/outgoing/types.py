"""Types of the model, in a tree, as those of unified-planning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

from planner.model import ROOT_TYPE

if TYPE_CHECKING:
    from unified_planning.environment import Environment
    from unified_planning.model import Type


class Types:
    """A tree of types: each has at most one parent."""

    def __init__(self, types: Mapping[str, tuple[str, ...]], environment: Environment) -> None:
        self._parents = types
        self._manager = environment.type_manager

    def of(self, name: str) -> Type:
        """Return the type called `name` in the model."""
        father: Any = None
        for step in self._path(name):
            father = self._manager.UserType(step, father)
        return father

    def lowest(self, names: Iterable[str]) -> str:
        """Return the lowest type above all of `names`."""
        return reduce(self._meet, names)

    def _meet(self, one: str, other: str) -> str:
        shared = [name for name, twin in zip(self._path(one), self._path(other), strict=False) if name == twin]
        return shared[-1]

    def _path(self, name: str) -> list[str]:
        """Return the types from the root down to `name`."""
        path = [name]
        while path[-1] != ROOT_TYPE:
            path.append(next(iter(self._parents.get(path[-1], ())), ROOT_TYPE))
        return path[::-1]
