"""The table of our branch and bound beside CP-SAT."""

from __future__ import annotations

import pytest

from benchmarks.scheduling_trials import FAMILIES, main


def test_optima_agree(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ortools")
    assert main(["--instances", "1", "--time-limit", "2"]) == 0
    assert capsys.readouterr().out.count("\n") == len(FAMILIES) + 2
