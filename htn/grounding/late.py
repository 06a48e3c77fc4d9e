"""Sequences of objects that few ever ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, SupportsIndex, TypeVar, overload

Item = TypeVar("Item")


class Late(Sequence[Item], Generic[Item]):
    """A sequence whose items are made when they are asked for."""

    __slots__ = ("_length", "_make")

    def __init__(self, length: int, make: Callable[[int], Item]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: SupportsIndex) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Item]: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Item | Sequence[Item]:
        if isinstance(place, slice):
            return [self._make(each) for each in range(self._length)[place]]
        return self._make(range(self._length)[place])

    def __iter__(self) -> Iterator[Item]:
        return map(self._make, range(self._length))
