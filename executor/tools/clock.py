"""The clock of runs: what a run calls the present time, and how long it waits for a moment.

Several hosts that share a database go by its clock (`ServerClock`), as those of the hosts may differ by hours.
"""

from __future__ import annotations

import math
import time
from typing import Final, Protocol


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


def read_uptime() -> float:
    """Return the seconds since this machine was started, also those in which it slept, where that can be known."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class ServerClock:
    """The clock of a server, by its last readings and by how long this machine has been up since then.

    Of two readings the surer one counts: a reading is as sure as its question and answer were fast (Cristian, 1989),
    and less so with time, as the two clocks drift.
    """

    DRIFT: Final = 0.0005
    """Most seconds by which two clocks drift apart in a second: as much as NTP slews them."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._doubt = math.inf
        self._noted = 0.0

    def note(self, sent: float, answer: float) -> None:
        """Note an `answer` in seconds since 1970 to a question that was `sent` at that uptime."""
        now = read_uptime()
        doubt = (now - sent) / 2
        if doubt <= self._doubt + self.DRIFT * (now - self._noted):
            self._ahead, self._doubt, self._noted = answer - (sent + now) / 2, doubt, now

    def time(self) -> float:
        """Return the present time in seconds since 1970."""
        return read_uptime() + self._ahead
