"""The wall-clock guard: what it ends is no time-out of the planner, in records, tables and pages."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.compare import compare
from benchmarks.html_report import report_page
from benchmarks.latex_report import write_latex
from benchmarks.planners import Answer, Job, Outcome
from benchmarks.planners.base import explain_failure
from benchmarks.process import Limits, Run
from benchmarks.records import Record, is_done, read_records, write_records
from benchmarks.report import full_report, note_guarded, select_by_task, tabulate_outcomes
from benchmarks.run import Settings, attempts_of, run_all
from benchmarks.suite import load_suite

DOMAIN = "(define (domain d) (:predicates (a)) (:action go :parameters () :precondition () :effect (a)))"
PROBLEM = "(define (problem p) (:domain d) (:init) (:goal (a)))"
GUARDED_SOON = Limits(cpu_seconds=1, memory_gib=1, wall_factor=-4)


@dataclass(frozen=True)
class Sleeper:
    """A planner that falls asleep, with a plan or before it."""

    label: str
    plan: str | None = None
    packages: tuple[str, ...] = ()
    configuration: str = "sleeper"

    def job(self, limits: Limits) -> Job:
        write = f"open('plan', 'w').write({self.plan!r})" if self.plan else "pass"
        return Job((sys.executable, "-c", f"import time; {write}; time.sleep(50 + {limits.cpu_seconds})"))

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:
        assert not features
        return Answer(Outcome.SOLVED, plan=self.plan) if (folder / "plan").exists() else explain_failure(run)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("naps")
    (folder / "domain.pddl").write_text(DOMAIN)
    (folder / "p1.pddl").write_text(PROBLEM)
    attempts = attempts_of(load_suite(folder), [Sleeper("sleepy"), Sleeper("done", "(go)\n")])
    out = folder / "results.jsonl"
    run_all(attempts, out, Settings(GUARDED_SOON), lambda _: None)
    return out


def test_a_sleeping_planner_is_no_time_out(results: Path) -> None:
    sleepy, done = read_records(results)
    assert (sleepy.outcome, sleepy.ended_by, sleepy.guarded) == (Outcome.GUARD, "wall", True)
    assert sleepy.cpu_seconds < 0.9
    assert "by the clock" in sleepy.detail
    assert (done.outcome, done.ended_by, done.guarded) == (Outcome.SOLVED, "wall", True)
    assert [json.loads(line)["outcome"] for line in results.read_text().splitlines()] == ["wall-clock guard", "solved"]


def test_tables_and_pages_name_and_count_it(results: Path, tmp_path: Path) -> None:
    records = read_records(results)
    note = "The wall-clock guard ended 2 runs (sleepy 1, done 1)"
    assert tabulate_outcomes(records).head == ["planner", "solved", "wall-clock guard"]
    for text in (
        full_report(records),
        report_page(records, is_done, {}, "x"),
        write_latex(records, is_done, {}),
        compare(select_by_task(records, "sleepy"), select_by_task(records, "done")),
    ):
        assert note in text
        assert "wall-clock guard" in text.replace(note, "")
    assert CliRunner().invoke(app, ["csv", str(results), "--out", str(tmp_path / "runs.csv")]).exit_code == 0
    with (tmp_path / "runs.csv").open(encoding="utf-8", newline="") as file:
        assert [row["outcome"] for row in csv.DictReader(file)] == ["wall-clock guard", "solved"]


def test_no_note_where_it_ended_nothing() -> None:
    timed_out = Record("s", "d", "d/p", "a", "c", Outcome.TIME, ended_by="cpu")
    assert note_guarded([timed_out]) == ""
    assert "1 run (a 1)" in note_guarded([timed_out, replace(timed_out, outcome=Outcome.GUARD)])


def test_it_ends_in_a_properties_file_as_itself(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "properties"
    assert CliRunner().invoke(app, ["properties", str(results), "--out", str(file)]).exit_code == 0
    run = json.loads(file.read_text())["sleepy-naps0-p1.pddl"]
    assert (run["error"], run["coverage"]) == ("wall-clock-guard", 0)


def test_results_from_before_the_guard_was_told_apart_are_read(tmp_path: Path) -> None:
    write_records(tmp_path / "r", [Record("s", "d", "d/p", "a", "c", Outcome.TIME)])
    line = json.loads((tmp_path / "r").read_text())
    for name in ("ended_by", "tier", "generated", "attributes"):
        del line[name]
    (tmp_path / "r").write_text(json.dumps(line) + "\n")
    assert read_records(tmp_path / "r")[0].outcome is Outcome.TIME
