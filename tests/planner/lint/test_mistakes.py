"""Files with one mistake each: lint finds it at its line, and says nothing wrong of the files without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.check_trials import AUTHORS, OWN, tabulate, try_files
from planner.lint.check_files import check_files
from planner.lint.codes import CODES
from planner.lint.findings import Level

PATHS = sorted(OWN.iterdir())


@pytest.mark.parametrize("block", range(12))
def test_every_mistake_is_found_at_its_line(block: int) -> None:
    trials = try_files(PATHS[block::12])
    assert [(each.name, each.missed) for each in trials if each.missed] == []
    assert len(trials) >= 4


@pytest.mark.parametrize("path", [each for each in PATHS if each.stem.startswith("fine")], ids=lambda path: path.name)
def test_files_without_a_mistake_are_clean(path: Path) -> None:
    assert [each for each in check_files(str(path)).findings if each.level is not Level.HINT] == []


def test_the_expected_codes_exist() -> None:
    known = {code for code, _ in CODES.values()}
    assert {code for own in AUTHORS.values() for _, code in own} <= known


def test_findings_are_counted_by_code() -> None:
    findings = check_files(str(OWN / "spare_parameter.yaml")).findings
    assert list(tabulate([("ward", each) for each in findings]))[2:] == [
        "| FT101 | `unused-parameter` | warning | 1 | 1 |"
    ]
