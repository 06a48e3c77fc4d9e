"""Grounding by itself: `python -m benchmarks.ground_ours DOMAIN PROBLEM [GIB]` prints sizes and seconds as a dict."""

from __future__ import annotations

import os
import sys
import time

from planner.annotations import Any
from planner.budget import Budget, LimitReached
from planner.errors import UnsupportedError
from planner.grounding import ground
from planner.pddl import read
from planner.plan import StoppedBy


def main() -> None:
    """Ground the task of the command line and print what came of it; the clock starts after the imports."""
    started = time.process_time()
    memory = float(sys.argv[3]) if len(sys.argv) > 3 else None
    answer: dict[str, Any] = {"outcome": "grounded", "sizes": {}, "detail": ""}
    try:
        answer["sizes"] = ground_sizes(sys.argv[1], sys.argv[2], memory)
    except LimitReached as limit:
        answer["outcome"] = "memory" if limit.stopped_by is StoppedBy.MEMORY else "time"
    except MemoryError:
        answer["outcome"] = "memory"
    except UnsupportedError as error:
        answer |= {"outcome": "unsupported", "detail": str(error)}
    answer["seconds"] = time.process_time() - started
    sys.stdout.write(f"{answer!r}\n")


def ground_sizes(domain: str, problem: str, memory_limit: float | None) -> dict[str, int]:
    """Return the sizes of the ground task: facts, actions, variables and rules (ground axioms)."""
    task = ground(read(domain, problem), Budget(memory_limit=memory_limit))
    return {
        "facts": len(task.facts),
        "actions": len(task.actions),
        "variables": len(task.variables),
        "axioms": sum(len(layer.rules) for layer in task.axioms),
    }


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # the task need not be taken apart object by object when the process ends anyway
