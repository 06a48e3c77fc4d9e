"""Business trips: reach a city leg by leg, by train or by air, sleep somewhere, meet, and come home.

Tasks and methods declared in Python. What it shows: alternatives, recursion over the legs of a journey, goals besides
tasks, costs from static functions, and travellers whose tasks interleave while they compete for rooms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from domains.travel.declarations import domain
from domains.travel.instances import generate, problems

if TYPE_CHECKING:
    from htn.testing import HtnCase

__all__ = ["cases", "domain", "generate", "problems"]


def cases() -> tuple[HtnCase, ...]:
    """Return what is known about the small problems."""
    from domains.travel.known import CASES

    return CASES
