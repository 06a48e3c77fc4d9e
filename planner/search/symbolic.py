"""Bidirectional uniform-cost search over sets of states, kept as decision diagrams; see `planner.symbolic`."""

from __future__ import annotations

from planner.annotations import Final
from planner.search.run import Estimate, Run, Steps
from planner.search.space import Space

ROOM: Final = 1 << 26
"""Bytes that diagrams may take in this process; `planner.symbolic.beside` uses one of its own, and more."""


def symbolic(space: Space, _estimate: Estimate, run: Run) -> Steps:
    """Search for the cheapest plan; gives up where memory ends. Raises `InputError` where OxiDD is not installed."""
    from planner.symbolic.installed import check_there  # noqa: PLC0415 - only where it is asked for

    check_there()
    from planner.symbolic.pruned import symbolic_search  # noqa: PLC0415 - it needs the library

    return (yield from symbolic_search(space.task, run, ROOM))
