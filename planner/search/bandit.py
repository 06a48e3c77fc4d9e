"""Which arm of a bandit to pull: the least value, less the more the less often it was pulled (UCB1: Auer, 2002).

Values are set against their spread among the arms, so that costs of all sizes are explored alike (Schulte and Keller,
2014). The logarithms are made in one way here and in machine code, so that both choose alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

from planner.annotations import Final

EXPLORATION: Final = 0.1
"""How much a lack of pulls counts against the spread of values."""
LOGARITHMS: Final = [0.0, *[log(number) for number in range(1, 1024)]]
"""Natural logarithms of small numbers; those of others are made of them."""
LOGARITHM_OF_2: Final = log(2)
MULTIPLIER: Final = 0x1E3779B97F4A7C15
LOW_BITS: Final = (1 << 62) - 1


def choose(values: Sequence[int], pulls: Sequence[int], total: int) -> int:
    """Return the place of the arm to pull, the first of the best, after `total` pulls of all arms."""
    least = min(values)
    spread = float(max(values) - least) or 1.0
    wide = logarithm(total)
    scores = [
        float(value - least) / spread - EXPLORATION * sqrt(wide / many)
        for value, many in zip(values, pulls, strict=True)
    ]
    return scores.index(min(scores))


def logarithm(number: int) -> float:
    """Return about the natural logarithm of a positive number."""
    halvings = 0
    while number >= len(LOGARITHMS):
        number >>= 1
        halvings += 1
    return LOGARITHMS[number] + float(halvings) * LOGARITHM_OF_2


class Draw:
    """Random numbers from a seed (a linear congruential generator), the same as in machine code."""

    def __init__(self, seed: int) -> None:
        self._last = seed & LOW_BITS

    def below(self, many: int) -> int:
        """Return a number from 0 to `many` - 1."""
        self._last = (self._last * MULTIPLIER + 1) & LOW_BITS
        return (self._last >> 24) % many

    def shuffle(self, items: list[int]) -> list[int]:
        """Put `items` into a random order, in place, and return them."""
        for last in range(len(items) - 1, 0, -1):
            place = self.below(last + 1)
            items[last], items[place] = items[place], items[last]
        return items
