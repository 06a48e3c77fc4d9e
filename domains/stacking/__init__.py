"""Stacking: boxes on a few places, of which only the topmost can be moved, and not every box bears every other.

Declared in PDDL (`domain.pddl`), with two problems in PDDL (`problems/`). What it shows: a puzzle whose difficulty
grows quickly, in STRIPS with types, inequality and costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from domains.stacking.instances import domain, generate, problems

if TYPE_CHECKING:
    from planner.testing import Case

__all__ = ["cases", "domain", "generate", "problems"]


def cases() -> tuple[Case, ...]:
    """Return what is known about the small problems."""
    from domains.stacking.known import CASES

    return CASES
