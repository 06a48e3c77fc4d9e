"""What everything that can be loaded has: a domain, and problems by name that are made when asked for.

Other packages read other languages: an entry point of the group `forethought.sources` has the ending of the files'
names for its name, such as `.hddl`, and leads to a module with `read_domain(path)` and `read_problem(path, domain)`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path

from planner.errors import InputError, Location
from planner.lightweight import Any, Final, Protocol, TypeVar, dataclass
from planner.problem_kinds import AnyDomain, AnyProblem, OtherDomain, OtherProblem

Kind = TypeVar("Kind")


class Source(Protocol):
    """A file, folder or shipped domain."""

    @property
    def name(self) -> str:
        """What it was asked for by."""

    def domain(self) -> AnyDomain:
        """Return its domain; raises `InputError` where it has none, or more than one."""

    def problems(self) -> Mapping[str, AnyProblem]:
        """Return its problems by name, each made when it is looked up."""


class LazyProblems(Mapping[str, Kind]):
    """Problems by name, each made once, when it is looked up."""

    def __init__(self, makers: Mapping[str, Callable[[], Kind]]) -> None:
        self._makers = dict(makers)
        self._made: dict[str, Kind] = {}

    def __getitem__(self, name: str) -> Kind:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


PLUGIN_GROUP: Final = "forethought.sources"


@dataclass(frozen=True, slots=True)
class Language:
    """What files whose names end in `name` are read by: the module `value`."""

    name: str
    value: str

    def load(self) -> Any:
        """Return the module; raises `ImportError` where there is none."""
        return import_module(self.value)


def find_languages() -> dict[str, Language]:
    """Return the languages that installed distributions declare, by the endings of files' names.

    It is a millisecond's work to look into the files of the installers; to import `importlib.metadata`, which does it,
    takes twenty.
    """
    found: dict[str, Language] = {}
    for folder in sys.path:
        for file in Path(folder).glob("*.*-info/entry_points.txt"):
            group = file.read_text(encoding="utf-8", errors="replace").partition(f"[{PLUGIN_GROUP}]\n")[2]
            for line in group.partition("\n[")[0].splitlines():
                name, _, value = map(str.strip, line.partition("="))
                if value:
                    found.setdefault(name, Language(name, value))
    return found


class OtherSource:
    """A domain file in a language that another package reads; problems have files of their own."""

    def __init__(self, path: Path, language: Language) -> None:
        self._path = path
        self._language = language
        self.name = str(path)

    @cached_property
    def _reader(self) -> Any:
        try:
            return self._language.load()
        except ImportError as error:
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
