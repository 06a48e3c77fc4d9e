"""Some of many things, far from each other.

Each next one is the farthest from those that were taken before. The least distance is then half of the best that there
is, at least, as long as distances are a metric (Gonzalez, 1985; Ravi, Rosenkrantz and Tayi, 1994).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from planner.candidates.distances import Features, distance


class Dispersion:
    """Takes from `features` the first one, and then whatever is farthest from all that were taken."""

    def __init__(self, features: Sequence[Features]) -> None:
        self._features = features
        self._nearest = [Fraction(2)] * len(features)
        self.taken: list[int] = []
        """The places of what was taken."""

    def take(self, place: int) -> None:
        """Take what is at `place`."""
        mine = self._features[place]
        self._nearest = [
            min(known, distance(mine, other)) for known, other in zip(self._nearest, self._features, strict=True)
        ]
        self.taken.append(place)

    def farthest(self) -> tuple[Fraction, int]:
        """Return how far from all that were taken the farthest is, the first among equals, and its place."""
        far = max(self._nearest)
        return far, self._nearest.index(far)


def dispersed(features: Sequence[Features], k: int | None, least: Fraction) -> list[int]:
    """Return the places of `k` of the `features` or fewer, any two of them apart by `least` at least, and by anything.

    The first one is among them.
    """
    dispersion = Dispersion(features)
    if features:
        dispersion.take(0)
    while features and (k is None or len(dispersion.taken) < k):
        far, place = dispersion.farthest()
        if not far or far < least:
            break
        dispersion.take(place)
    return dispersion.taken
