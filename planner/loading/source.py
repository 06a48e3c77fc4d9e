"""What everything that can be loaded has: a domain, and problems by name that are made when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from planner.annotations import Protocol, TypeVar
from planner.kinds import AnyDomain, AnyProblem

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
