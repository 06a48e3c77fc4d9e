"""pyperplan (Alkhazraji and others, 2020) as an engine by itself: it reads our STRIPS, and ignores costs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from planner.errors import UnsupportedError
from planner.language.pddl.export import export
from planner.lightweight import Final
from planner.limits import Limits
from planner.model import Problem
from planner.problem_kinds import AnyProblem
from planner.subprocesses import module_command
from planner.unified_planning.jobs import Answer, EngineOutcome

PYPERPLAN: Final = {"pyperplan": ("gbf", "hff"), "pyperplan-opt": ("astar", "lmcut")}
"""The search and the heuristic of each engine."""
UNSOLVED: Final = "No solution could be found"
"""What pyperplan prints when its search ends without a plan."""


def ask_pyperplan(problem: AnyProblem, engine: str, limits: Limits) -> Answer:
    """Write `problem` as STRIPS into the working directory, run pyperplan there, and return its answer.

    Raises `UnsupportedError` for what STRIPS cannot say.
    """
    if not isinstance(problem, Problem):
        raise UnsupportedError("hierarchical task networks")
    exported = export(problem, "strips", costs=False, limits=limits)
    Path("domain.pddl").write_text(exported.domain, encoding="utf-8")
    Path("problem.pddl").write_text(exported.problem, encoding="utf-8")
    search, heuristic = PYPERPLAN[engine]
    command = module_command("pyperplan", "-s", search, "-H", heuristic, "domain.pddl", "problem.pddl")
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limits.remaining)
    except subprocess.TimeoutExpired:
        return Answer(EngineOutcome.OUT_OF_TIME)
    found = Path("problem.pddl.soln")
    printed = run.stdout + run.stderr
    if found.exists():
        steps = exported.read_plan(found.read_text(encoding="utf-8")).steps
        proves = search == "astar"
        status = "SOLVED_OPTIMALLY" if proves else "SOLVED_SATISFICING"
        return Answer(EngineOutcome.FINISHED, status=status, steps=steps, proves=proves)
    if UNSOLVED in printed:
        return Answer(EngineOutcome.FINISHED, status="UNSOLVABLE_INCOMPLETELY")
    return Answer(EngineOutcome.CRASHED, reason=printed.strip()[-500:] or f"exit code {run.returncode}")
