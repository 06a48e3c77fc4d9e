"""The benchmark of parallel tool calls: plans, runs and proved optima of drawn calls, in virtual time."""

from __future__ import annotations

import random

import pytest

from benchmarks.parallel_calls import CAPACITIES, Call, draw_calls, main, run_greedily, try_seed
from executor.testing import VirtualClock, run_virtual
from planner import Status, validate


def test_calls_come_after_their_needs() -> None:
    calls = draw_calls(random.Random(1), 30)
    names = [each.name for each in calls]
    assert all(names.index(need) < place for place, each in enumerate(calls) for need in each.needs)
    assert {len(each.needs) for each in calls} >= {0, 1, 2}
    assert {name for each in calls for name in each.holds} == set(CAPACITIES)


def test_plans_of_few_calls_are_optimal_and_run_as_planned() -> None:
    row = try_seed(3, 6, 5.0, clock=VirtualClock(), run=run_virtual)
    assert row.planned.status is Status.OPTIMAL
    plan = row.planned.expect_plan()
    assert validate(plan.problem, plan).valid
    assert row.least == pytest.approx(row.makespan)
    assert row.ran == pytest.approx(row.makespan, abs=0.005)
    assert row.sequential >= row.makespan
    assert not row.find_error()


def test_the_greedy_run_takes_the_first_ready_calls() -> None:
    held = [Call(f"call{number}", 1.0, (), ("searches",)) for number in range(3)]
    after = Call("last", 0.5, ("call0",), ())
    assert run_virtual(run_greedily([*held, after])) == pytest.approx(2.0)
    assert run_virtual(run_greedily([held[0], after])) == pytest.approx(1.5)


def test_the_table_ends_with_mean_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--seeds", "1", "--calls", "4", "--time-limit", "5"]
    assert main(given, clock=VirtualClock(), run=run_virtual) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| 0 |")
    assert "OPTIMAL" in lines[2]
    assert lines[-1].startswith("mean ratio to the proved optimum (1 of 1): sequential ")
