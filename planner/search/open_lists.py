"""Open lists: entries wait in buckets by key, and a heap knows the keys."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from planner.lightweight import Any
from planner.task.ground_task import State


class LastIn:
    """Entries by (f, h): the smallest first, and the latest first among equals."""

    __slots__ = ("_buckets", "_keys")

    def __init__(self) -> None:
        self._keys: list[tuple[int, int]] = []
        self._buckets: dict[tuple[int, int], list[Any]] = {}

    def __bool__(self) -> bool:
        return bool(self._keys)

    @property
    def lowest(self) -> int:
        """The smallest f; there must be an entry."""
        return self._keys[0][0]

    def push(self, f: int, h: int, entry: Any) -> None:
        """Put `entry` in."""
        key = (f, h)
        if key in self._buckets:
            self._buckets[key].append(entry)
        else:
            self._buckets[key] = [entry]
            heappush(self._keys, key)

    def pop(self) -> tuple[int, int, Any]:
        """Take the best entry out, with its f and h."""
        key = self._keys[0]
        bucket = self._buckets[key]
        entry = bucket.pop()
        if not bucket:
            heappop(self._keys)
            del self._buckets[key]
        return key[0], key[1], entry


class Batches:
    """Edges (state, action) by key: the smallest first, and the earliest first among equals.

    All edges that leave a state are put in at once, as one list: successors are not made before their turn comes.
    """

    __slots__ = ("_buckets", "_keys")

    def __init__(self) -> None:
        self._keys: list[int] = []
        self._buckets: dict[int, deque[tuple[State, list[int]]]] = {}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def push(self, key: int, state: State, actions: list[int]) -> None:
        """Put in the edges from `state` by `actions`; the list is used up."""
        if not actions:
            return
        actions.reverse()
        if key in self._buckets:
            self._buckets[key].append((state, actions))
        else:
            self._buckets[key] = deque([(state, actions)])
            heappush(self._keys, key)

    def pop(self) -> tuple[State, int]:
        """Take the best edge out."""
        key = self._keys[0]
        bucket = self._buckets[key]
        state, actions = bucket[0]
        action = actions.pop()
        if not actions:
            bucket.popleft()
            if not bucket:
                heappop(self._keys)
                del self._buckets[key]
        return state, action
