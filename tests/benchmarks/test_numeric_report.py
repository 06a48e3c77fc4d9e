"""Tasks with numbers in benchmarks: their classes, start-ups, and tables by class and domain."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.html_report import report_page
from benchmarks.numeric_report import class_of, numeric_tables, seconds_without_start
from benchmarks.planners import Answer, Job, Outcome
from benchmarks.process import Limits, Run
from benchmarks.records import Record, is_done, read_records
from benchmarks.run import START_ROUNDS, Attempt, Settings, measure_start, run_all
from benchmarks.suite import HDDL, Selection, load_suite

DOMAIN = """(define (domain tank) (:requirements :numeric-fluents) (:functions (x) (y))
  (:action fill :parameters () :precondition (<= (x) 9) :effect (increase (x) {step})))"""
PROBLEM = "(define (problem p) (:domain tank) (:init (= (x) 0) (= (y) 1)) (:goal (>= (x) 2)))"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    rows = ["domain\tdomain_file\tproblem_file\tclass"]
    for domain, step, stated in (("constant", "1", "?"), ("varying", "(x)", "?"), ("stated", "(x)", "simple")):
        folder = tmp_path / "tanks" / domain
        folder.mkdir(parents=True)
        (folder / "domain.pddl").write_text(DOMAIN.format(step=step))
        (folder / "p1.pddl").write_text(PROBLEM)
        rows.append(f"{domain}\tdomain.pddl\tp1.pddl\t{stated}")
    (tmp_path / "tanks" / "tasks.tsv").write_text("\n".join(rows) + "\n")
    return tmp_path / "tanks"


def test_a_table_states_classes_or_leaves_them_to_the_files(suite: Path) -> None:
    tasks = load_suite(suite)
    assert {task.domain: set(task.tracks) for task in tasks} == {
        "constant": {"simple"},
        "varying": {"linear"},
        "stated": {"simple"},
    }
    assert [task.domain for task in Selection(track="linear").of(tasks)] == ["varying"]


def test_a_missing_file_has_no_class(suite: Path) -> None:
    (suite / "varying" / "domain.pddl").unlink()
    assert [set(task.tracks) for task in load_suite(suite)] == [{"simple"}, set(), {"simple"}]


def test_the_commands_know_the_classes(suite: Path) -> None:
    listed = CliRunner().invoke(app, ["suites", str(suite), "--track", "linear"])
    assert "| varying | 1 | linear | linear effects, numeric conditions, numeric effects |" in listed.stdout
    assert "| constant |" not in listed.stdout


def record(task: str, planner: str, outcome: Outcome = Outcome.SOLVED, **more: Any) -> Record:
    domain = task.partition("/")[0]
    tracks = ("linear",) if domain == "b" else ("simple",)
    values: dict[str, Any] = {"cpu_seconds": 1.0, "limits": {"cpu_seconds": 30.0}, "tracks": tracks, **more}
    return Record("s", domain, task, planner, planner, outcome, **values)


RECORDS = [
    record("a/1", "java", cost=20, cpu_seconds=2.0, start_seconds=1.0),
    record("a/1", "lean", Outcome.OPTIMAL, cost=10, cpu_seconds=0.5, start_seconds=0.25),
    record("a/2", "java", cost=8, cpu_seconds=8.0, start_seconds=1.0),
    record("a/2", "lean", Outcome.TIME, cpu_seconds=30.0, start_seconds=0.25),
    record("b/1", "java", Outcome.INVALID, cost=1, start_seconds=1.0),
    record("b/1", "lean", cost=5, cpu_seconds=0.25, start_seconds=0.25),
]


def test_classes_and_domains_are_tabulated() -> None:
    classes, domains, ratios = numeric_tables(RECORDS)
    assert [list(map(str, row)) for row in classes.rows] == [
        ["java", "simple", "2", "2", "0", "5.00", "4.00", "1.00", "2.65", "1.18", "1.50"],
        ["java", "linear", "1", "0", "0", "", "", "1.00", "", "0.00", "0.00"],
        ["java", "all", "3", "2", "0", "5.00", "4.00", "1.00", "2.65", "1.18", "1.50"],
        ["lean", "simple", "2", "1", "1", "0.50", "0.50", "0.25", "0.25", "1.00", "1.00"],
        ["lean", "linear", "1", "1", "0", "0.25", "0.25", "0.25", "0.05", "1.00", "1.00"],
        ["lean", "all", "3", "2", "1", "0.38", "0.35", "0.25", "0.11", "2.00", "2.00"],
    ]
    assert list(map(str, domains.rows[0])) == ["a", "2", "0", "5.00", "1.50", "1", "1", "0.50", "1.00"]
    assert list(map(str, domains.rows[1])) == ["b", "0", "0", "", "0.00", "1", "0", "0.25", "1.00"]
    assert list(map(str, domains.total)) == ["total", "2", "0", "5.00", "1.50", "2", "1", "0.38", "2.00"]
    assert list(map(str, ratios.rows[0])) == ["lean", "1", "0.25", "0.25"]


def test_known_costs_count() -> None:
    classes = numeric_tables(RECORDS, is_done, {"a/1": 5})[0]
    assert classes.rows[0][-1] == "1.25"


def test_without_numbers_there_is_no_table() -> None:
    assert numeric_tables([record("c/1", "x", tracks=())]) == []
    assert class_of(record("c/1", "x", tracks=(), features=("numeric conditions", "scaling"))) == "linear"
    assert len(numeric_tables([record("a/1", "x")])) == 2


def test_a_start_takes_no_more_than_the_run() -> None:
    assert seconds_without_start(record("a/1", "x", cpu_seconds=1.0, start_seconds=0.75)) == 0.25
    assert seconds_without_start(record("a/1", "x", cpu_seconds=1.0, start_seconds=1.25)) == 0.05
    assert seconds_without_start(record("a/1", "x", cpu_seconds=1.0)) == 1.0


def test_the_page_shows_them() -> None:
    page = report_page(RECORDS, is_done, {}, "numbers")
    assert "<h2>Numbers</h2>" in page
    assert "tasks with numbers" in page


@dataclass(frozen=True)
class Sleeper:
    """A planner that counts its runs in a file, and has a plan for all tasks or none."""

    log: Path
    outcome: Outcome = Outcome.SOLVED
    label: str = "sleeper"
    configuration: str = "sleeper"
    packages: tuple[str, ...] = ()
    languages: frozenset[str] = field(default_factory=lambda: frozenset({".pddl"}))

    def job(self, limits: Limits) -> Job:
        assert limits.cpu_seconds > 0
        return Job((sys.executable, "-S", "-c", f"print(1, file=open({str(self.log)!r}, 'a'))"))

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:
        assert (run.returncode, (folder / "domain.pddl").exists()) == (0, True)
        assert features <= {"numeric conditions", "numeric effects", "linear effects"}
        return Answer(self.outcome)


def test_starts_are_measured_once_a_planner(suite: Path, tmp_path: Path) -> None:
    planner = Sleeper(tmp_path / "log")
    tasks = load_suite(suite)
    out = tmp_path / "results.jsonl"
    settings = Settings(Limits(10, 1), validators=(), starts=True)
    assert run_all([Attempt(task, planner) for task in tasks], out, settings, lambda _: None) == 3
    assert len((tmp_path / "log").read_text().splitlines()) == START_ROUNDS + 3
    starts = [found.start_seconds for found in read_records(out)]
    assert len(set(starts)) == 1
    assert starts[0] is not None
    assert starts[0] > 0


def test_a_planner_that_does_not_solve_the_trivial_task_has_no_start(tmp_path: Path) -> None:
    assert measure_start(Sleeper(tmp_path / "log", Outcome.ERROR), Limits(10, 1)) is None
    assert measure_start(Sleeper(tmp_path / "other", languages=frozenset({HDDL})), Limits(10, 1)) is None
    assert not (tmp_path / "other").exists()
