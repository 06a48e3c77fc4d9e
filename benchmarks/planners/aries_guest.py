"""Solve a hierarchical task with Aries, and print what came of it as one line of JSON.

A script of its own for an interpreter that has Aries (Bit-Monnot 2023, "Experimenting with Lifted Plan-Space Planning
as Scheduling: Aries in the 2023 IPC"; PyPI `up-aries`) with unified-planning, and nothing of ours: `python -I
aries_guest.py aries OPTIONS DOMAIN PROBLEM SECONDS`. Printed are `status`, `plan` (with its decomposition, as the
competition writes it), `read_seconds` and `search_seconds`.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import time
from typing import Any

STATUSES = {
    "SOLVED_OPTIMALLY": "solved",
    "SOLVED_SATISFICING": "solved",
    "UNSOLVABLE_PROVEN": "unsolvable",
    "UNSOLVABLE_INCOMPLETELY": "unknown",
    "TIMEOUT": "time",
    "MEMOUT": "out_of_memory",
    "UNSUPPORTED_PROBLEM": "unsupported",
}


def aries(domain_path: str, problem_path: str, seconds: float) -> dict[str, Any]:
    """Solve with Aries until its first plan, at most for `seconds` by the clock."""
    from unified_planning.environment import get_environment
    from unified_planning.exceptions import UPException
    from unified_planning.io import PDDLReader
    from up_aries import Aries

    began = time.perf_counter()
    get_environment().error_used_name = False
    try:
        problem = PDDLReader().parse_problem(domain_path, problem_path)
    except (UPException, NotImplementedError, SyntaxError, AssertionError) as error:
        return {"status": "unsupported", "detail": str(error)[:300]}
    lacking = problem.kind.features - Aries.supported_kind().features
    if lacking:
        return {"status": "unsupported", "detail": ", ".join(sorted(lacking))}
    read = time.perf_counter()
    with tempfile.TemporaryFile("w") as output:
        result = Aries().solve(problem, timeout=seconds, output_stream=output)
    return {
        "status": STATUSES.get(result.status.name, "error"),
        "plan": None if result.plan is None else plan_text(result.plan, problem),
        "read_seconds": read - began,
        "search_seconds": time.perf_counter() - read,
        "detail": "" if result.status.name in STATUSES else f"{result.status.name} {result.log_messages}"[:300],
    }


def plan_text(plan: Any, problem: Any) -> str:
    """Return a hierarchical plan as the competition writes it: steps, then each task with its method and subtasks."""
    steps = plan.action_plan.actions
    numbers = {id(step): number for number, step in enumerate(steps)}
    lines = ["==>", *(f"{number} {words(step.action.name, step)}" for number, step in enumerate(steps))]
    count = len(steps)
    waiting = [("root", problem.task_network, plan.decomposition)]
    while waiting:
        start, network, decomposition = waiting.pop()
        children = []
        for subtask in network.subtasks:
            done = decomposition.subtasks[subtask.identifier]
            number = numbers.get(id(done))
            if number is None:
                number, count = count, count + 1
                head = f"{number} {task_words(done)} -> {done.method.name}"
                waiting.append((head, done.method, done.decomposition))
            children.append(str(number))
        lines.append(" ".join([start, *children]))
    return "\n".join([*lines, "<=="]) + "\n"


def task_words(done: Any) -> str:
    """Return the task that a method was used for."""
    task = done.method.achieved_task
    values = {parameter.name: value for parameter, value in zip(done.method.parameters, done.parameters, strict=True)}
    return " ".join([task.task.name, *(str(values[parameter.name]) for parameter in task.parameters)])


def words(name: str, step: Any) -> str:
    """Return an action with its arguments."""
    return " ".join([name, *map(str, step.actual_parameters)])


def collect_server() -> None:
    """Wait for the solver's process, which ends with what owns it, so that its CPU time counts as this one's."""
    gc.collect()
    for _ in range(100):
        try:
            if os.waitpid(-1, os.WNOHANG) != (0, 0):
                return
        except ChildProcessError:
            return
        time.sleep(0.01)


def main() -> None:
    """Do what the command line says."""
    domain, problem, seconds = sys.argv[3:6]
    told = aries(domain, problem, float(seconds))
    collect_server()
    print(json.dumps(told))  # noqa: T201 - that is the answer


if __name__ == "__main__":
    main()
