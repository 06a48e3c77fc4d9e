"""Random stories at every door keep every promise; one that does not is shrunk to a token that plays it again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from doors.campaign import Tale, draw, shrink
from doors.plants import PLANTS
from doors.registry import DOORS

TESTS = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_stories_keep_their_promises(seed):
    tales = [draw(door, seed) for door in DOORS]
    found = {str(tale): tale.play()[1] for tale in tales}
    assert {token: broken for token, broken in found.items() if broken} == {}


PAID_TWICE = [
    "agent / blind / raises before, is cancelled before, dies after / ",
    "dag / other-way budget / slow; two wishes at once / ",
    "dag / other-way budget / thread acts late; two wishes at once / ",
    "policy / blind / raises before, is cancelled after / ask",
    "policy /  / thread acts late; slow; two wishes at once / ",
    "mcp / refused typed /  / ",
    "timed / blind late budget / dies before / resume resume | ask ask",
]
"""Stories in which a campaign saw two payments, a run that asked nothing, or one that did not end."""


@pytest.mark.parametrize("token", PAID_TWICE)
def test_stories_that_broke_a_promise_keep_it_now(token):
    assert Tale.parse(token).play()[1] == []


NEEDLESS = [
    "sequential / budget / is cancelled before, raises before /  | ask resume resume",
    "parallel / late budget / dies before; two at once / ask resume resume",
]
"""Stories in which a campaign saw questions that a look could have answered."""


@pytest.mark.parametrize("token", NEEDLESS)
def test_what_can_be_seen_is_not_asked(token):
    story, broken = Tale.parse(token).play()
    assert (story.needless, broken) == ([], [])


@pytest.mark.parametrize("door", DOORS)
def test_a_token_tells_a_story_again(door):
    for seed in range(30):
        tale = draw(door, seed)
        assert Tale.parse(str(tale)) == tale
        assert draw(door, seed) == tale


def test_a_story_that_breaks_a_promise_is_shrunk(monkeypatch):
    next(each for each in PLANTS if each.name == "entries are forgotten").apply(monkeypatch)
    tale = Tale.parse("sequential / blind late / raises before; two wishes at once / ask resume | ask")
    broken = tale.play()[1]
    assert any(each.startswith("irreversible at most once") for each in broken)
    small = shrink(tale, broken)
    assert str(small) == "sequential / blind /  / "
    assert small.play()[1]


@pytest.mark.parametrize(
    "token", ["sequential / blind / dies after / ask |", "agent / approved / raises after; two at once / resume | ask"]
)
def test_a_story_happens_in_real_processes(token):
    command = [sys.executable, "-m", "doors.campaign", "--processes", "--only", token]  # it forks, and has no threads
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[1:3] for line in done.stdout.splitlines()].count(["act", "pay"]) == 1
