"""What tasks and methods are called in explanations: those that splitting made are none that anybody wrote."""

from __future__ import annotations

from htn.model import Method
from htn.rooted import ROOT
from htn.split import PART
from planner.annotations import Final
from planner.model import Atom

INITIAL_TASKS: Final = "the tasks of the problem"
"""What the task above the initial network is called."""


def shown(task: Atom) -> str:
    """Return what `task` is called; a part is called after the subtask whose objects it chooses."""
    if task.predicate == ROOT:
        return INITIAL_TASKS
    if not task.predicate.startswith(PART):
        return str(task)
    method, _, place = task.predicate.removeprefix(PART).rpartition(" ")
    number = int(place) + 1
    known = f" for {', '.join(task.args)}" if task.args else ""
    return f"task {number} of the problem{known}" if method == ROOT else f"subtask {number} of {method}{known}"


def title(method: Method) -> str:
    """Return what `method` is called; that of a part only chooses objects, and nobody gave the initial one a name."""
    if method.name == ROOT:
        return "the initial task network"
    return "the choice" if method.name.startswith(PART) else method.name


def label_of(method: Method, binding: dict[str, str]) -> str:
    """Return `method` for certain objects as people write it."""
    if method.name == ROOT:
        known = ", ".join(binding[each.name] for each in method.parameters)
        return f"{title(method)} for {known}" if known else title(method)
    return f"{title(method)}({', '.join(binding[each.name] for each in method.parameters)})"
