"""Constraints on the way under incomplete knowledge."""

from __future__ import annotations

from planner.model import Constraint, ConstraintKind, Done, Happening
from planner.records import replace
from planner.unknown.readings import Names, possibly, read, surely


def constrained(constraint: Constraint, possible: Names, *, surely_kept: bool) -> Constraint:
    """Return a constraint that is kept, as far as is known, only where `constraint` surely is, or where it may be.

    To be surely kept, what must happen must surely do so, and what must not, must not even possibly.
    """
    kind = constraint.kind
    wanted = kind in (ConstraintKind.ALWAYS, ConstraintKind.SOMETIME, ConstraintKind.BEFORE)
    other = None if constraint.other is None else _happening(constraint.other, possible, helps=not surely_kept)
    return replace(constraint, what=_happening(constraint.what, possible, helps=wanted is surely_kept), other=other)


def _happening(happening: Happening, possible: Names, *, helps: bool) -> Happening:
    if isinstance(happening, Done):
        return happening
    return read(happening, surely(possible) if helps else possibly(possible))
