"""Other planners on tool libraries: each a process, of which only the time that it states itself counts."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.planners import Answer, Outcome, Planner
from benchmarks.planners.base import DOMAIN_FILE, PROBLEM_FILE
from benchmarks.process import Limits, run_limited
from benchmarks.tools.declare import declared
from benchmarks.tools.library import Library
from benchmarks.tools.measure import Measured
from planner.errors import ForethoughtError
from planner.pddl.export import Export, export
from planner.validate import validate

PEERS: Final = (
    "kairos=kairos:warm=1",
    "jupyddl-astar-lmcut=jupyddl:search=astar,heuristic=lmcut,warm=1",
    "fd-astar-lmcut",
)
"""What `--peers` stands for."""
MEMORY_GIB: Final = 8.0


def measure_others(library: Library, planners: list[Planner], time_limit: float) -> list[Measured]:
    """Return what each planner takes, from PDDL files to a plan; interpreter start and imports are not counted."""
    if not planners:
        return []
    exported = export(declared(library))
    return [_measure(library, planner, exported, Limits(time_limit, MEMORY_GIB)) for planner in planners]


def _measure(library: Library, planner: Planner, exported: Export, limits: Limits) -> Measured:
    with TemporaryDirectory(prefix="tools-") as name:
        folder = Path(name)
        (folder / DOMAIN_FILE).write_text(exported.domain, encoding="utf-8")
        (folder / PROBLEM_FILE).write_text(exported.problem, encoding="utf-8")
        job = planner.job(limits)
        run = run_limited(job.command, folder, limits, environment=job.environment)
        answer = planner.read(run, folder, frozenset({"costs"}))
    read, search = answer.translate_seconds, answer.search_seconds
    told = read is not None and search is not None
    return Measured(
        profile=library.profile,
        size=library.size,
        seed=library.seed,
        subjects=library.subjects,
        planner=planner.label,
        outcome=judged(answer, exported, library.optimum),
        optimum=library.optimum,
        cost=answer.cost,
        total=1000 * ((read or 0) + (search or 0) if told else run.cpu_seconds),
        compile=None if read is None else 1000 * read,
        search=None if search is None else 1000 * search,
    )


def judged(answer: Answer, exported: Export, optimum: int) -> str:
    """Return the outcome in words, after validating the plan and comparing its cost with the certified optimum."""
    if answer.plan is None:
        return "wrong: no plan" if answer.outcome is Outcome.UNSOLVABLE else answer.outcome.value
    try:
        plan = exported.read_plan(answer.plan)
    except ForethoughtError as error:
        return f"wrong: {error}"
    verdict = validate(exported.source, plan)
    if not verdict.valid:
        return f"wrong: {verdict.reason}"
    if plan.cost < optimum or (answer.outcome is Outcome.OPTIMAL and plan.cost != optimum):
        return f"wrong: {answer.outcome.value}, cost {plan.cost}, but the optimum is {optimum}"
    return answer.outcome.value
