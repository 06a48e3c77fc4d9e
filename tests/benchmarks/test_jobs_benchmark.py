"""One job is compared with several: times, statuses and proved costs."""

from __future__ import annotations

from pathlib import Path

import typer
from typer.testing import CliRunner

from benchmarks import jobs
from benchmarks.jobs import DIFFERENT, Answer, Comparison, Trial, compare_jobs, summarise
from benchmarks.suite import BenchmarkTask

DOMAIN = """(define (domain lights) (:requirements :strips :negative-preconditions)
  (:predicates (on ?l) (lit ?l))
  (:action press :parameters (?l) :precondition (not (on ?l)) :effect (on ?l))
  (:action release :parameters (?l) :precondition (on ?l) :effect (and (not (on ?l)) (lit ?l))))"""
PROBLEM = "(define (problem all) (:domain lights) (:objects a b c) (:goal (and (lit a) (lit b) (lit c))))"
TASK = BenchmarkTask("suite", "lights", "lights/all", Path("d"), Path("p"))


def test_statuses_and_proved_costs_are_compared() -> None:
    proved = Answer("optimal", 6, 2.0, 1.0)
    assert Comparison(TASK, proved, Answer("optimal", 6, 1.0, 2.0)).is_equal("anytime")
    assert not Comparison(TASK, proved, Answer("optimal", 7, 1.0, 1.0)).is_equal("anytime")
    assert not Comparison(TASK, proved, Answer("unsolvable", None, 1.0, 1.0)).is_equal("anytime")
    assert Comparison(TASK, proved, Answer("solved", 8, 1.0, 1.0)).is_equal("anytime")
    assert Comparison(TASK, Answer("solved", 8, 1.0, 1.0), Answer("solved", 9, 1.0, 1.0)).is_equal("first")
    assert not Comparison(TASK, Answer("solved", 8, 1.0, 1.0), Answer("unsolvable", None, 1.0, 1.0)).is_equal("first")


def test_ratios_are_those_of_tasks_that_both_end() -> None:
    one = Answer("optimal", 6, 2.0, 1.0)
    made = [Comparison(TASK, one, Answer("optimal", 6, seconds, 2.0)) for seconds in (1.0, 4.0)]
    made.append(Comparison(TASK, one, Answer("unknown", None, 9.0, 9.0)))
    text = summarise(made, "anytime")
    assert "3 tasks, of which several jobs ended 2" in text
    assert (
        "wall-clock time, several jobs by one: geometric mean 1.00, median 1.25, from 0.50 to 2.00; above 1.1: 1"
        in text
    )
    assert made[0].row()[1:] == ["optimal", "6", "2.00", "1.00", "1.00", "2.00", "0.50", "2.00"]


def test_runs_alternate_and_the_least_times_count() -> None:
    asked: list[tuple[int, int]] = []

    class Counted(Trial):
        def run(self, _: BenchmarkTask, jobs: int, processors: int) -> Answer:
            asked.append((jobs, processors))
            return Answer("optimal", 6, 5.0 / len(asked), 1.0)

    (found,) = compare_jobs([TASK], Counted("anytime", 5.0), 2, least=1.0, runs=2)
    assert asked == [(1, 1), (2, 2), (1, 1), (2, 2)]
    assert (found.one.wall, found.several.wall) == (5.0 / 3, 5.0 / 4)
    assert not [*compare_jobs([TASK], Counted("anytime", 5.0), 2, least=9.0, runs=2)]


def test_the_command_prints_a_table(tmp_path: Path) -> None:
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    (tmp_path / "problem.pddl").write_text(PROBLEM)
    command = typer.Typer()
    command.command()(jobs.main)
    done = CliRunner().invoke(command, [str(tmp_path), "--least", "0", "--runs", "1"])
    assert done.exit_code == 0, done.output
    assert "| optimal | 6 |" in done.output
    assert "1 tasks, of which several jobs ended 1" in done.output
    assert done.exit_code != DIFFERENT
