"""Incidents: find the cause along dependencies, repair it, escalate, tell the customers, learn from it.

Tasks and methods declared in YAML (`domain.yaml`). What it shows: alternatives with preconditions, escalation up a
line of managers and diagnosis down a line of dependencies as recursion, and subtasks in a partial order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from domains.incident.instances import domain, generate, problems

if TYPE_CHECKING:
    from htn.testing import HtnCase

__all__ = ["cases", "domain", "generate", "problems"]


def cases() -> tuple[HtnCase, ...]:
    """Return what is known about the small problems."""
    from domains.incident.known import CASES

    return CASES
