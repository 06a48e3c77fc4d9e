"""A handler that waits for its own run, or for one that waits for its run, is refused by name instead of for ever."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from executor import Executor, Recovery, RunStatus, World
from executor.testing import run_virtual
from planner import Domain


class House:
    """A house whose handlers ask for other runs; `asks` says which: the goal and the name, by action."""

    def __init__(self, place, asks):
        self.domain, self.asks, self.told, self.done = Domain("house"), asks, [], []
        for name in ("a", "b", "c"):
            self.domain.action(name, {}, provides=[f"done_{name}"])
        self.world = World(self.domain)
        for name in ("a", "b", "c"):
            self.world.handler(name)(lambda name=name: self.act(name))
            self.world.observer(f"done_{name}", conclusive=True)(lambda name=name: name in self.done)
        self.executor = Executor(self.world, place, recovery=Recovery(rungs=()))

    def start(self, name, run):
        return self.executor.start(self.domain.problem(goal=[f"done_{name}"]), run=run)

    async def act(self, name):
        await asyncio.sleep(0.1)
        if name in self.asks:
            try:
                await self.start(*self.asks[name])
            except Exception as error:
                self.told.append(str(error))
                raise
        self.done.append(name)


def run_all(house, *asked):
    async def main():
        async with asyncio.timeout(60):
            return await asyncio.gather(*[house.start(*each) for each in asked])

    return run_virtual(main())


@pytest.mark.parametrize("has_journal", [True, False])
@pytest.mark.parametrize("run", ["r1", None])
def test_a_handler_that_asks_for_its_own_run_is_refused(run, has_journal, tmp_path):
    """By its name, or by an equal request."""
    house = House(tmp_path / "runs.db" if has_journal else None, {"a": ("a", run)})
    [outcome] = run_all(house, ("a", run))
    assert outcome.status is not RunStatus.SUCCEEDED
    assert any("waits for itself: neither would ever end" in each for each in house.told)


@pytest.mark.parametrize("has_journal", [True, False])
def test_two_handlers_that_ask_for_the_runs_of_each_other_are_refused(has_journal, tmp_path):
    house = House(tmp_path / "runs.db" if has_journal else None, {"a": ("b", "r2"), "b": ("a", "r1")})
    run_all(house, ("a", "r1"), ("b", "r2"))
    assert any("which waits for it: neither would ever end" in each for each in house.told)


def test_three_in_a_circle_are_refused(tmp_path):
    house = House(tmp_path / "runs.db", {"a": ("b", "r2"), "b": ("c", "r3"), "c": ("a", "r1")})
    run_all(house, ("a", "r1"), ("b", "r2"), ("c", "r3"))
    assert any("neither would ever end" in each for each in house.told)


def test_a_child_that_asks_for_the_run_above_it_is_refused(tmp_path):
    house = House(tmp_path / "runs.db", {"a": ("b", None), "b": ("a", "r1")})
    run_all(house, ("a", "r1"))
    assert "a handler of run" in house.told[0]
    assert "waits for run 'r1', which waits for it" in house.told[0]


def test_one_that_waits_for_another_that_waits_for_nobody_is_not_refused(tmp_path):
    house = House(tmp_path / "runs.db", {"a": ("c", "r3"), "b": ("c", "r3")})
    run_all(house, ("a", "r1"), ("b", "r2"), ("c", "r3"))
    assert not house.told


class HouseOfTwo(House):
    """One of two processes that share a journal: it asks for the run of the other when both have begun."""

    def __init__(self, place, own):
        self.place, self.own, self.other = place, own, {"a": "b", "b": "a"}[own]
        super().__init__(place, {own: (self.other, self.other)})

    async def act(self, name):
        self.place.with_suffix(f".{self.own}").touch()
        while not self.place.with_suffix(f".{self.other}").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        await super().act(name)


def live(place, own):
    """Live as one of the two processes, and print what the handler was told."""
    house = HouseOfTwo(Path(place), own)

    async def main():
        async with asyncio.timeout(60):
            await house.start(own, own)

    asyncio.run(main())
    print(house.told)  # noqa: T201 - for the process that has begun this one


def test_two_processes_that_wait_for_each_other_are_refused(tmp_path):
    folder, code = Path(__file__).parent, f"import sys; from {Path(__file__).stem} import live; live(*sys.argv[1:])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}
    begun = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path / "runs.db", own], env=environment, stdout=-1, text=True)
        for own in ("a", "b")
    ]
    told = [each.communicate(timeout=90)[0] for each in begun]
    assert any("neither would ever end" in each for each in told)
