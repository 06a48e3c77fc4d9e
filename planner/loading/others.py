"""Languages that other packages read, found by the entry point group `forethought.sources`.

The name of an entry point is the ending of the files' names, such as `.hddl`; it leads to a module with
`read_domain(path)` and `read_problem(path, domain)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from planner.annotations import TYPE_CHECKING, Any, Final
from planner.errors import InputError, Location
from planner.kinds import OtherDomain, OtherProblem

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "forethought.sources"


def languages() -> dict[str, EntryPoint]:
    """Return the entry points of languages, by the endings of files' names."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - looking around takes time

    return {entry.name: entry for entry in entry_points(group=GROUP)}


class OtherSource:
    """A domain file in a language that another package reads; problems have files of their own."""

    def __init__(self, path: Path, language: EntryPoint) -> None:
        self._path = path
        self._language = language
        self.name = str(path)

    @cached_property
    def _reader(self) -> Any:
        try:
            return self._language.load()
        except (ImportError, AttributeError) as error:
            reader = f"the reader {self._language.value} of {self._language.name} files cannot be imported"
            raise InputError(f"{reader}: {error}", Location(self.name)) from error

    @cached_property
    def _domain(self) -> OtherDomain:
        domain: OtherDomain = self._reader.read_domain(self._path)
        return domain

    def domain(self) -> OtherDomain:
        """Return the domain of the file."""
        return self._domain

    def problems(self) -> Mapping[str, OtherProblem]:
        """Return nothing: problems have files of their own."""
        return {}

    def read_problem(self, path: Path) -> OtherProblem:
        """Return the problem in the file at `path`, which is in the language of the domain whatever it is called."""
        problem: OtherProblem = self._reader.read_problem(path, self._domain)
        return problem
