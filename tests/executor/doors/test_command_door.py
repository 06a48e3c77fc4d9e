"""What the matrix of doors asks of each door, asked of the command line: each command is a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from doors.campaign import WORDS, Tale
from doors.cells import SCENES, makes_sense
from doors.command_door import CommandDoor
from doors.faults import FAULTS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
TESTS = Path(__file__).parents[2]
BLOCKS = 12


def tell(fault, scene):
    """Return the token of the story of a cell."""
    words = [word for word, fields in WORDS.items() if all(getattr(scene, name) == fields[name] for name in fields)]
    return str(Tale(CommandDoor.name, tuple(words), tuple(filter(None, fault.calls)), fault.looks, fault.host))


CELLS = [tell(fault, scene) for fault in FAULTS for scene in SCENES if makes_sense(fault, scene)]


def play(*options, is_broken=False):
    """Play in a process of its own: it forks, and has no threads."""
    command = [sys.executable, "-m", "doors.campaign", *options]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == is_broken, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_promise_holds_at_the_command_line(block):
    tokens = CELLS[block::BLOCKS]
    told = play(*[word for token in tokens for word in ("--only", token)])
    assert told.count("all promises hold") == len(tokens)


@pytest.mark.parametrize("seed", range(12))
def test_random_stories_at_the_command_line_keep_their_promises(seed):
    play("--door", CommandDoor.name, "--runs", "4", "--first", str(4 * seed))


def test_planted_bugs_are_found_at_the_command_line():
    for bug, token, promise in (
        ("entries are forgotten", "command line / blind /  / ", "irreversible at most once: paid"),
        ("nobody is asked for approval", "command line / approved /  / ", "approval honoured"),
        ("what a dead process had begun was not begun", "command line / blind / dies after / ", "irreversible at most"),
    ):
        assert promise in play("--plant", bug, "--only", token, is_broken=True)
