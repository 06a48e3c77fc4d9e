"""Look at one task: ground it, or evaluate LM-cut in its initial state.

`python -m benchmarks.task_probe grounding|lmcut DOMAIN PROBLEM [GIB]` prints the answer as a dict.
"""

from __future__ import annotations

import os
import sys
import time

from planner.errors import UnsupportedError
from planner.grounding.ground import ground
from planner.language.pddl import read
from planner.lightweight import Any
from planner.limits import LimitReached, Limits
from planner.plan import StoppedBy


def measure_grounding(domain: str, problem: str, limits: Limits) -> dict[str, Any]:
    """Ground the task, and return its sizes: facts, actions, variables and rules (ground axioms)."""
    task = ground(read(domain, problem), limits)
    sizes = {
        "facts": len(task.facts),
        "actions": len(task.actions),
        "variables": len(task.variables),
        "axioms": sum(len(layer.rules) for layer in task.axioms),
    }
    return {"outcome": "grounded", "sizes": sizes}


def evaluate_lmcut(domain: str, problem: str, limits: Limits) -> dict[str, Any]:
    """Return LM-cut's lower bound of the initial state; None where there is no plan."""
    from planner.heuristics.lmcut import LM_CUT
    from planner.search import Space
    from planner.task.ground_task import INFINITY

    task = ground(read(domain, problem), limits)
    space = Space(task)
    value = LM_CUT.build(task, space.costs, limits.check)(space.initial)
    return {"outcome": "unknown", "lower_bound": None if value >= INFINITY else value / task.resolution}


PROBES = {"grounding": measure_grounding, "lmcut": evaluate_lmcut}


def probe_task() -> dict[str, Any]:
    """Return the answer for the task of the command line, or the limit or the construct that stopped the probe."""
    probe, domain, problem, *memory = sys.argv[1:]
    answer: dict[str, Any] = {"detail": "", "sizes": {}}
    try:
        return answer | PROBES[probe](domain, problem, Limits(memory_limit=float(memory[0]) if memory else None))
    except LimitReached as limit:
        answer["outcome"] = "memory" if limit.stopped_by is StoppedBy.MEMORY else "time"
    except MemoryError:
        answer["outcome"] = "memory"
    except UnsupportedError as error:
        answer |= {"outcome": "unsupported", "detail": str(error)}
    return answer


if __name__ == "__main__":
    started = time.process_time()  # after the imports
    found = probe_task()
    if sys.argv[1] == "grounding":
        found["seconds"] = time.process_time() - started
    sys.stdout.write(f"{found!r}\n")
    sys.stdout.flush()
    os._exit(0)  # the task need not be taken apart object by object when the process ends anyway
