"""What steps use is told of plans in time, too."""

from __future__ import annotations

import pytest

from planner import Problem, read_documents, resources, solve
from planner.cli import main

TEXT = """\
domain: d
actions:
  slow: {provides: [made], duration: "6..7", uses: {gas: 1}, at_start: {provides: [hot]}}
  fast: {provides: [made], duration: 2, uses: {gas: 5}, holds: {worker: 1}}
---
problem: p
goal: [made]
budgets: {gas: BUDGET}
capacity: {worker: 1}
objective: makespan
"""


def read(budget: int) -> Problem:
    (problem,) = read_documents(TEXT.replace("BUDGET", str(budget))).problems
    assert isinstance(problem, Problem)
    return problem


def test_the_use_of_a_plan_in_time_is_the_sum_over_its_steps() -> None:
    plan = solve(read(3), mode="first", time_limit=60).expect_plan()
    assert {step.action for step in plan.steps} == {"slow"}
    assert resources(plan) == {"gas": len(plan.steps)}


def test_the_command_tells_the_use_of_a_plan_in_time(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path_factory.mktemp("given") / "d.yaml"
    file.write_text(TEXT.replace("BUDGET", "5"))
    with pytest.raises(SystemExit) as ended:
        main(["solve", str(file), "--time-limit", "60"])
    assert ended.value.code == 0
    assert "5 of 5 gas" in capsys.readouterr().err
