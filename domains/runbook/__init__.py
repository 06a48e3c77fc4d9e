"""An operations runbook: announce, drain, back up, migrate, deploy, verify, enable, roll back, close.

Declared in YAML (`domain.yaml`). What it shows: steps that must have run before (`after`), what cannot be undone
(`irreversible`), evidence that goes stale when a host changes, and rules that keep a service up at every moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from domains.runbook.instances import domain, generate, problems

if TYPE_CHECKING:
    from planner.testing import Case

__all__ = ["cases", "domain", "generate", "problems"]


def cases() -> tuple[Case, ...]:
    """Return what is known about the small problems."""
    from domains.runbook.known import CASES

    return CASES
