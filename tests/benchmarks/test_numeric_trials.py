"""The command that tries random tasks with numbers, and that it finds answers that are wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.numeric_brute import Best
from benchmarks.numeric_trials import Truth, find_truth, judge, main
from benchmarks.random_numeric import random_numeric_task
from planner.language.pddl import parse_domain, parse_problem
from planner.plan import Status
from planner.solve import solve


def test_a_few_tasks_are_as_enumerated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tasks", "8", "--seed", "20", "--time-limit", "20"]) == 0
    table = capsys.readouterr().out
    assert "| all | 8 |" in table
    assert "| wrong | 0 |" in table


def test_wrong_answers_are_seen() -> None:
    task = random_numeric_task(0)
    result = solve(parse_problem(task.problem, parse_domain(task.domain)), time_limit=20)
    truth = find_truth(task)
    assert (result.status, judge(result, task, truth).wrong) == (Status.OPTIMAL, "")
    assert truth.best is not None
    better = Truth(Best(truth.best.value - 1, ()))
    assert "is not the best" in judge(result, task, better).wrong
    assert result.plan is not None
    assert "invalid" in judge(replace(result, plan=replace(result.plan, steps=())), task, truth).wrong
    assert judge(replace(result, status=Status.UNSOLVABLE, plan=None), task, truth).wrong == "there is a plan"
