"""Domains that distributions ship, found by the entry point group `forethought.domains`.

An entry point leads to a module with `domain()` (a `Domain` or `DomainModel`) and `problems()` (a mapping from names
to problems, made when looked up).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

from planner.errors import InputError
from planner.kinds import AnyDomain, AnyProblem
from planner.loading.python import model_of, told_as_input

GROUP: Final = "forethought.domains"


def shipped_names() -> list[str]:
    """Return the names of all shipped domains, sorted."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


class ShippedSource:
    """A shipped domain."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def _module(self) -> Any:
        entries = {entry.value: entry for entry in entry_points(group=GROUP) if entry.name == self.name}
        if len(entries) > 1:
            places = " and ".join(sorted(entries))
            raise InputError(f"the domain name {self.name!r} is ambiguous: it leads to {places}")
        return _loaded(*entries.values())

    def domain(self) -> AnyDomain:
        """Return the domain."""
        return model_of(self._call("domain"), f"domain() of {self.name}")

    def problems(self) -> Mapping[str, AnyProblem]:
        """Return its problems by name."""
        found = self._call("problems")
        if not isinstance(found, Mapping):
            raise InputError(f"problems() of {self.name} gives {type(found).__name__}, not a mapping from names")
        return found

    def _call(self, name: str) -> Any:
        function = getattr(self._module, name, None)
        if not callable(function):
            raise InputError(f"the shipped domain {self.name!r} has no function {name}()")
        with told_as_input(_file(self._module)):
            return function()


def _loaded(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise InputError(f"the shipped domain {entry.name!r} cannot be imported from {entry.value}: {error}") from error


def _file(module: Any) -> Path:
    return Path(str(getattr(module, "__file__", None) or module))
