"""The clock of runs: what a run calls the present time, and how long it waits for a moment."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time; a simulated world has a virtual clock."""

    def time(self) -> float:
        """Return the present time in seconds since 1970."""


class WallClock:
    """The clock of the machine."""

    def time(self) -> float:
        """Return the present time in seconds since 1970."""
        return time.time()


WALL = WallClock()
