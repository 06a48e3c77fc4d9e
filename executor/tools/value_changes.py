"""Describe how a value differs from the one before it, so that what grows bit by bit is kept once.

A text or list is described by what it shares with the value before at its beginning and end, a mapping by the fields
that differ. `Version` keeps a history in this way: the newest version has its value, and each older one says how its
value differs from that of the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, TypeGuard

from pydantic import BaseModel

from executor.tools.isolated_values import copy_value

LEAST_SHARED: Final = 100
"""Least that two values must share for one to be described by the other, in characters."""
_NUMBER: Final = 8
"""What a number counts as, in characters."""
_PLAIN: Final = frozenset({str, bytes, int, bool, type(None)})


@dataclass(frozen=True, slots=True)
class Spliced:
    """A text or list that shares its first `begin` and last `end` items with the one before; `middle` is new."""

    begin: int
    middle: Any
    end: int = 0

    def apply(self, before: Any) -> Any:
        """Return the value after `before`."""
        return before[: self.begin] + self.middle + before[len(before) - self.end :]

    def invert(self, before: Any) -> Spliced:
        """Return how `before` differs from the value after it."""
        return Spliced(self.begin, before[self.begin : len(before) - self.end], self.end)

    def leaves_as_it_is(self, before: Any) -> bool:
        """Return whether the value after `before` is the same."""
        return not self.middle and self.begin == len(before)

    @property
    def cuts_end_off(self) -> bool:
        """Whether it leaves the first items of a value only."""
        return not (self.end or self.middle)

    def __repr__(self) -> str:
        return f"<{self.begin + self.end:,} as before> + {self.middle!r}"


@dataclass(frozen=True, slots=True)
class Edited:
    """A mapping with other values of some `fields`, which may be changes themselves, and without those `gone`."""

    fields: Mapping[str, Any]
    gone: tuple[str, ...] = ()

    def apply(self, before: Any) -> dict[str, Any]:
        """Return the mapping after `before`."""
        kept = {name: value for name, value in before.items() if name not in self.gone}
        return kept | {name: apply_change(before.get(name), value) for name, value in self.fields.items()}

    def invert(self, before: Any) -> Edited:
        """Return how `before` differs from the mapping after it."""
        fields = {
            name: value.invert(before[name]) if is_change(value) else before[name]
            for name, value in self.fields.items()
            if name in before
        }
        return Edited(fields, tuple([name for name in self.fields if name not in before]))

    def leaves_as_it_is(self, _: Any) -> bool:
        """Return whether the value after the one before is the same."""
        return not self.fields

    @property
    def cuts_end_off(self) -> bool:
        """Whether it leaves the first items of a value only."""
        return False

    def __repr__(self) -> str:
        return f"<as before, but {', '.join([f'{name}: {value!r}' for name, value in self.fields.items()])}>"


Change = Spliced | Edited


@dataclass(frozen=True, slots=True)
class Appended:
    """A piece that is to be added to the end of a text or list, whatever is there by then."""

    piece: Any


def is_change(value: Any) -> TypeGuard[Change]:
    """Return whether `value` is a change; it may be of any type, with methods of its own."""
    return type(value) is Spliced or type(value) is Edited


def apply_change(before: Any, value: Any) -> Any:
    """Return the value that a change of `before` leads to, or `value` itself if it is no change."""
    return value.apply(before) if is_change(value) else value


def describe_change(before: Any, after: Any) -> Change | None:
    """Return how `after` differs from `before`, or None where that is no shorter than `after` itself."""
    if type(before) is not type(after):
        return None
    if type(after) is str:
        return _describe_splice(before, after, _count_same_characters)
    if type(after) is list:
        return _describe_splice(before, after, _count_same_items)
    if type(after) is dict:
        return _describe_edit(before, after)
    return None


def _describe_splice(before: Any, after: Any, count_same: Callable[[Any, Any], int]) -> Spliced | None:
    begin = count_same(before, after)
    end = 0
    if begin < min(len(before), len(after)):
        end = count_same(before[begin:][::-1], after[begin:][::-1])
    shared = (after[:begin], after[len(after) - end :])
    if sum(map(_weigh, shared)) < LEAST_SHARED:
        return None
    return Spliced(begin, after[begin : len(after) - end], end)


def _describe_edit(before: Mapping[str, Any], after: Mapping[str, Any]) -> Edited | None:
    """Return how two mappings differ; None for those whose fields have another order, and for marks of the journal."""
    names = list(after)
    if names[: len(before)] != list(before) or not all(type(name) is str for name in names):
        return None
    if len(names) == 1 and names[0].startswith("$"):
        return None
    fields = dict[str, Any]()
    shared = 0
    for name, value in after.items():
        if name in before and _is_same(before[name], value):
            shared += _weigh(value)
            continue
        change = describe_change(before[name], value) if name in before else None
        shared += 0 if change is None else LEAST_SHARED
        fields[name] = value if change is None else change
    return Edited(fields) if shared >= LEAST_SHARED else None


def _count_same_characters(one: str, other: str) -> int:
    """Return the number of characters with which two texts begin alike, by halving: slices compare as memory does."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _count_same_items(one: Sequence[Any], other: Sequence[Any]) -> int:
    return sum(1 for _ in takewhile(lambda pair: _is_same(*pair), zip(one, other, strict=False)))


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values cannot be told apart; objects of most types are the same only if they are one."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if kind in _PLAIN:
        return bool(one == other)
    if kind is float:
        return bool(one == other and math.copysign(1, one) == math.copysign(1, other))
    if kind is list or kind is tuple:
        return len(one) == len(other) and all(map(_is_same, one, other))
    if kind is dict:
        return list(one) == list(other) and all(map(_is_same, one.values(), other.values()))
    return issubclass(kind, BaseModel) and _is_same(dict(one), dict(other))


def _weigh(value: Any) -> int:
    """Return about how many characters a value takes as JSON; not more than `LEAST_SHARED` is looked at."""
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value)
    if kind not in (list, tuple, dict):
        return _NUMBER if kind in _PLAIN or kind is float else LEAST_SHARED
    total = 0
    for each in value.values() if kind is dict else value:
        total += _weigh(each)
        if total >= LEAST_SHARED:
            break
    return total


class Version:
    """A value, as long as it is the newest, and then how it differs from the next; threads may read it meanwhile."""

    __slots__ = ("at",)

    def __init__(self, value: Any) -> None:
        self.at: tuple[Version, Change] | tuple[None, Any] = (None, value)
        """The next version and how this one differs from it; None and the value where there is none."""

    def change(self, change: Change) -> Version:
        """Return the next version, which `change` leads to; this one must be the newest."""
        newer, value = self.at
        assert newer is None, "each version is followed by one other"
        following = Version(change.apply(value))
        self.at = following, change.invert(value)
        return following

    def read(self) -> Any:
        """Return the value, which the caller must not change."""
        back: list[Change] = []
        newer, found = self.at
        while newer is not None:
            if not (back and back[-1].cuts_end_off and found.cuts_end_off):  # the older one leaves less
                back.append(found)
            newer, found = newer.at
        for change in reversed(back):
            found = change.apply(found)
        return found


class Versions(Mapping[str, Any]):
    """Values by name, of which some are versions; reading one gives a copy."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        found = self._values[name]
        return copy_value(found.read()) if type(found) is Version else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self))
