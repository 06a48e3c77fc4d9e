"""Elevators: people board and leave wherever a lift stops, and some must never ride together.

Declared in PDDL (`domain.pddl`), with two problems in PDDL (`problems/`). What it shows: the ADL level: universal
conditional effects, quantified conditions, and derived predicates, recursive and negated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from domains.elevator.instances import domain, generate, problems

if TYPE_CHECKING:
    from planner.testing import Case

__all__ = ["cases", "domain", "generate", "problems"]


def cases() -> tuple[Case, ...]:
    """Return what is known about the small problems."""
    from domains.elevator.known import CASES

    return CASES
