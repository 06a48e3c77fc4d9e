"""Tell that a handler without a time limit is still at work, again and again at growing intervals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

MOST_TOLD: Final = 16
"""Most times that one call is told of: with 60 s for the first, the last is told after three weeks."""


@dataclass(slots=True)
class SlowCall:
    """Calls `tell` with the seconds since a call began, first `after` so many, then whenever these have doubled."""

    after: float | None
    tell: Callable[[float], None]
    _began: float = field(init=False, default=0.0)
    _told: int = field(init=False, default=0)
    _timer: asyncio.TimerHandle | None = field(init=False, default=None)

    def begin(self) -> None:
        """Begin to count, if the call has no time limit."""
        if self.after is not None and self._timer is None:
            loop = asyncio.get_running_loop()
            self._began, self._timer = loop.time(), loop.call_later(self.after, self._notice)

    def end(self) -> None:
        """Tell nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _notice(self) -> None:
        loop = asyncio.get_running_loop()
        seconds, self._told = loop.time() - self._began, self._told + 1
        self.tell(seconds)
        if self._told < MOST_TOLD:
            self._timer = loop.call_later(seconds, self._notice)
