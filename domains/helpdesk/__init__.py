"""A help desk: it reads requests, opens tickets, assigns them, repairs, makes accounts, answers, and closes.

Declared in Python. What it shows: actions that create objects (`creates`), whose names are known only when they exist;
steps that need such an object, or make do with one that is there; and data that flows with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from domains.helpdesk.declarations import domain
from domains.helpdesk.instances import generate, problems

if TYPE_CHECKING:
    from planner.testing import Case

__all__ = ["cases", "domain", "generate", "problems"]


def cases() -> tuple[Case, ...]:
    """Return what is known about the small problems."""
    from domains.helpdesk.known import CASES

    return CASES
