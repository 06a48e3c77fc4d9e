"""Results as CSV: documented columns, and whatever names say stays in its cell."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.comma_separated import COLUMNS, write_comma_separated
from benchmarks.planners import Outcome
from benchmarks.records import Record, write_records, write_whole
from planner.errors import DocumentError

RECORD = Record(
    "s",
    "d",
    "d/p1",
    'a "quick", one',
    "ours:mode=first",
    Outcome.SOLVED,
    cost=2.5,
    cpu_seconds=0.25,
    checks={"forethought": "valid"},
    sizes={"facts": 7},
    features=("axioms", "costs"),
    tier="reference",
    detail="first\nsecond",
    limits={"cpu_seconds": 30, "memory_gib": 4.0},
)


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline=""), strict=True))


def test_a_run_is_a_line() -> None:
    content = write_comma_separated([RECORD, RECORD])
    (one, other) = rows(content)
    assert one == other
    assert {name: one[name] for name in ("planner", "outcome", "done", "proved", "cost", "detail")} == {
        "planner": RECORD.planner,
        "outcome": "solved",
        "done": "1",
        "proved": "0",
        "cost": "2.5",
        "detail": "first\nsecond",
    }
    assert (one["features"], one["checks"], one["facts"]) == ("axioms; costs", "forethought valid", "7")
    assert (one["tier"], one["time_limit"], one["lower_bound"]) == ("reference", "30", "")
    assert content.startswith(b"suite,domain,task,planner,")
    assert b'"a ""quick"", one"' in content
    assert content.endswith(b"\r\n")


@given(st.text(), st.text())
def test_any_text_comes_back(planner: str, detail: str) -> None:
    record = Record("s", "d", "t", planner, "c", Outcome.ERROR, detail=detail)
    (row,) = rows(write_comma_separated([record]))
    if "\0" not in planner + detail:
        assert (row["planner"], row["detail"]) == (planner, detail)


def test_every_field_of_a_record_but_its_plan_is_a_column() -> None:
    elsewhere = {"limits", "sizes", "plan", "attributes"}
    assert {field.name for field in fields(Record)} - elsewhere <= set(COLUMNS)


def test_the_page_explains_every_column() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "benchmarks.md"
    section = page.read_text(encoding="utf-8").partition("## Results in other formats")[2]
    assert set(COLUMNS) <= set(re.findall(r"`(\w+)`", section))


def test_nothing_is_written_where_that_cannot_be(tmp_path: Path) -> None:
    results, missing = tmp_path / "r.jsonl", tmp_path / "none" / "runs.csv"
    write_records(results, [RECORD])
    with pytest.raises(DocumentError, match=r"none/runs\.csv: there is no folder .*none; make it"):
        CliRunner().invoke(app, ["csv", str(results), "--out", str(missing)], catch_exceptions=False)
    with pytest.raises(DocumentError, match="it cannot be written"):
        CliRunner().invoke(app, ["csv", str(results), "--out", str(tmp_path)], catch_exceptions=False)
    assert [path.name for path in tmp_path.iterdir()] == ["r.jsonl"]


@pytest.mark.parametrize("command", ["csv", "latex", "properties", "html"])
def test_results_are_not_replaced_by_what_is_made_of_them(command: str, tmp_path: Path) -> None:
    write_records(tmp_path / "properties", [RECORD])
    (tmp_path / "link").symlink_to(tmp_path / "properties")
    before = (tmp_path / "properties").read_bytes()
    for results, out in (("properties", "properties"), ("properties", "link"), (".", "properties")):
        invoked = CliRunner().invoke(app, [command, str(tmp_path / results), "--out", str(tmp_path / out)])
        assert invoked.exit_code == 2
        assert "has the results that are read" in " ".join(invoked.output.replace("│", " ").split())
        assert (tmp_path / "properties").read_bytes() == before


def test_a_link_keeps_pointing_and_a_device_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"x"
    write_whole(Path("/dev/null"), b"x")
    assert Path("/dev/null").is_char_device()
