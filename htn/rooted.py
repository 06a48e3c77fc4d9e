"""One task above everything: the initial network as a method, so that planning begins with a single task."""

from __future__ import annotations

from htn.model import HtnDomain, HtnProblem, Method, Task
from planner.annotations import Final
from planner.model import Atom

ROOT: Final = "@root"
"""The name of the task above the initial network, and of its only method."""


def rooted(problem: HtnProblem) -> HtnDomain:
    """Return the domain of `problem` with a task `ROOT`, without parameters, that stands for the initial network."""
    domain = problem.domain
    root = Method(ROOT, Atom(ROOT), problem.parameters, network=problem.network)
    return HtnDomain(domain.classical, {**domain.tasks, ROOT: Task(ROOT)}, {**domain.methods, ROOT: root})
