"""`kill -9` at every write to the journal of an agent that attends to standing goals, in real processes."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[3] / "killed_goals.py"
BLOCKS = 6
"""Parts of the writes, of which a run tests a third."""
ACTS = ["back_up", "back_up", "bill o1", "bill o2", "report", "ship o1", "ship o2", "thank o3"]


@pytest.mark.timeout(200)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_an_agent_that_is_killed_at_any_write_does_all_and_nothing_twice(tmp_path, block):
    call = [sys.executable, PROGRAM, tmp_path, str(block), str(BLOCKS)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=190, check=True)
    places = [json.loads(line) for line in done.stdout.splitlines()]
    assert {place["killed"] for place in places} == {-signal.SIGKILL}
    assert {place["resumed"] for place in places} == {0}, "each time, somebody attended again"
    assert [place for place in places if set(place["acts"].values()) != {1}] == []
    found = {
        tuple(
            sorted(
                act.removesuffix(f" {act.split()[-1]}") if act.startswith("back_up") else act for act in place["acts"]
            )
        )
        for place in places
    }
    assert found == {tuple(ACTS)}
    assert len(places) > 150 // BLOCKS, "facts, goals, schedules, pursuits and the events of their runs"
