"""Processes that die by `kill -9` inside the payment, and processes that ask at the same moment, at every door."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from doors.bank import Bank
from doors.cells import SCENES
from doors.faults import FAULTS
from doors.promises import PROMISES
from doors.registry import DOORS
from doors.story import Story, Told

from executor.journal import Journal

pytestmark = pytest.mark.timeout(120)
PROGRAM = Path(__file__).parents[2] / "killed_doors.py"
JUDGED = [
    "irreversible at most once",
    "not before what can fail",
    "looked at before",
    "success only if observed",
    "never overdrawn, and released",
    "ends with status and reason",
    "resumed",
]
"""The promises that can be judged of processes: a person answers in each of them."""
SAMPLE = {("sequential", "killed after acting"), ("planned calls", "killed after acting"), ("agent", "two at once")}
"""What a run of the tests does that are not slow."""
CASES = [
    (door, fault)
    for door, made in DOORS.items()
    if made.has_journal
    for fault in ("killed after acting", "killed before acting", "two at once")
]


def begin(folder, *arguments):
    command = [sys.executable, str(PROGRAM), str(folder), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process, story):
    """Wait for a process, and take over what it told, unless it was killed."""
    output, errors = process.communicate(timeout=100)
    if process.returncode == -signal.SIGKILL:
        story.crashes += 1
        return
    assert process.returncode == 0, errors[-2000:]
    said = json.loads(output.splitlines()[-1])
    story.told += [
        Told(each["status"], each["reason"], error=None if each["error"] == "None" else RuntimeError(each["error"]))
        for each in said["told"]
    ]
    story.reserved = said["reserved"]


@pytest.mark.parametrize(
    ("door", "fault"),
    [pytest.param(*case, marks=() if case in SAMPLE else pytest.mark.slow) for case in CASES],
)
def test_nothing_is_paid_twice_by_processes(door, fault, tmp_path):
    assert find_broken(door, fault, tmp_path) == []


@pytest.mark.parametrize(
    ("door", "fault"),
    [
        pytest.param(*case, marks=() if case in SAMPLE else pytest.mark.slow)
        for case in CASES
        if case[0] in {"sequential", "worker", "planned calls"}
    ],
)
def test_nothing_is_paid_twice_by_processes_on_postgres(door, fault, tmp_path, address):
    assert find_broken(door, fault, tmp_path, address) == []


def find_broken(door, fault, tmp_path, *place):
    """Return the promises that are broken where processes die or ask at once."""
    is_double = fault == "two at once"
    scene = SCENES[0]
    story = Story(DOORS[door], scene, next(each for each in FAULTS if each.name == fault), Bank(tmp_path / "bank"))
    first = [door, "none" if is_double else fault, scene.name, "first"]
    for each in [begin(tmp_path, *first, *place) for _ in range(1 + is_double)]:
        end(each, story)
    assert story.crashes == (not is_double)
    end(begin(tmp_path, *first[:3], "restarted", *place), story)
    return [f"{name}: {why}" for name in JUDGED for why in PROMISES[name](story)]


WORLD = """
from pathlib import Path
from doors.bank import Bank
from doors.cells import SCENES
from doors.faults import FAULTS
from doors.scenes import make_site

here = Path(__file__).parent
killed = next(each for each in FAULTS if each.name == "killed after acting")
site = make_site(Bank(here / "bank", pace=0.02), SCENES[0], killed, "plain", folder=here, journal=None)
world, problem = site.world, site.problem
"""


@pytest.mark.slow
@pytest.mark.parametrize("resumes", [False, True])
def test_the_command_line_pays_once(resumes, tmp_path):
    (tmp_path / "till.py").write_text(WORLD, encoding="utf-8")
    path = os.pathsep.join([str(PROGRAM.parent), *filter(None, [os.environ.get("PYTHONPATH")])])

    def call(*more):
        command = [sys.executable, "-m", "planner.cli", "run", "till.py", "--real", "--journal", "runs.db", *more]
        environment = os.environ | {"PYTHONPATH": path}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode

    assert call() == -signal.SIGKILL
    if resumes:
        with Journal(tmp_path / "runs.db") as journal:
            [run] = [each.run for each in journal.runs()]
        call("--resume", run)
    call()
    bank = Bank(tmp_path / "bank")
    assert (len(bank.acts("pay")), bank.holds("sealed")) == (1, True)
