"""Symbolic search on what h² leaves of a task: without its mutexes, search from the goal gets lost."""

from __future__ import annotations

from planner.compiled import library
from planner.mutexes import pruned
from planner.search.elsewhere import elsewhere
from planner.search.run import Ending, Run, Steps
from planner.search.space import Space
from planner.symbolic.bidirectional import bidirectional
from planner.symbolic.job import job_for
from planner.task import Task


def symbolic_search(task: Task, run: Run, room: int) -> Steps:
    """Search for the cheapest plan for `task`, with diagrams of so many bytes at most."""
    entries = library.loaded()
    known = pruned(task, entries=entries)
    if not known.solvable:
        run.proved(run.limit)
        return Ending.EXHAUSTED
    left, mutexes, orders = job_for(known, entries or library.ENTRIES)

    def search(own: Run) -> Steps:
        return bidirectional(Space(left), own, room, mutexes, orders)

    try:
        return (yield from elsewhere(search, run, known.actions))
    except MemoryError:
        return Ending.INCOMPLETE
