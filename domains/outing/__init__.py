"""A day out in a city: more sights than there is time and money for, and people with wishes.

Declared in YAML. What it shows: soft goals and wishes about the way, each worth something, constraints that hold
whatever they cost, a budget on money, and a deadline on plans whose steps take time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from domains.outing.instances import domain, generate, problems

if TYPE_CHECKING:
    from planner.testing import Case

__all__ = ["cases", "domain", "generate", "problems"]


def cases() -> tuple[Case, ...]:
    """Return what is known about the small problems."""
    from domains.outing.known import CASES

    return CASES
