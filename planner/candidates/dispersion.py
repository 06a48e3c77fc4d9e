"""Some of many things, far from each other.

Each next one is the farthest from those that were taken before. The least distance is then half of the best that there
is, at least, as long as distances are a metric (Gonzalez, 1985; Ravi, Rosenkrantz and Tayi, 1994).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction

from planner.candidates.distances import Features, common


class Dispersion:
    """Takes from `features` the first one, and then whatever is farthest from all that were taken."""

    def __init__(self, features: Sequence[Features]) -> None:
        self._features = features
        self._sizes = [each.total() for each in features]
        # Of parts of less than 2**26 features, equal ones are equal as floats, and a larger one is larger.
        self._shared = [-1.0] * len(features)
        self.taken: list[int] = []
        """The places of what was taken."""

    def take(self, place: int) -> None:
        """Take what is at `place`."""
        mine, size = self._features[place], self._sizes[place]
        for other, features in enumerate(self._features):
            both = common(mine, features)
            either = size + self._sizes[other] - both
            self._shared[other] = max(self._shared[other], both / either if either else 1.0)
        self.taken.append(place)

    def farthest(self) -> tuple[float, int]:
        """Return which part the farthest shares with one that was taken, at most; the first among equals: its place."""
        shared = min(self._shared)
        return shared, self._shared.index(shared)


def dispersed(
    features: Sequence[Features], k: int | None, least: Fraction, until: float | None = None
) -> tuple[list[int], bool]:
    """Return the places of `k` of the `features` or fewer, any two of them apart by `least` at least, and by anything.

    The first one is among them. `until` is the time, by `time.monotonic`, after which no more are taken; besides the
    places, whether this was so.
    """
    dispersion, most = Dispersion(features), float(1 - least)
    if features:
        dispersion.take(0)
    while features and (k is None or len(dispersion.taken) < k):
        shared, place = dispersion.farthest()
        if shared == 1 or shared > most:
            break
        if until is not None and time.monotonic() > until:
            return dispersion.taken, True
        dispersion.take(place)
    return dispersion.taken, False
