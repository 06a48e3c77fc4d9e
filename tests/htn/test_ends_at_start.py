"""Tasks in time: what a declared step ends, it ends at its start, so that a bed is taken once at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from htn.model import HtnProblem
from planner import Status, load, solve, validate

TASKS = """
domain: beds
types: {patient: object, bed: object}
actions:
  admit:
    parameters: {x: patient, b: bed}
    requires: ["free(b)"]
    provides: ["in(x, b)", "not free(b)"]
    duration: 300
tasks:
  lodge: {parameters: {x: patient}}
methods:
  in-some-bed:
    parameters: {x: patient, b: bed}
    task: lodge(x)
    subtasks: ["admit(x, b)"]
---
problem: night
domain: beds
objects: {kim: patient, lee: patient, BEDS}
initial: [FREE]
tasks: {subtasks: ["lodge(kim)", "lodge(lee)"], ordered: false}
objective: makespan
"""


def read(folder: Path, *beds: str) -> HtnProblem:
    text = TASKS.replace("BEDS", ", ".join(f"{bed}: bed" for bed in beds))
    (folder / "beds.yaml").write_text(text.replace("FREE", ", ".join(f'"free({bed})"' for bed in beds)))
    problem = load(folder / "beds.yaml")
    assert isinstance(problem, HtnProblem)
    return problem


def test_two_beds_are_taken_at_once(tmp_path: Path) -> None:
    problem = read(tmp_path, "b1", "b2")
    plan = solve(problem).expect_plan()
    assert validate(problem, plan).valid
    assert plan.makespan == pytest.approx(300)


def test_one_bed_is_not_taken_twice(tmp_path: Path) -> None:
    result = solve(read(tmp_path, "b1"))
    assert result.plan is None
    assert result.status in {Status.UNSOLVABLE, Status.UNKNOWN}
