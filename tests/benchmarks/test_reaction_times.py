"""The benchmark of reactions: each event leads to a step, and the table has a line for each setting."""

from __future__ import annotations

from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.overhead.reaction_times import measure_reactions


def test_each_event_leads_to_a_step() -> None:
    found = measure_reactions(3, 4, 5, journal=True)
    assert len(found.seconds) == 5
    assert min(found.seconds) > 0
    assert found.cpu > 0


def test_the_table_has_a_line_for_each_setting() -> None:
    made = CliRunner().invoke(app, ["reactions", "--goals", "1,2", "--objects", "3", "--events", "1"])
    assert made.exit_code == 0, made.output
    assert len([line for line in made.output.splitlines() if line.startswith("| ")]) >= 2 + 4


def test_numbers_are_positive() -> None:
    made = CliRunner().invoke(app, ["reactions", "--goals", "0"])
    assert made.exit_code == 2
