"""A household robot: fetch, wash up, lay the table, and tidy until everything is in its place.

Tasks and methods in HDDL (`domain.hddl`). What it shows: recursion over rooms and over things, methods that are empty,
and one that applies only where nothing is left to do (`forall`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from domains.household.instances import domain, generate, problems

if TYPE_CHECKING:
    from htn.testing import HtnCase

__all__ = ["cases", "domain", "generate", "problems"]


def cases() -> tuple[HtnCase, ...]:
    """Return what is known about the small problems."""
    from domains.household.known import CASES

    return CASES
