"""Counts of plain search are compared over runs, processors and machine code."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from benchmarks import plain_counts
from benchmarks.plain_counts import DIFFERENT, NOTHING_TO_COMPARE, OK, Comparison, judge
from benchmarks.suite import BenchmarkTask

DOMAIN = """(define (domain lights) (:requirements :strips :negative-preconditions)
  (:predicates (on ?l) (lit ?l))
  (:action press :parameters (?l) :precondition (not (on ?l)) :effect (on ?l))
  (:action release :parameters (?l) :precondition (on ?l) :effect (and (not (on ?l)) (lit ?l))))"""
PROBLEM = "(define (problem all) (:domain lights) (:objects a b c) (:goal (and (lit a) (lit b) (lit c))))"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    (tmp_path / "problem.pddl").write_text(PROBLEM)
    return tmp_path


def answer(tier: str, expanded: int = 5) -> dict[str, object]:
    counts = {"expanded": expanded, "evaluated": 7, "generated": 9, "search_seconds": expanded / 3, "tier": tier}
    return {"status": "OPTIMAL", "cost": 6, "statistics": counts}


def comparison(*answers: dict[str, object]) -> Comparison:
    made = Comparison(BenchmarkTask("suite", "lights", "lights/all", Path("d"), Path("p")), "astar")
    for each in answers:
        made.add(each)
    return made


def test_runs_are_compared_without_seconds_and_tiers(capsys: pytest.CaptureFixture[str]) -> None:
    same = comparison(answer("compiled"), answer("interpreted"))
    assert same.row() == ["lights/all", "astar", "5", "7", "9", "6", "compiled, interpreted", "2", "equal"]
    assert judge([same]) == OK
    other = comparison(answer("compiled"), answer("interpreted", expanded=6))
    assert other.row()[-1] == "2 DIFFERENT ANSWERS"
    assert judge([same, other]) == DIFFERENT
    assert judge([comparison(answer("interpreted"), answer("interpreted"))]) == NOTHING_TO_COMPARE
    assert judge([]) == NOTHING_TO_COMPARE
    assert "DIFFERENT counts for 1 of 2 pairs" in capsys.readouterr().out


def test_a_suite_is_run_in_all_settings(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_counts, "LEAST_EXPANSIONS", 1)
    command = typer.Typer()
    command.command()(plain_counts.main)
    done = CliRunner().invoke(command, [str(suite), "--search", "astar", "--search", "mcts", "--runs", "1"])
    assert done.exit_code == NOTHING_TO_COMPARE  # tests see no machine code
    head, *rows, total, verdict = done.output.splitlines()
    assert head.startswith("task\tsearch\texpanded")
    assert [row.split("\t")[1] for row in rows] == ["astar", "mcts"]
    assert all(row.endswith("\tinterpreted\t4\tequal") for row in rows)
    assert total.startswith("8 runs, 2 pairs")
    assert verdict.startswith("equal, but machine code was not compared")
