"""Fuel as level objects and as a number: both texts are sound, and their plans do the same."""

from __future__ import annotations

from collections import Counter

import typer
from typer.testing import CliRunner

from benchmarks.level_objects import TRIP, main, measure, write_domain
from planner import check_domain, check_problem, read_documents
from planner.lint.findings import Level


def test_both_ways_do_the_same() -> None:
    found = {numbers: measure(20, numbers=numbers) for numbers in (False, True)}
    counts = [Counter(step.action for step in each.plan.steps) for each in found.values()]
    for count in counts:
        assert count.pop("refuel") >= TRIP - 2, "it is a first plan, and may refuel more often than it needs"
        assert count == {"drive": TRIP, "load": 1, "unload": 1}
    assert found[True].lines[1] < found[False].lines[1]
    for each in found.values():
        assert [finding for finding in check_problem(each.problem) if finding.level is not Level.HINT] == []


def test_the_number_takes_no_more_objects_with_more_levels() -> None:
    assert len(measure(50, numbers=True).problem.objects) == len(measure(20, numbers=True).problem.objects)
    (domain,) = read_documents(write_domain(10_000, numbers=True)).classical_domains
    assert domain.functions["fuel"].high == 9_999
    assert [finding for finding in check_domain(domain) if finding.level is not Level.HINT] == []


def test_the_command_prints_a_line_for_each() -> None:
    app = typer.Typer()
    app.command()(main)
    done = CliRunner().invoke(app, ["--levels", "20", "--levels", "200", "--most", "100"])
    assert done.exit_code == 0, done.output
    assert [line.split()[:2] for line in done.output.splitlines()[1:]] == [
        ["20", "objects"],
        ["20", "number"],
        ["200", "number"],
    ]
