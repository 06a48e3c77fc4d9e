"""Plans with numbers, and parts of them, before the plan validator of unified-planning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.random_numeric import ALL, random_numeric_task
from benchmarks.validators.plan_checks import check_by_unified_planning
from planner.errors import ForethoughtError
from planner.language.pddl import parse_domain, parse_problem
from planner.plan import Step
from planner.solve import solve
from planner.validation.validate import validate

pytest.importorskip("unified_planning")
BLOCK = 20
"""Random problems of one test."""


def write_plan(steps: tuple[Step, ...]) -> str:
    return "".join(f"({' '.join([step.action, *step.arguments])})\n" for step in steps)


@pytest.mark.parametrize("block", range(6))
def test_unified_planning_finds_the_same_plans_valid(block: int, tmp_path: Path) -> None:
    files, compared = (tmp_path / "domain.pddl", tmp_path / "problem.pddl"), 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        task = random_numeric_task(seed, replace(ALL, undefined=False, scaling=False))
        for file, text in zip(files, (task.domain, task.problem), strict=True):
            file.write_text(text, encoding="utf-8")
        try:
            problem = parse_problem(task.problem, parse_domain(task.domain))
            result = solve(problem, mode="first", time_limit=2)
        except ForethoughtError:
            continue
        if result.plan is None:
            continue
        steps = result.plan.steps
        for part in {steps, steps[1:], steps[:-1], steps[::-1]}:
            verdict = check_by_unified_planning(*files, write_plan(part))
            if not verdict.said.startswith("unsupported"):
                assert verdict.said.startswith("invalid") is not validate(problem, part).valid, f"{seed}: {verdict}"
                compared += 1
    assert compared > BLOCK
