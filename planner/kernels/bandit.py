"""Bandits: logarithms and random numbers as both tiers make them; the twin is `planner.search.bandit`."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from planner.kernels.kernel import Reals, kernel


class Bandit(NamedTuple):
    """What choices go by: the `logarithm` of small numbers from 0 on, and `measure`: that of 2, and the exploration."""

    logarithm: Reals
    measure: Reals


@kernel
def logarithm(bandit: Bandit, number: int) -> float:
    """Return about the natural logarithm of a positive number."""
    halvings = 0
    while number >= len(bandit.logarithm):
        number >>= 1
        halvings += 1
    return bandit.logarithm[number] + float(halvings) * bandit.measure[0]


@kernel
def curiosity(bandit: Bandit, wide: float, pulls: int) -> float:
    """Return how much is to be taken from the value of an arm, where `wide` is the logarithm of all pulls."""
    return bandit.measure[1] * sqrt(wide / float(pulls))
