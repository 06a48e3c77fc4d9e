"""Couriers: robots carry parcels on trays from room to room, along corridors of different lengths.

Declared in Python, with predicates as values. What it shows: costs from a static function, and items with one value at
a time, in a domain that is plain STRIPS for other planners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from domains.courier.declarations import domain
from domains.courier.instances import generate, problems

if TYPE_CHECKING:
    from planner.testing import Case

__all__ = ["cases", "domain", "generate", "problems"]


def cases() -> tuple[Case, ...]:
    """Return what is known about the small problems."""
    from domains.courier.known import CASES

    return CASES
