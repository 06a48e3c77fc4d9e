"""An agent's tools: pages that block, services that are down, models that answer nonsense, and what all that costs.

Declared in Python. What it shows: `risk` and `outcomes`, alternatives that differ in what they cost and how reliable
they are, budgets on money and tokens, durations and deadlines, services of which nobody knows whether they are up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from domains.tools.declarations import domain
from domains.tools.instances import generate, problems

if TYPE_CHECKING:
    from planner.testing import Case

__all__ = ["cases", "domain", "generate", "problems"]


def cases() -> tuple[Case, ...]:
    """Return what is known about the small problems."""
    from domains.tools.known import CASES

    return CASES
