"""A secretary: finds times and rooms for meetings, moves what is in the way, reminds people, and keeps the settings.

Declared in YAML (`domain.yaml`). What it shows: quantified conditions and effects over the people of a meeting, items
with one value at a time (the time of a meeting, the mode of a phone), and what goes stale when a meeting moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from domains.secretary.instances import domain, generate, problems

if TYPE_CHECKING:
    from planner.testing import Case

__all__ = ["cases", "domain", "generate", "problems"]


def cases() -> tuple[Case, ...]:
    """Return what is known about the small problems."""
    from domains.secretary.known import CASES

    return CASES
