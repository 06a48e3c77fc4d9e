"""A research-and-report assistant: it searches, reads, summarises, draws charts, writes reports and sends them.

Declared in Python. What it shows: items changed in place (`modifies`) that make approvals stale, quantified conditions,
data parameters that flow from step to step, and tags that tell an executor where to be careful.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from domains.assistant.declarations import domain
from domains.assistant.instances import generate, problems

if TYPE_CHECKING:
    from planner.testing import Case

__all__ = ["cases", "domain", "generate", "problems"]


def cases() -> tuple[Case, ...]:
    """Return what is known about the small problems."""
    from domains.assistant.known import CASES

    return CASES
