"""Measurements of pages: the plans are valid, and a short one is measured from the command to its frames."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.pages.__main__ import DOMAIN, make_page, measure_page, write_plan, write_problem
from benchmarks.pages.chromium import browser, find_chromium
from planner import load, validate
from planner.language.pddl.plan_files import read_plan


@pytest.mark.parametrize("steps", [1, 20, 203])
def test_plans_of_all_lengths_are_valid(steps: int) -> None:
    problem = load(DOMAIN, write_problem())
    plan = read_plan("\n".join(write_plan(steps)), problem)
    assert len(plan) == steps
    assert validate(problem, plan).valid


@pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed")
@pytest.mark.timeout(120)
def test_a_page_is_made_and_measured(tmp_path: Path) -> None:
    pytest.importorskip("websockets")
    page, seconds = make_page(20, tmp_path)
    with browser() as tab:
        tab.resize(1440, 900)
        found = measure_page(page, 20, seconds, tab)
    assert 0 < found.ready < 20_000
    assert found.size == page.stat().st_size < 200_000
    assert found.elements < 2_000
    assert found.row().startswith("| 20 |")
