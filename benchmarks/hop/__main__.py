"""Solve a hierarchical task with GTPyhop, and print what came of it as one line of JSON.

A script for an interpreter that has GTPyhop (Nau et al. 2021, "GTPyhop: A Hierarchical Goal+Task Planner Implemented in
Python") and nothing of ours: `python -I __main__.py gtpyhop OPTIONS DOMAIN PROBLEM SECONDS`. OPTIONS is JSON;
`strategy` is GTPyhop's name of one. Printed are `status` ("solved", "unknown", "unsupported"), `plan`, `read_seconds`
and `search_seconds`.

GTPyhop reads no files: domains are Python functions. Those of three benchmarks are written here, with the tasks and
methods of the HDDL domain, whose names tell which it is; a method chooses the first objects that its precondition
allows.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

STRATEGY = "iterative_dfs_backtracking"


def written(domain: list[Any], problem: list[Any], state: Any) -> Any:
    """Return the domain in Python that has the tasks of `domain`, made for `problem`; None where there is none."""
    from benchmarks.hop.blocks import Blocks
    from benchmarks.hop.reading import parts
    from benchmarks.hop.snacks import Snacks
    from benchmarks.hop.towers import Towers

    kinds: dict[frozenset[str], Any] = {
        frozenset({"serve"}): Snacks,
        frozenset({"do_put_on", "do_on_table", "do_move", "do_clear"}): Blocks,
        frozenset({"shifttower", "selectdirection", "rotatetower", "exchange", "move_abstract"}): Towers,
    }
    kind = kinds.get(frozenset(part[1] for part in parts(domain, ":task")))
    return None if kind is None else kind(state, problem)


def solve(domain_path: str, problem_path: str, options: dict[str, str]) -> dict[str, Any]:
    """Solve with GTPyhop, which knows no limits."""
    import gtpyhop as peer

    from benchmarks.hop.reading import read, tasks

    began = time.perf_counter()
    domain, problem = read(domain_path), read(problem_path)
    state = peer.State("initial", steps=0)
    found = written(domain, problem, state)
    if found is None:
        return {"status": "unsupported", "detail": "no domain in Python is written for it"}
    peer.set_verbose_level(0)
    peer.set_recursive_planning(options.get("strategy", STRATEGY))
    peer.Domain("benchmark")
    peer.declare_actions(*found.actions)
    for name, methods in found.methods.items():
        peer.declare_task_methods(name, *methods.values())
    prepared = time.perf_counter()
    steps = peer.find_plan(state, tasks(problem))
    searched = time.perf_counter()
    solved = steps is not None and steps is not False
    return {
        "status": "solved" if solved else "unknown",
        "plan": plan_of(steps, found, state, domain, problem) if solved else None,
        "read_seconds": prepared - began,
        "search_seconds": searched - prepared,
    }


def plan_of(steps: Any, found: Any, state: Any, domain: list[Any], problem: list[Any]) -> str:
    """Return the plan with its decomposition; actions have the names of `domain`, with `-` where Python has `_`."""
    from benchmarks.hop.reading import parts, tasks
    from benchmarks.hop.trees import decomposed, plan_text

    names = {part[1].replace("-", "_"): part[1] for part in parts(domain, ":action")}
    roots = tasks(problem)
    return plan_text(steps, len(roots), decomposed(found, state, roots, steps), names)


def main() -> None:
    """Do what the command line says."""
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    options, domain, problem = json.loads(sys.argv[2]), *sys.argv[3:5]
    print(json.dumps(solve(domain, problem, options)))  # noqa: T201 - that is the answer


if __name__ == "__main__":
    main()
