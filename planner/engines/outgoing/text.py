"""Problems that unified-planning has no words for, handed to engines that read PDDL as the text that they would read.

unified-planning knows no derived predicates, but the planners behind some of its engines do.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from planner.budget import Budget
from planner.engines.jobs import Answer, Outcome
from planner.model import Problem
from planner.pddl.export import export
from planner.plan import Step

TAKE_AXIOMS: Final = frozenset({"fast-downward", "symk", "symk-opt"})
"""Engines whose planners take derived predicates, with the search that the engine asks of them."""


def solve_text(problem: Problem, engine: Any, budget: Budget) -> Answer:
    """Return what `engine` makes of the PDDL text of `problem`, written into the working directory.

    Raises `UnsupportedError` for what PDDL cannot say.
    """
    from unified_planning.engines.pddl_planner import run_command  # noqa: PLC0415 - slow to load

    exported = export(problem, "adl", budget=budget)
    Path("domain.pddl").write_text(exported.domain, encoding="utf-8")
    Path("problem.pddl").write_text(exported.problem, encoding="utf-8")
    command = engine._get_cmd("domain.pddl", "problem.pddl", "plan")  # noqa: SLF001 - what engines of this kind define
    late, printed, code = run_command(engine, command, timeout=budget.remaining)
    steps: tuple[Step, ...] | None = None
    if Path("plan").exists():
        steps = exported.read_plan(Path("plan").read_text(encoding="utf-8")).steps
    judged = SimpleNamespace(quality_metrics=[None])
    status = engine._result_status(judged, steps, code).name  # noqa: SLF001 - as above
    return Answer(
        Outcome.FINISHED,
        status="TIMEOUT" if late and code else status,
        steps=steps,
        sees_costs=True,
        reason="".join(printed[1]).strip(),
    )
