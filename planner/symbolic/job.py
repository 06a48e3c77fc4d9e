"""What symbolic search begins with, wherever it runs."""

from __future__ import annotations

from planner.compiled.lists import Entries
from planner.compiled.packing import variables_of
from planner.mutexes import Pruned
from planner.symbolic.order import arranged
from planner.task import State, Task

Job = tuple[Task, list[State], list[list[int]]]
"""What is left of a task, its mutexes by fact, and orders of its variables: what symbolic search begins with."""


def job_for(known: Pruned, entries: Entries) -> Job:
    """Return what is needed to search what is `known` to be left of a task."""
    task = known.task
    mutexes = [known.excluded[fact] for fact in range(len(task.facts))]
    return task, mutexes, arranged(task, variables_of(task), entries)
