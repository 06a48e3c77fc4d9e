"""Grounding by itself: `python -m benchmarks.ground_ours DOMAIN PROBLEM [GIB]` prints sizes and seconds as a dict."""

from __future__ import annotations

import time

from benchmarks.attempt import attempted, end_with
from planner.grounding.ground import ground
from planner.language.pddl import read
from planner.lightweight import Any
from planner.limits import Limits


def ground_sizes(domain: str, problem: str, memory_limit: float | None) -> dict[str, Any]:
    """Return the sizes of the ground task: facts, actions, variables and rules (ground axioms)."""
    task = ground(read(domain, problem), Limits(memory_limit=memory_limit))
    sizes = {
        "facts": len(task.facts),
        "actions": len(task.actions),
        "variables": len(task.variables),
        "axioms": sum(len(layer.rules) for layer in task.axioms),
    }
    return {"sizes": sizes}


if __name__ == "__main__":
    started = time.process_time()  # after the imports
    end_with({"sizes": {}} | attempted("grounded", ground_sizes) | {"seconds": time.process_time() - started})
