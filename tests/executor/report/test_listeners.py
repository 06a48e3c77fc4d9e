"""Whoever follows a run hears all of it, changes nothing in it, and is let go when nobody drives it any more."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager

import pytest

from executor import Executor, RunStatus, Wait, World
from executor.events.events import RunEnded, RunResumed, RunStarted
from planner import Domain


class Notes:
    """A follower that notes what it is told."""

    def __init__(self):
        self.told = {}
        self.left = []

    @contextmanager
    def follow(self, state, run):
        self.told[run] = []
        yield lambda event: self.told[run].append((type(event).__name__, state.status))
        self.left.append(run)


def world(handler=lambda: None):
    domain = Domain("one")
    domain.action("do", {}, provides=["done"])
    found = World(domain)
    found.handler("do")(handler)
    found.observer("done")(lambda: True)
    return found, domain.problem(goal=["done"])


def test_a_follower_hears_each_run_by_itself_and_after_it_counts():
    notes = Notes()
    where, problem = world()
    executor = Executor(where, listeners=(notes,))

    async def both():
        await asyncio.gather(executor.run(problem, run="a"), executor.run(problem, run="b"))

    asyncio.run(both())
    assert sorted(notes.told) == sorted(notes.left) == ["a", "b"]
    for told in notes.told.values():
        assert told[0] == ("RunStarted", RunStatus.ACTIVE)
        assert told[-1] == ("RunEnded", RunStatus.SUCCEEDED)


def broken_listener():
    def listen(_):
        raise OSError("no space left")

    return listen


class Broken:
    """A follower that raises at a certain point."""

    def __init__(self, where):
        self.where = where

    @contextmanager
    def follow(self, *_):
        self.fails("begin")
        yield lambda _: self.fails("listen")
        self.fails("end")

    def fails(self, where):
        if where == self.where:
            raise OSError("no space left")


@pytest.mark.parametrize("broken", [broken_listener(), *map(Broken, ("begin", "listen", "end"))])
def test_a_listener_that_raises_changes_nothing_and_is_told_of_in_the_log(broken, caplog):
    heard = []
    where, problem = world()
    with caplog.at_level(logging.ERROR):
        outcome = asyncio.run(Executor(where, listeners=(broken, heard.append)).run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert isinstance(heard[0], RunStarted)
    assert isinstance(heard[-1], RunEnded)
    (record,) = caplog.records
    assert "no space left" in record.getMessage()


def test_followers_are_let_go_of_a_run_that_is_broken_off():
    notes = Notes()

    async def forever():
        await asyncio.Event().wait()

    where, problem = world(forever)

    async def broken_off():
        run = Executor(where, listeners=(notes,)).start(problem, run="a")
        await anext(run.events())
        assert notes.told["a"]
        run._task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(broken_off())
    assert notes.left == ["a"]


def test_a_run_that_is_taken_up_says_so_and_is_active_meanwhile(tmp_path):
    where, problem = world(lambda: Wait("for the post"))
    waits = asyncio.run(Executor(where, tmp_path / "runs.db").run(problem, run="a"))
    assert waits.status is RunStatus.WAITING
    notes, heard = Notes(), []
    executor = Executor(where, tmp_path / "runs.db", listeners=(notes, heard.append))
    outcome = asyncio.run(executor.resume("a", results={"s1": True}))
    assert outcome.status is RunStatus.SUCCEEDED
    assert heard[0] == RunResumed("a")
    assert notes.told["a"][0] == ("RunResumed", RunStatus.ACTIVE)
    assert executor.state_of("a").status is RunStatus.SUCCEEDED
