"""Probabilities of which some observations and a prior opinion are known: what is expected, and how sure that is."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Literal

HALF: Final = 0.5
"""What counts against what has happened each time."""

Explore = Literal["optimistic", "sample"]
"""What is tried that looks worse by its mean: what may be good with some confidence, or what a draw says is good."""


@dataclass(frozen=True, slots=True)
class Chance:
    """A probability that has a Beta distribution: so many observations speak for and `against` it, prior included."""

    of: float
    against: float

    @classmethod
    def after(cls, happened: float, times: float, prior: float, weight: float) -> Chance:
        """Return the chance of what `happened` in so many `times`; a `prior` counts as `weight` observations."""
        return cls(weight * prior + happened, weight * (1 - prior) + times - happened)

    @property
    def count(self) -> float:
        """The observations, with those that the prior counts for."""
        return self.of + self.against

    @property
    def mean(self) -> float:
        """The expected probability; 0 where nothing is known."""
        return self.of / self.count if self.count else 0.0

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return between what the probability lies with this `confidence` (Wilson 1927)."""
        if not self.count:
            return 0.0, 1.0
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        scale = 1 + z * z / self.count
        middle = (self.mean + z * z / (2 * self.count)) / scale
        spread = self.mean * (1 - self.mean) / self.count + z * z / (4 * self.count * self.count)
        reach = z / scale * spread**0.5
        return max(middle - reach, 0.0), min(middle + reach, 1.0)

    def drawn(self, dice: random.Random) -> float:
        """Return a probability drawn from what it may be; what nothing speaks for is impossible (Thompson 1933)."""
        return dice.betavariate(self.of, self.against or HALF) if self.of else 0.0

    def thought(self, explore: Explore | None, confidence: float, dice: random.Random) -> float:
        """Return the probability to plan with."""
        match explore:
            case "optimistic":
                return self.interval(confidence)[0] if self.of else 0.0
            case "sample":
                return self.drawn(dice)
        return self.mean


def shares(counts: Sequence[float], explore: Explore | None, dice: random.Random) -> list[float]:
    """Return the probabilities of what was counted so often, prior included: they have a Dirichlet distribution."""
    found = [dice.gammavariate(each, 1) for each in counts] if explore == "sample" else list(counts)
    whole = sum(found)
    return [each / whole for each in found]
