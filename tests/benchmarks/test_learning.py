"""Runs that learn among hidden tools: the truth is hidden, all ways begin alike, and the table adds up."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.learning_runs import ORACLE, STAGES, TOOLS, WAYS, draw_setting, learning_table, measure_costs
from planner import expected_costs, solve


def test_the_truth_is_not_declared() -> None:
    drawn = draw_setting(3)
    assert drawn == draw_setting(3)
    assert len(drawn.prices) == len(STAGES) * TOOLS
    assert not drawn.declared.domain.actions["call"].cases
    assert len(drawn.truth.domain.actions["call"].cases) == len(drawn.prices)


def test_runs_learn_what_the_truth_is(tmp_path: Path) -> None:
    drawn, runs = draw_setting(4), 25
    costs = {way: measure_costs(drawn, way, runs, 4, tmp_path) for way in WAYS}
    least = solve(expected_costs(drawn.truth)).cost
    assert least is not None
    plain, *learning, oracle = costs.values()
    assert list(WAYS)[-1] == ORACLE
    assert {each[0] for each in learning[:2]} == {plain[0]}
    assert abs(sum(oracle) / runs - float(least)) < float(least) / 2
    for each in learning:
        assert sum(each[-10:]) < sum(plain[-10:])


def test_the_table_has_means_and_their_errors() -> None:
    table = learning_table({"a": [[4, 2], [6, 2]], "b": [[1, 1], [1, 3]]}, (1, 2, 100))
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    assert lines[0] == ["a run that …", "run 1", "run 2", "mean of 2"]
    assert lines[2] == ["a", "5.00 ± 1.00", "2.00 ± 0.00", "3.50 ± 0.50"]
    assert lines[3] == ["b", "1.00 ± 0.00", "2.00 ± 1.00", "1.50 ± 0.50"]


def test_the_command_prints_the_table() -> None:
    done = CliRunner().invoke(app, ["learning", "--seeds", "1", "--runs", "2"])
    assert done.exit_code == 0
    assert [line.split("|")[1].strip() for line in done.stdout.splitlines()[2:]] == list(WAYS)
