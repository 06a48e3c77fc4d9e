"""Run the commands of the author's loop in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from planner.cli import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def forethought(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Ran:
        with pytest.raises(SystemExit) as left:
            main(words)
        told = capsys.readouterr()
        return Ran(int(left.value.code), told.out, told.err)

    return run
