"""`kill -9` at every write to the journal of a run: of twenty steps, and of one in which orders turn up."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from executor import Executor, World
from executor.journal import Journal
from planner import Domain, InputError

PROGRAM = Path(__file__).parents[2] / "killed_runs.py"
BLOCKS = 3
"""Parts of the writes, of which a run tests one."""
STEPS = {f"p{number}": 1 for number in range(1, 21)}
ORDERS = ("o7", "new-order-1", "late", "T-1")


def kill_at_writes(folder, world, block):
    """Return what came of each run, killed at a write of its own of that block, after it was taken up again."""
    call = [sys.executable, PROGRAM, folder, world, str(block), str(BLOCKS)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=170, check=True)
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert {run["killed"] for run in runs} == {-signal.SIGKILL}
    assert [run for run in runs if run["resumed"] != 0] == [], "each was taken up again, and succeeded"
    return runs


@pytest.mark.timeout(180)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_run_that_is_killed_at_any_write_ends_in_the_same_world(tmp_path, block):
    runs = kill_at_writes(tmp_path, "works", block)
    assert [run for run in runs if run["acts"] != STEPS] == []
    assert len(runs) >= 2 * 3 * 20 // BLOCKS, "each step is begun, answers, and ends"


@pytest.mark.timeout(180)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_what_had_turned_up_before_a_kill_is_handled_once(tmp_path, block):
    runs = kill_at_writes(tmp_path, "orders", block)
    once = {"phone": 1, **{f"{act}-{order}": 1 for order in ORDERS for act in ("charge", "close")}}
    assert [run for run in runs if run["acts"] != once] == []
    assert len(runs) >= 2 * 3 * len(ORDERS) // BLOCKS


def test_a_run_that_was_killed_before_it_had_a_plan_says_so_when_it_is_taken_up(tmp_path):
    journal = Journal(tmp_path / "runs.db")
    domain = Domain("lamps")
    domain.action("light", {}, provides="lit")
    world = World(domain)
    world.handler("light")(lambda: True)
    executor = Executor(world, journal=journal)
    journal.create("r1")
    with pytest.raises(InputError, match=r"no beginning of run 'r1'; it ended before it had a plan, and has done noth"):
        asyncio.run(executor.resume("r1"))
