"""Tables of what is proved, and what parts of the automatic choice are left out."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.leaving_out import PARTS
from benchmarks.planners import Outcome, planner_of
from benchmarks.process import Limits
from benchmarks.proofs import (
    Sides,
    tabulate_agreement,
    tabulate_coverage,
    tabulate_gaps,
    tabulate_missed,
    tabulate_parts,
)
from benchmarks.records import Record
from benchmarks.report import columns_of

O, S, T, U, X = Outcome.OPTIMAL, Outcome.SOLVED, Outcome.TIME, Outcome.UNSOLVABLE, Outcome.UNSUPPORTED  # noqa: E741
DOMAIN = """(define (domain d) (:requirements :strips) (:predicates (a) (b))
  (:action go :parameters () :precondition (a) :effect (and (b) (not (a)))))"""
PROBLEM = "(define (problem p) (:domain d) (:init (a)) (:goal (b)))"


def record(task: str, planner: str, outcome: Outcome, seconds: float = 1.0, **more: object) -> Record:
    return Record("s", "d", task, planner, f"{planner}:", outcome, cpu_seconds=seconds, **more)  # type: ignore[arg-type]


RECORDS = [
    record("1", "ours", O, 1.0, cost=4, lower_bound=4),
    record("1", "fd", O, 2.0, cost=4, lower_bound=4),
    record("1", "symk", O, 4.0, cost=4, lower_bound=4),
    record("2", "ours", T, 30.0, lower_bound=6, features=("axioms",)),
    record("2", "fd", X, 0.1),
    record("2", "symk", O, 8.0, cost=8, lower_bound=8),
    record("3", "ours", U, 2.0),
    record("3", "fd", T, 30.0),
    record("3", "symk", T, 30.0),
    record("1", "initial", Outcome.UNKNOWN, lower_bound=2),
    record("2", "initial", Outcome.UNKNOWN, lower_bound=2),
    record("3", "initial", Outcome.UNKNOWN, lower_bound=2),
]
COLUMNS = columns_of(RECORDS)
SIDES = Sides("ours", COLUMNS["ours"], {"fd": COLUMNS["fd"], "symk": COLUMNS["symk"]})


def test_coverage_is_counted_for_all_and_by_feature() -> None:
    assert list(tabulate_coverage(SIDES).rows) == [
        ("all", 3, 2, 1, 2, 2, "50.0%", "0.50", 1),
        ("supported by all", 2, 2, 1, 1, 1, "100.0%", "0.50", 1),
        ("with axioms", 1, 0, 0, 1, 1, "0.0%", "none", 0),
        ("with none of these", 2, 2, 1, 1, 1, "100.0%", "0.50", 1),
    ]


def test_who_proves_the_same_agrees() -> None:
    assert list(tabulate_agreement(SIDES).rows) == [("with the same cost", 1)]
    wrong = {task: replace(one, cost=5) for task, one in SIDES.ours.items()}
    rows = list(tabulate_agreement(replace(SIDES, ours=wrong)).rows)
    assert rows[1:] == [("contradiction: 1", "both proved, costs differ")] * 2


def test_what_only_peers_prove_is_listed() -> None:
    assert list(tabulate_missed(SIDES).rows) == [("2", T, "-", "8.0 s")]


def test_gaps_are_measured_by_the_best_known_plan() -> None:
    rows = list(tabulate_gaps(SIDES, {"initial": COLUMNS["initial"]}, RECORDS).rows)
    assert rows == [("ours", 1, "25.0%"), ("initial", 1, "75.0%")]


def test_configurations_are_compared_with_the_first() -> None:
    less = {task: replace(one, cpu_seconds=4.0) for task, one in SIDES.ours.items() if one.outcome is not U}
    rows = list(tabulate_parts("ours", SIDES.ours, {"less": less}).rows)
    assert rows == [("less", 2, 1, 0, 0, "4.00")]


def test_the_command_prints_all_tables(tmp_path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("".join(one.to_line() for one in RECORDS))
    found = CliRunner().invoke(app, ["proofs", str(path), "--bound", "initial", "--peer", "fd", "--peer", "symk"])
    assert found.exit_code == 0
    assert "| all | 3 | 2 | 1 | 2 | 2 | 50.0% | 0.50 | 1 |" in found.output
    assert "| initial | 1 | 75.0% |" in found.output


@pytest.mark.parametrize("name", ["ours:mode=optimal", "ours:mode=optimal,without=" + "+".join(PARTS), "ours-initial"])
def test_parts_are_left_out(name: str, tmp_path) -> None:
    """Without any part nothing is proved; LM-cut's first value is a bound."""
    planner = planner_of(name)
    job = planner.job(Limits(cpu_seconds=30, memory_gib=4))
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    (tmp_path / "problem.pddl").write_text(PROBLEM)
    options = {"cwd": tmp_path, "env": job.environment, "capture_output": True, "text": True, "check": False}
    done = subprocess.run([sys.executable, *job.command[1:]], **options)  # noqa: PLW1510 - see above
    expected = {"ours:mode=optimal": '"OPTIMAL"', "ours-initial": "'lower_bound': 1.0"}.get(name, '"UNKNOWN"')
    assert expected in done.stdout
