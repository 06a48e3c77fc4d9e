"""LM-cut's value of the initial state: `python -m benchmarks.initial_ours DOMAIN PROBLEM [GIB]` prints it as a dict."""

from __future__ import annotations

import os
import sys

from planner.annotations import Any
from planner.budget import Budget, LimitReached
from planner.errors import UnsupportedError
from planner.grounding import ground
from planner.heuristics.lmcut import LM_CUT
from planner.pddl import read
from planner.search import Space
from planner.task import INFINITY


def main() -> None:
    """Estimate the task of the command line and print what came of it."""
    memory = float(sys.argv[3]) if len(sys.argv) > 3 else None
    answer: dict[str, Any] = {"outcome": "unknown", "lower_bound": None, "detail": ""}
    try:
        answer["lower_bound"] = initial_value(sys.argv[1], sys.argv[2], memory)
    except (LimitReached, MemoryError):
        answer["outcome"] = "memory"
    except UnsupportedError as error:
        answer |= {"outcome": "unsupported", "detail": str(error)}
    sys.stdout.write(f"{answer!r}\n")


def initial_value(domain: str, problem: str, memory_limit: float | None) -> float | None:
    """Return LM-cut's lower bound on what plans cost; None where there is no plan."""
    budget = Budget(memory_limit=memory_limit)
    task = ground(read(domain, problem), budget)
    space = Space(task)
    value = LM_CUT.build(task, space.costs, budget.check)(space.initial)
    return None if value >= INFINITY else value / task.resolution


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # the task need not be taken apart object by object when the process ends anyway
