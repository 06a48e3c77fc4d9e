"""Unique names on the way from one vocabulary to another, remembered both ways."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Names(Generic[Key]):
    """Gives each key one name of its own: its wish made legal, numbered where that is taken."""

    def __init__(self, legal: Callable[[str], str], taken: Iterable[str] = ()) -> None:
        self._legal = legal
        self._names: dict[Key, str] = {}
        self._keys: dict[str, Key] = {}
        self._taken = set(taken)

    def of(self, key: Key, wish: str) -> str:
        """Return the name of `key`: `wish`, as nearly as can be, when it is new."""
        if key not in self._names:
            self._names[key] = name = self._free(self._legal(wish))
            self._keys[name] = key
            self._taken.add(name)
        return self._names[key]

    def key(self, name: str) -> Key:
        """Return what `name` was given to; raise KeyError where it was given to nothing."""
        return self._keys[name]

    def _free(self, wish: str) -> str:
        name, number = wish, 1
        while name in self._taken:
            number += 1
            name = f"{wish}-{number}"
        return name


def model_name(wish: str) -> str:
    """Return `wish` as a name of the model, where `?x` is a variable and `_` an open argument."""
    return wish if wish not in ("", "_") and not wish.startswith("?") else f"x{wish}"


def variable_name(wish: str) -> str:
    """Return `wish` as a variable of the model."""
    return f"?{wish.removeprefix('?')}"
