"""Tasks without a plan as a benchmark: small ones have none indeed, one more of what lacks is enough, tables add up."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from brute_force import brute_force_plan
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.planners import Outcome
from benchmarks.records import Record
from benchmarks.unsolvable.unsolvable_campaign import find_contradictions, part_of, proof_table, ratio_table
from benchmarks.unsolvable.unsolvable_tasks import (
    TakenTask,
    WrittenTask,
    bridges,
    circle,
    colours,
    cover,
    crates,
    crossing,
    lamps,
    line,
    make_tasks,
    packing,
    pegs,
    read_taken,
    ring,
    tiles,
    tour,
)
from planner import Problem, load
from planner.errors import DocumentError

SMALL = [
    packing(2),
    packing(3),
    cover(2),
    tour(2, 3),
    bridges(3),
    tiles(2, 2),
    tiles(2, 3),
    line(4, 3),
    ring(5, 3),
    circle(3),
    pegs(3, 3, (0, 0)),
    crates(3, 5, 2),
    crossing(4),
]
SOLVABLE = [
    (packing(2), "(:init ", "(:init (free b0) (free b2) ", "b0 b1 - box", "b0 b1 b2 - box"),
    (tour(2, 3), "(fuel l4)", "(fuel l5) (less l4 l5)", "l4 - level", "l4 l5 - level"),
    (bridges(3), "(:init ", "(:init (whole k2) ", "k0 k1 - plank", "k0 k1 k2 - plank"),
    (tiles(2, 3), "(on t4 c1-0) (on t3 c1-1)", "(on t3 c1-0) (on t4 c1-1)", "", ""),
    (line(4, 3), "(:init ", "(:init (beside c0 c3) (beside c3 c0) (beside c1 c3) (beside c3 c1) ", "", ""),
    (ring(5, 3), "(:init ", "(:init (beside c1 c3) (beside c3 c1) (beside c4 c2) (beside c2 c4) ", "", ""),
    (circle(3), "(on b1 b2) (on b2 b0)", "(on b1 b2)", "", ""),
    (crossing(3), "", "", "", ""),
    (crates(4, 5, 2), "(:init ", "(:init (target c0-3) ", "", ""),
]
"""Tasks, and texts to replace such that there is a plan."""


def problem_of(written: WrittenTask, folder: Path) -> Problem:
    written.write(folder)
    found = load(folder / written.name / "domain.pddl", folder / written.name / "problem.pddl")
    assert isinstance(found, Problem)
    return found


@pytest.mark.parametrize("written", SMALL, ids=lambda each: each.name)
def test_small_ones_have_no_plan(written: WrittenTask, tmp_path: Path) -> None:
    assert brute_force_plan(problem_of(written, tmp_path), 2_000) is None


@pytest.mark.parametrize(
    ("written", "old", "new", "less", "more"), SOLVABLE, ids=lambda each: getattr(each, "name", "")
)
def test_with_what_lacks_there_is_a_plan(  # noqa: PLR0917 - a table
    written: WrittenTask, old: str, new: str, less: str, more: str, tmp_path: Path
) -> None:
    text = written.problem.replace(old, new).replace(less, more)
    assert text != written.problem or not old
    problem = problem_of(WrittenTask(written.name, written.domain, text, ""), tmp_path)
    assert brute_force_plan(problem, 20_000) is not None


def test_a_plan_for_small_lamps_is_found(tmp_path: Path) -> None:
    assert brute_force_plan(problem_of(lamps(2, (0, 0)), tmp_path)) is not None  # no pattern is quiet there


@pytest.mark.parametrize("side", [4, 5])
def test_the_lamp_that_is_lit_is_in_a_quiet_pattern(side: int) -> None:
    """Each button changes an even number of the pattern's lamps: each lamp has so many of them around it and in it."""
    square = list(product(range(side), repeat=2))
    around = {
        (row, column): [(row, column), (row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        for row, column in square
    }
    for first in product((False, True), repeat=side):
        pattern = {(0, column): value for column, value in enumerate(first)}
        for row, column in square:
            pattern[row + 1, column] = sum(pattern.get(cell, False) for cell in around[row, column]) % 2 == 1
        quiet = not any(pattern[side, column] for column in range(side))
        if quiet and pattern[0, 0]:
            assert all(sum(pattern.get(cell, False) for cell in around[each]) % 2 == 0 for each in square)
            return
    raise AssertionError


def test_pegs_do_not_end_where_they_are_asked_to() -> None:
    text = pegs(4, 5, (0, 0)).problem
    start, goal = (
        [(int(row) + int(column)) % 3 for row, column in re.findall(r"\(peg c(\d)-(\d)\)", part)]
        for part in text.split(":goal")
    )
    changed = [(start.count(colour) - goal.count(colour)) % 2 for colour in range(3)]
    assert changed != [(len(start) - len(goal)) % 2] * 3


@pytest.mark.parametrize("cycle", [3, 5])
def test_three_colours_are_too_few(cycle: int) -> None:
    text = colours(cycle).problem
    edges = re.findall(r"\(beside (\w+) (\w+)\)", text)
    nodes = sorted({node for edge in edges for node in edge})
    assert len(nodes) == 2 * cycle + 1
    assert not any(
        all(has[one] != has[other] for one, other in edges)
        for has in (dict(zip(nodes, each, strict=True)) for each in product(range(3), repeat=len(nodes)))
    )


def test_the_tasks_are_always_the_same_and_none_is_there_twice() -> None:
    names = [each.name for each in (*make_tasks(), *read_taken())]
    assert make_tasks() == make_tasks()
    assert len(names) == len(set(names)) == 40
    assert all(each.because for each in make_tasks())
    assert all(each.proved_by and each.facts for each in read_taken())


def test_facts_are_taken_away(tmp_path: Path) -> None:
    whole = bridges(2)
    WrittenTask("bridges", whole.domain, whole.problem, "").write(tmp_path)
    files = ("bridges", "domain.pddl", "problem.pddl")
    left = TakenTask(*files, ("(whole k0)", "(parcel i1)"), "somebody").of(tmp_path)
    assert left.name == "bridges-problem"
    assert "whole" not in left.problem
    assert "( parcel i0 )" in left.problem
    assert "somebody" in left.because
    with pytest.raises(DocumentError, match=r"\(whole k7\) is not in the initial state"):
        TakenTask(*files, ("(whole k7)",), "somebody").of(tmp_path)


def record(task: str, planner: str, outcome: Outcome = Outcome.UNSOLVABLE, **values: Any) -> Record:
    return Record("s", task, f"{task}/problem.pddl", planner, planner, outcome, **values)


RECORDS = [
    record("a", "ours", cpu_seconds=1.0, by="h2"),
    record("a", "one", cpu_seconds=2.0),
    record("a", "two", cpu_seconds=4.0),
    record("b", "ours", cpu_seconds=8.0, by="symbolic", expansions=0),
    record("b", "one", cpu_seconds=2.0),
    record("b", "two", Outcome.TIME, cpu_seconds=30.0),
    record("c", "ours", Outcome.MEMORY, cpu_seconds=9.0),
    record("c", "one", cpu_seconds=2.0),
    record("c", "two", Outcome.UNSUPPORTED),
]


def test_tables() -> None:
    rows = proof_table(RECORDS, "ours").markdown().splitlines()
    assert rows[2:] == [
        "| a | h² | 1.00 | 2.00 | 4.00 |",
        "| b | symbolic | 8.00 | 2.00 | time |",
        "| c |  | memory | 2.00 | unsupported |",
        "| **proved** | **h² 1, symbolic 1** | **2** | **3** | **1** |",
    ]
    rows = ratio_table(RECORDS, "ours").markdown().splitlines()
    assert rows[2:] == [
        "| one | 2 | 0 | 1 | 1.41 | 4.00 |",
        "| two | 1 | 1 | 0 | 0.25 | 0.25 |",
        "| the faster of them | 2 | 0 | 1 | 1.41 | 4.00 |",
    ]
    assert find_contradictions(RECORDS) == []
    assert find_contradictions([record("a", "one", Outcome.SOLVED, plan="(go)")]) == [
        "one has a plan for a/problem.pddl"
    ]


@pytest.mark.parametrize(
    ("by", "expansions", "part"),
    [
        ("", 0, "reachability"),
        ("", 7, "search"),
        ("unbinding hplus", 0, "relaxation"),
        ("h2", 7, "h²"),
        ("astar lmcut", 7, "astar lmcut"),
        ("symbolic", 0, "symbolic"),
    ],
)
def test_parts(by: str, expansions: int, part: str) -> None:
    assert part_of(record("a", "ours", by=by, expansions=expansions)) == part


def test_the_command_writes_tasks_and_prints_tables(tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    suite.mkdir()
    options = ["--folder", str(tmp_path / "tasks"), "--out", str(tmp_path / "results.jsonl"), "--name", "crossing-*"]
    ran = CliRunner().invoke(app, ["unsolvable", str(suite), *options, "--planner", "ours-optimal"])
    assert ran.exit_code == 0, ran.output
    assert "| crossing-4 | " in ran.stdout
    # Several searches decide this task within the same milliseconds; any of them may be named.
    assert re.search(r"\| \*\*proved\*\* \| \*\*[a-z ]+ 1\*\* \| \*\*1\*\* \|", ran.stdout)
    assert sum(1 for _ in (tmp_path / "tasks").glob("*/problem.pddl")) == 16
