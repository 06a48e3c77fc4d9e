"""LM-cut's value of the initial state: `python -m benchmarks.initial_ours DOMAIN PROBLEM [GIB]` prints it as a dict."""

from __future__ import annotations

from benchmarks.attempt import attempted, end_with
from planner.grounding.ground import ground
from planner.heuristics.lmcut import LM_CUT
from planner.language.pddl import read
from planner.lightweight import Any
from planner.limits import Limits
from planner.search import Space
from planner.task.ground_task import INFINITY


def initial_value(domain: str, problem: str, memory_limit: float | None) -> dict[str, Any]:
    """Return LM-cut's lower bound on what plans cost; None where there is no plan."""
    limits = Limits(memory_limit=memory_limit)
    task = ground(read(domain, problem), limits)
    space = Space(task)
    value = LM_CUT.build(task, space.costs, limits.check)(space.initial)
    return {"lower_bound": None if value >= INFINITY else value / task.resolution}


if __name__ == "__main__":
    end_with(attempted("unknown", initial_value))
