"""Broken plans as a benchmark: they are broken, patches go on with them, and the table adds up."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.patch_comparison import (
    SIZES,
    Measured,
    common_subsequence_length,
    generate_broken_plans,
    measure,
    patching_table,
)
from planner import validate


@pytest.mark.parametrize("domain", SIZES)
def test_plans_are_broken_and_go_on(domain: str) -> None:
    cases = list(generate_broken_plans(domain, 3, 2, 0, 60.0))
    assert len(cases) == 2
    for case in cases:
        assert not validate(case.problem, case.remaining).valid
        scratch, free, stable = measure(case, [0, 50], 60.0)
        assert scratch.proved
        assert free.proved
        assert stable.proved
        assert free.cost == scratch.cost
        assert stable.kept >= free.kept


def test_a_seed_determines_the_cases() -> None:
    assert list(generate_broken_plans("stacking", 3, 2, 7, 60.0)) == list(
        generate_broken_plans("stacking", 3, 2, 7, 60.0)
    )


@pytest.mark.parametrize(
    ("one", "other", "length"), [("abcbdab", "bdcaba", 4), ("", "abc", 0), ("abc", "abc", 3), ("abc", "cba", 1)]
)
def test_the_longest_common_subsequence(one: str, other: str, length: int) -> None:
    assert common_subsequence_length(one, other) == length


def test_the_table_sums_what_all_ways_have_solved() -> None:
    measured = [
        Measured("d", "one", True, 3, 0.5, 0.75, 10.0),
        Measured("d", "two", True, 4, 1.0, 1.0, 20.0),
        Measured("d", "one", False, 9, 0.5, 0.5, 30.0),
        Measured("d", "two", False, None, 0.0, 0.0, 40.0),
    ]
    rows = patching_table(measured).splitlines()
    assert rows[2:] == [
        "| d | one | 2/2 | 1 | 3 | 50 % | 62 % | 20 | 30 |",
        "| d | two | 1/2 | 1 | 4 | 100 % | 100 % | 30 | 40 |",
    ]


def test_the_command_prints_a_table() -> None:
    options = ["patch", "--domain", "courier", "--cases", "1", "--size", "2", "--weights", "0,3"]
    ran = CliRunner().invoke(app, options)
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.count("| courier |") == 3
    assert "patch, w = 3" in ran.stdout


@pytest.mark.parametrize(
    ("options", "complaint"),
    [(["--domain", "moon"], "there is no domain 'moon'"), (["--weights", "0,x"], "numbers with commas between")],
)
def test_mistakes_are_told(options: list[str], complaint: str) -> None:
    ran = CliRunner().invoke(app, ["patch", *options])
    assert ran.exit_code == 2
    assert complaint in " ".join(ran.output.replace("│", " ").split())
