"""A lazy series of problems: made when they are looked up, so that naming hard ones costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from planner.model import Problem


class Series(Mapping[str, Problem]):
    """Problems by name, each made once, on demand."""

    def __init__(self, makers: Mapping[str, Callable[[], Problem]]) -> None:
        self._makers = dict(makers)
        self._made: dict[str, Problem] = {}

    def __getitem__(self, name: str) -> Problem:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)
