"""Symbolic search on what h² leaves of a task: without its mutexes, search from the goal gets lost."""

from __future__ import annotations

from planner.annotations import Final
from planner.compiled import library
from planner.mutexes import pruned
from planner.search.elsewhere import elsewhere
from planner.search.run import Ending, Run, Steps
from planner.search.space import Space
from planner.symbolic.bidirectional import bidirectional
from planner.task import Task

PRUNING_SECONDS: Final = 5.0
"""Seconds after which no more mutexes are looked for."""


def symbolic_search(task: Task, run: Run, room: int) -> Steps:
    """Search for the cheapest plan for `task`, with diagrams of so many bytes at most."""
    entries = library.loaded()
    known = pruned(task, entries=entries, seconds=PRUNING_SECONDS)
    if not known.solvable:
        run.proved(run.limit)
        return Ending.EXHAUSTED
    space = Space(known.task)

    def search(own: Run) -> Steps:
        return bidirectional(space, own, room, known.excluded, entries or library.ENTRIES)

    try:
        return (yield from elsewhere(search, run, known.actions))
    except MemoryError:
        return Ending.INCOMPLETE
