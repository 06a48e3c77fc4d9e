"""Small runs of the trials in time: what is proved agrees with the enumeration of schedules."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from benchmarks.temporal_trials import Trial, Truth, draw, find_truth, judge, main, try_task, write_table
from planner.language.pddl import parse_domain, parse_problem
from planner.plan import StepTime
from planner.solve import solve


@pytest.mark.parametrize("block", range(6))
def test_solve_agrees_with_the_enumeration(block: int) -> None:
    trials = [try_task(draw(seed), 2, validate=False) for seed in range(6000 + 6 * block, 6006 + 6 * block)]
    assert not [trial.wrong for trial in trials if trial.wrong]
    assert sum("proved" in trial.row for trial in trials) > 2


def test_wrong_answers_are_told() -> None:
    task = next(task for seed in range(50) if (find_truth(task := draw(seed)).makespan or 0) > 0)
    domain, text = task.write()
    truth, result = find_truth(task), solve(parse_problem(text, parse_domain(domain)), mode="optimal", time_limit=5)
    assert truth.makespan is not None
    assert result.plan is not None
    assert judge(result, task, truth) == Trial("proved optimal")
    assert "not the least" in judge(result, task, Truth(truth.makespan / 2)).wrong
    assert "less than the least" in judge(result, task, Truth(truth.makespan * 2)).wrong
    assert "finds no plan" in judge(result, task, Truth()).wrong
    unsound = replace(result, lower_bound=truth.makespan + 1)
    assert "bound" in judge(unsound, task, truth).wrong
    late = tuple([StepTime(each.start, each.duration + Decimal(100)) for each in result.plan.times])
    broken = replace(result, plan=replace(result.plan, times=late))
    assert "the plan is invalid" in judge(broken, task, Truth(Fraction(1))).wrong


def test_the_table_counts_rows() -> None:
    table = write_table([Trial("proved optimal", checked="valid"), Trial("solved", "the plan is invalid")])
    assert "| proved optimal | 1 |" in table
    assert "| plans that are valid for VAL | 1 |" in table
    assert table.endswith("| wrong | 1 |")


def test_the_command_ends_well(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORETHOUGHT_VAL", raising=False)
    assert main(["--tasks", "2", "--time-limit", "2"]) == 0
    assert "| all | 2 |" in capsys.readouterr().out
