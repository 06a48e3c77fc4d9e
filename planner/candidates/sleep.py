"""Which actions need not be tried: an order of independent steps with them earlier was tried (Godefroid, 1990)."""

from __future__ import annotations

from collections.abc import Sequence

from planner.candidates.commuting import Commuting


class Sleep:
    """Sets of actions as bits."""

    def __init__(self, commuting: Commuting) -> None:
        self._commuting = commuting
        self._bits: dict[int, int] = {}
        self._actions: list[int] = []
        self._others: dict[int, tuple[int, int]] = {}

    def bit(self, action: int) -> int:
        """Return the bit of `action`."""
        found = self._bits.get(action)
        if found is None:
            found = self._bits[action] = 1 << len(self._actions)
            self._actions.append(action)
        return found

    def action(self, place: int) -> int:
        """Return the action whose bit is at `place`."""
        return self._actions[place]

    def bits(self, actions: Sequence[int]) -> int:
        """Return the bits of `actions`."""
        found = 0
        for action in actions:
            found |= self.bit(action)
        return found

    def after(self, _state: int, asleep: int, action: int) -> int:
        """Return which of those `asleep` go on sleeping when `action` is done: those that are independent of it."""
        others, known = self._others.get(action, (0, 0))
        for place in range(known, len(self._actions)):
            if self._commuting.independent(action, self._actions[place]):
                others |= 1 << place
        self._others[action] = others, len(self._actions)
        return asleep & others
