"""The command that tries random hierarchical tasks, and that it finds answers that are wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.hierarchical_trials import draw, find_truth, judge, main
from planner.plan import Status
from planner.solve import solve


def test_a_few_tasks_are_as_enumerated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tasks", "6", "--seed", "30", "--time-limit", "20"]) == 0
    table = capsys.readouterr().out
    assert "| all | 6 |" in table
    assert "| wrong | 0 |" in table


def test_wrong_answers_are_seen() -> None:
    problem = next(each for each in map(draw, range(0, 90, 3)) if (find_truth(each)[0] or 0) > 0)
    result, (best, enumerated) = solve(problem, time_limit=20), find_truth(problem)
    assert enumerated
    assert best is not None
    assert (result.status, judge(problem, result, best, enumerated=True).wrong) == (Status.OPTIMAL, "")
    assert "is not the best" in judge(problem, result, best - 1, enumerated=True).wrong
    assert "none as cheap" in judge(problem, result, best + 1, enumerated=True).wrong
    assert "none as cheap" in judge(problem, result, None, enumerated=True).wrong
    assert result.plan is not None
    shorter = replace(result, plan=replace(result.plan, steps=result.plan.steps[1:]))
    assert "invalid" in judge(problem, shorter, best, enumerated=True).wrong
    impossible = replace(result, status=Status.UNSOLVABLE, plan=None)
    assert judge(problem, impossible, best, enumerated=True).wrong == "there is a plan"
    modest = replace(result, status=Status.SOLVED, lower_bound=best + 1)
    assert "above the best" in judge(problem, modest, best, enumerated=True).wrong
