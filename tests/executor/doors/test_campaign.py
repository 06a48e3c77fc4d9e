"""Random stories at every door keep every promise; one that does not is shrunk to a token that plays it again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from doors import campaign, processes
from doors.campaign import HUNG, Tale, draw, play_within, shrink
from doors.door import Told
from doors.faults import Fault
from doors.plants import PLANTS
from doors.registry import DOORS
from doors.scenes import Scene

from executor.testing import run_virtual

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
    "nested run / blind / is cancelled before, raises before, raises after / ask",
    "policy / blind / raises before, is cancelled after / ask",
    "policy /  / thread acts late; slow; two wishes at once / ",
    "mcp / refused typed /  / ",
    "timed / blind late budget / dies before / resume resume | ask ask",
    "nested run / budget / is cancelled after / ask",
    "nested run / blind / dies before, is cancelled after / ",
    "nested run / blind other-way budget / fills the disk; two wishes at once / ask | resume ask ask | ",
]
"""Stories in which a campaign saw two payments, a run that asked nothing, or one that did not end."""


@pytest.mark.parametrize("token", PAID_TWICE)
def test_stories_that_broke_a_promise_keep_it_now(token):
    assert Tale.parse(token).play()[1] == []


NEEDLESS = [
    "sequential / budget / is cancelled before, raises before /  | ask resume resume",
    "parallel / late budget / dies before; two at once / ask resume resume",
    "hierarchical / budget / dies before / resume ask resume",
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


class FakeTale:
    """Stands in for a tale: what is played is a coroutine, or a function."""

    def __init__(self, tell):
        self.tell = tell

    def play(self, *, in_processes):
        assert not in_processes
        self.tell()
        return "a story", []


def swallow_twice():
    for _ in range(2):
        with contextlib.suppress(BaseException):
            time.sleep(60)


async def spin():
    while True:
        pass


async def swallow_in_task():
    await asyncio.gather(spin(), return_exceptions=True)


def fail_when_stopped():
    try:
        time.sleep(60)
    finally:
        raise RuntimeError("what it was at is broken off")


@pytest.mark.parametrize("tell", [swallow_twice, lambda: run_virtual(swallow_in_task()), fail_when_stopped])
def test_a_story_that_has_to_be_stopped_is_hung_however_it_ends(tell, monkeypatch):
    monkeypatch.setattr(campaign, "AGAIN_SECONDS", 0.05)
    before = signal.getsignal(signal.SIGALRM)
    assert play_within(FakeTale(tell), 0.05) == (None, [HUNG])
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_story_that_ends_in_time_is_told_and_what_it_raises_is_raised():
    assert play_within(FakeTale(lambda: None), 60) == ("a story", [])
    with pytest.raises(ZeroDivisionError):
        play_within(FakeTale(lambda: 1 / 0), 60)


def test_a_story_that_hangs_is_shrunk_within_a_shorter_limit(monkeypatch):
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 0.05)

    def hang_after_acting(tale, *, in_processes):
        assert not in_processes
        time.sleep(60 if "raises after" in tale.calls else 0)
        return None, []

    monkeypatch.setattr(Tale, "play", hang_after_acting)
    tale = Tale.parse("sequential / blind late / raises after, lies; two at once / ask")
    assert str(shrink(tale, [HUNG])) == "sequential /  / raises after / "


def test_processes_of_a_story_that_is_stopped_are_killed(tmp_path):
    id_ = os.posix_spawnp("sleep", ["sleep", "60"], os.environ)
    told = FakeTale(lambda: processes._run(None, [(id_, tmp_path / "told")]))
    assert play_within(told, 0.05) == (None, [HUNG])
    with pytest.raises(ProcessLookupError):
        os.kill(id_, 0)


@pytest.mark.parametrize(("host", "asking"), [("", [1]), ("two at once", [2, 1]), ("two wishes at once", [2, 1])])
def test_what_counts_after_two_at_once_is_told_to_one_who_asks_alone(host, asking, monkeypatch, tmp_path):
    asked = []

    def run(story, began):
        asked.append(len(began))
        is_alone = len(began) == 1
        story.told.append(Told("SUCCEEDED" if is_alone else "OPEN"))
        story.reserved = [] if is_alone else ["60 by the other one"]

    monkeypatch.setattr(processes, "_begin", lambda *played: played)
    monkeypatch.setattr(processes, "_run", run)
    fault = Fault("drawn", host=host)
    story = processes.play_in_processes([DOORS["when"]], Scene("budget", has_budget=True), fault, tmp_path, ((),))
    assert asked == asking
    assert (story.told[-1].status, story.reserved) == ("SUCCEEDED", [])


@pytest.mark.parametrize(
    "token",
    [
        "sequential / blind / dies after / ask |",
        "agent / approved / raises after; two at once / resume | ask",
        "command line / blind / dies after / ask",
    ],
)
def test_a_story_happens_in_real_processes(token):
    command = [sys.executable, "-m", "doors.campaign", "--processes", "--only", token]  # it forks, and has no threads
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[1:3] for line in done.stdout.splitlines()].count(["act", "pay"]) == 1
