"""`kill -9` at every write to the journal of a run of twenty steps, in real processes."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "killed_runs.py"
STEPS = {f"p{number}": 1 for number in range(1, 21)}


@pytest.mark.timeout(180)
def test_a_run_that_is_killed_at_any_write_ends_in_the_same_world(tmp_path):
    done = subprocess.run([sys.executable, PROGRAM, tmp_path], capture_output=True, text=True, timeout=170, check=True)
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert {run["killed"] for run in runs} == {-signal.SIGKILL}
    assert {run["resumed"] for run in runs} == {0}, "each was taken up again, and succeeded"
    assert [run for run in runs if run["acts"] != STEPS] == []
    assert len(runs) > 2 * 3 * 20, "each step is begun, answers, and ends"
