"""Scores of the competitions, choices of records, rates of searches, and tasks one by one."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.compare import FEATURES, RecordFilter
from benchmarks.pddltext import find_features, read_expression
from benchmarks.planners import Outcome
from benchmarks.rates import rate_tables
from benchmarks.records import Record, is_done, is_proved, write_records
from benchmarks.report import (
    agile_score,
    find_best_costs,
    numeric_sort_key,
    read_costs,
    satisficing_score,
    score_tables,
    task_table,
    totals_table,
)
from planner.errors import DocumentError

O, S, T, U, N = (  # noqa: E741 - they make a table
    Outcome.OPTIMAL,
    Outcome.SOLVED,
    Outcome.TIME,
    Outcome.UNSOLVABLE,
    Outcome.UNSUPPORTED,
)


def record(task: str, planner: str, outcome: Outcome, seconds: float = 1.0, **more: object) -> Record:
    domain = task.partition("/")[0]
    values = {"limits": {"cpu_seconds": 30.0, "memory_gib": 4.0}, **more}
    return Record("s", domain, task, planner, planner, outcome, cpu_seconds=seconds, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcome", "seconds", "limit", "score"),
    [
        (S, 0.0, 30, 1.0),
        (S, 1.0, 30, 1.0),
        (O, math.sqrt(30), 30, 0.5),
        (S, 30.0, 30, 0.0),
        (S, 31.0, 30, 0.0),
        (U, 0.5, 30, 1.0),
        (T, 0.5, 30, 0.0),
        (Outcome.INVALID, 0.5, 30, 0.0),
        (S, 1.5, 1, 0.0),
        (S, 0.9, 0.5, 1.0),
    ],
)
def test_agile_score(outcome: Outcome, seconds: float, limit: float, score: float) -> None:
    made = record("x/1", "a", outcome, seconds, limits={"cpu_seconds": limit})
    assert agile_score(made, is_done) == pytest.approx(score)


def test_agile_score_of_proofs_and_without_a_limit() -> None:
    assert agile_score(record("x/1", "a", S), is_proved) == 0
    assert agile_score(record("x/1", "a", S, math.sqrt(300), limits={}), is_done) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("outcome", "cost", "best", "score"),
    [
        (S, 10, 8, 0.8),
        (O, 8, 8, 1.0),
        (S, 0, 0, 1.0),
        (S, 5, 0, 0.0),
        (S, None, 8, 0.0),
        (T, 8, 8, 0.0),
        (Outcome.INVALID, 8, 8, 0.0),
        (U, None, None, 1.0),
        (S, 9, None, 1.0),
    ],
)
def test_satisficing_score(outcome: Outcome, cost: float | None, best: float | None, score: float) -> None:
    known = {} if best is None else {("s", "x/1"): best}
    assert satisficing_score(record("x/1", "a", outcome, cost=cost), known) == score


def test_the_best_cost_is_that_of_plans_and_of_what_is_known() -> None:
    records = [
        record("x/1", "a", S, cost=9),
        record("x/1", "b", O, cost=7),
        record("x/1", "c", Outcome.INVALID, cost=1),
        record("x/2", "a", S, cost=9),
        record("x/2", "b", T),
        record("x/3", "a", S),
    ]
    assert find_best_costs(records, {}) == {("s", "x/1"): 7, ("s", "x/2"): 9}
    assert find_best_costs(records, {"x/2": 4.5, "x/1": 8, "x/3": 1, "y": 1}) == {("s", "x/1"): 7, ("s", "x/2"): 4.5}


def test_known_costs_are_read(tmp_path: Path) -> None:
    file = tmp_path / "known.tsv"
    file.write_text("task\tcost\nx/1\t7\n\nx/2\t4.5\n")
    assert read_costs(file) == {"x/1": 7, "x/2": 4.5}


@pytest.mark.parametrize("line", ["x/1 7", "x/1\tcheap", "x/1\t-1", "x/1\tnan", "x/1\tinf"])
def test_what_is_no_known_cost(line: str, tmp_path: Path) -> None:
    file = tmp_path / "known.tsv"
    file.write_text(f"x/0\t7\n{line}\n")
    with pytest.raises(DocumentError, match=r"known\.tsv:2: found .* expected a task's name, a tab, and a cost"):
        read_costs(file)


def test_scores_by_domain_and_planner() -> None:
    records = [
        record("x/1", "a", S, cost=10),
        record("x/1", "b", S, 30.0, cost=5),
        record("y/1", "a", S, cost=4),
        record("y/1", "b", T),
    ]
    tables = score_tables(records, is_done, {})
    assert [table.head[0] for table in tables] == ["done", "agile score", "satisficing score"]
    assert tables[2].rows == [("x", 1, "0.50", "1.00"), ("y", 1, "1.00", "0.00")]
    assert totals_table(tables).rows == [("a", "2", "2.00", "1.50"), ("b", "1", "0.00", "1.00")]
    assert score_tables(records, is_done, {"y/1": 1})[2].total == ("total", 2, "0.75", "1.00")
    assert [table.head[0] for table in score_tables(records, is_proved, {})] == ["proved", "agile score"]


CHOSEN = [
    record("x/1", "a", S, features=("axioms", "costs")),
    record("x/1", "b", N),
    record("x/2", "a", S, features=("costs",)),
    record("x/2", "b", S, features=("costs",)),
    record("y/1", "a", N),
    record("y/1", "b", S),
]


@pytest.mark.parametrize(
    ("choice", "tasks"),
    [
        (RecordFilter(), ["x/1", "x/1", "x/2", "x/2", "y/1", "y/1"]),
        (RecordFilter(without=["axioms"]), ["x/2", "x/2", "y/1", "y/1"]),
        (RecordFilter(without=["axioms", "costs"]), ["y/1", "y/1"]),
        (RecordFilter(supported_by=["b"]), ["x/2", "x/2", "y/1", "y/1"]),
        (RecordFilter(supported_by=["a", "b"]), ["x/2", "x/2"]),
        (RecordFilter(planners=["a"], supported_by=["b"]), ["x/2", "y/1"]),
        (RecordFilter(domains=["y"]), ["y/1", "y/1"]),
        (RecordFilter(names=["*/1"], planners=["b"]), ["x/1", "y/1"]),
    ],
)
def test_choices(choice: RecordFilter, tasks: list[str]) -> None:
    assert [one.task for one in choice.of(CHOSEN)] == tasks


def test_what_others_do_not_support_is_left_out_too() -> None:
    left, right = CHOSEN[::2], CHOSEN[1::2]
    assert [one.task for one in RecordFilter(supported_by=["b"]).of(left, right)] == ["x/2", "y/1"]


def test_choices_of_what_there_is_not() -> None:
    with pytest.raises(DocumentError, match="there is no feature 'axiom'; did you mean 'axioms'"):
        RecordFilter(without=["axiom"])
    with pytest.raises(DocumentError, match="there are no results of 'c'"):
        RecordFilter(supported_by=["c"]).of(CHOSEN)
    with pytest.raises(DocumentError, match="there are no results of 'c'"):
        RecordFilter(planners=["c"]).of(CHOSEN)


def test_every_feature_of_a_task_can_be_left_out() -> None:
    domain = """(define (domain d) (:constants c) (:derived (p ?x) (exists (?y) (or (not (q ?y)) (= ?x ?y))))
        (:action a :parameters () :effect (forall (?x) (when (p ?x) (q ?x))))
        (:method m :task (t) :precondition (p c) :constraints (not (= c c)) :subtasks ())
        (:task t :parameters ()))"""
    problem = "(define (problem p) (:goal (p c)) (:metric minimize (total-cost)))"
    assert find_features(read_expression(domain, "d"), read_expression(problem, "p")) == frozenset(FEATURES)


def test_rates_side_by_side() -> None:
    told = {"effort_seconds": 2.0, "evaluations": 1000, "expansions": 400, "stored_states": 1024}
    records = [
        record("x/p10", "a", O, peak_mib=10.0, search_bytes=1 << 20, **told),
        record("x/p10", "b", O, peak_mib=20.0, **{**told, "effort_seconds": 1.0}),
        record("x/p2", "a", O, peak_mib=10.0, **{**told, "effort_seconds": 0.05}),
        record("x/p2", "b", O, **{**told, "evaluations": None}),
        record("x/p3", "b", T),
    ]
    against, evaluations, expansions, searched, process = rate_tables(records, 0.1)
    assert against.rows == [
        ("b", "evaluations/s", 1, "2.00", "2.00"),
        ("b", "expansions/s", 1, "2.00", "2.00"),
        ("b", "bytes/state, search", 0, "none", "none"),
        ("b", "bytes/state, process", 1, "2.00", "2.00"),
    ]
    assert evaluations.rows == [("x/p10", "500", "1,000")]
    assert expansions.rows == [("x/p2", "", "200"), ("x/p10", "200", "400")]
    assert searched.rows == [("x/p10", "1,024", "")]
    assert process.rows == [("x/p10", "10,240", "20,480")]


def test_the_first_planner_stays_first_whose_searches_are_short() -> None:
    told = {"effort_seconds": 2.0, "evaluations": 1000}
    records = [
        record("x/1", "a", O, **{**told, "effort_seconds": 0.01}),
        record("x/1", "b", O, **told),
        record("x/2", "b", O, **told),
        record("x/2", "a", O, **{**told, "effort_seconds": 1.0}),
        record("x/2", "silent", O, effort_seconds=1.0),
    ]
    against, evaluations = rate_tables(records, 0.1)
    assert against.head[0] == "over that of a"
    assert against.rows[0] == ("b", "evaluations/s", 1, "0.50", "0.50")
    assert evaluations.head == ["evaluations/s", "a", "b"]


def test_rates_of_what_nobody_tells() -> None:
    assert rate_tables([record("x/1", "a", S)], 0.0) == []
    zero = record("x/1", "a", S, effort_seconds=0.0, evaluations=5, stored_states=0, search_bytes=9)
    assert rate_tables([zero], 0.0) == []


def test_tasks_one_by_one() -> None:
    records = [
        record("x/p10", "a", O, 1.234, cost=3, peak_mib=10.4),
        record("x/p2", "a", T, 30.0, peak_mib=99.6),
        record("x/p2", "b", S, 0.0, cost=2.5),
    ]
    table = task_table(records)
    assert table.head[:6] == ["task", "a: outcome", "a: cost", "a: CPU s", "a: MiB", "b: outcome"]
    assert table.rows == [
        ("x/p2", T, "", "30.00", "100", S, "2.5", "0.00", "0"),
        ("x/p10", O, "3", "1.23", "10", "", "", "", ""),
    ]
    assert task_table(records[:1]).head == ["task", "outcome", "cost", "CPU s", "MiB"]


def test_tasks_of_several_suites_are_told_apart() -> None:
    other = Record("t", "x", "x/p2", "a", "a", S)
    assert [row[0] for row in task_table([other, record("x/p2", "a", S)]).rows] == ["s: x/p2", "t: x/p2"]


def test_numbers_in_names_count_as_numbers() -> None:
    names = ["p10", "p2", "p", "10", "9b", "p2-10", "p2-9", "٣"]
    assert sorted(names, key=numeric_sort_key) == ["9b", "10", "p", "p2", "p2-9", "p2-10", "p10", "٣"]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.jsonl"
    write_records(path, CHOSEN)
    return path


def test_choices_on_the_command_line(results: Path) -> None:
    def said(*words: str) -> str:
        ran = CliRunner().invoke(app, [words[0], str(results), *words[1:]], catch_exceptions=False)
        assert ran.exit_code == 0, ran.output
        return ran.stdout

    assert "| **total** | **2** | **1** | **2** |" in said("table", "--without", "axioms")
    assert "| 2 tasks | done |" in said("compare", "--without", "axioms")
    assert "| 1 tasks | done |" in said("compare", "--supported-by", "a", "--supported-by", "b")
    assert said("rates") == "\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table", "--domain", "z"], "none of the results is chosen by the options"),
        (["table", "--without", "axoims"], "there is no feature 'axoims'; did you mean 'axioms'?"),
        (["rates", "--planner", "c"], "there are no results of 'c'"),
        (["compare", "--left", "c"], "there are no results of 'c'"),
    ],
)
def test_choices_that_leave_nothing(words: list[str], message: str, results: Path) -> None:
    with pytest.raises(DocumentError, match=re.escape(message)):
        CliRunner().invoke(app, [words[0], str(results), *words[1:]], catch_exceptions=False)
