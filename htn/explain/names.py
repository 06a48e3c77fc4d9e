"""What tasks and methods are called in explanations: those that splitting made are none that anybody wrote."""

from __future__ import annotations

from htn.model import Method
from htn.rooted import ROOT
from htn.split import PART
from planner.model import Atom


def shown(task: Atom) -> str:
    """Return what `task` is called; a part is called after the subtask whose objects it chooses."""
    if task.predicate == ROOT:
        return "the tasks of the problem"
    if not task.predicate.startswith(PART):
        return str(task)
    method, _, place = task.predicate.removeprefix(PART).rpartition(" ")
    number = int(place) + 1
    known = f" for {', '.join(task.args)}" if task.args else ""
    return f"task {number} of the problem{known}" if method == ROOT else f"subtask {number} of {method}{known}"


def title(method: Method) -> str:
    """Return what `method` is called; that of a part only chooses objects."""
    return "the choice" if method.name.startswith(PART) else method.name


def label_of(method: Method, binding: dict[str, str]) -> str:
    """Return `method` for certain objects as people write it."""
    return f"{title(method)}({', '.join(binding[each.name] for each in method.parameters)})"
