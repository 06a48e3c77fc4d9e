"""Hosts whose clocks differ by an hour share a database: all go by its clock."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time

import pytest
from belt_workers import WORLD, acts_of, enqueue, status_of, wait_until

from executor import Executor, Retention, Wait, World
from executor.errors import DrivenError
from executor.journal import open_journal
from executor.tools.clock import ServerClock
from executor.workers.worker import Worker
from planner import Domain

HOUR = 3600.0
genuine = time.time
SHIFTED = """
import sys, time
genuine, ahead = time.time, float(sys.argv[1])
time.time = lambda: genuine() + ahead
from planner.cli import main
main(sys.argv[2:])
"""


@pytest.fixture
def shift(monkeypatch):
    """Set the clock of this host ahead by some seconds."""
    return lambda ahead: monkeypatch.setattr(time, "time", lambda: genuine() + ahead)


def make_inn(seconds):
    """Return the domain and world of one step, which waits for so many seconds."""
    inn = Domain("inn")
    inn.action("rest", {}, provides=["rested"], tags=["trusted"])
    world = World(inn)
    world.handler("rest")(lambda: Wait(seconds=seconds))
    return inn, world


def work(world, place, seconds):
    """Let a worker work for so long."""

    async def main():
        worker = Worker(executor, poll=0.05)
        asyncio.get_running_loop().call_later(seconds, worker.stop)
        await worker.work()

    executor = Executor(world, place)
    asyncio.run(main())
    executor.journal.close()


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_events_have_the_time_of_the_database(address, shift, ahead):
    shift(ahead)
    with open_journal(address) as journal:
        journal.create("a")
        with journal.drive("a"):
            journal.append("a", "A", "")
        journal.save_plan("p", "{}")
        (record,), (plan,) = journal.runs(), journal.plans()
    assert [abs(each - genuine()) < 60 for each in (record.created, record.updated, plan.time)] == [True] * 3


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_a_wait_does_not_end_sooner_or_later_on_another_host(address, shift, ahead):
    inn, world = make_inn(HOUR / 2)
    executor = Executor(world, address)
    asyncio.run(executor.enqueue(inn.problem(goal=["rested"]), run="a"))
    executor.journal.close()
    work(world, address, 0.5)
    shift(ahead)
    work(world, address, 0.5)
    assert status_of(address, "a") == "WAITING"
    executor = Executor(world, address)
    ((_, began),) = [(each, each.since) for each in executor.state_of("a").steps.values()]
    assert abs(executor.clock.time() - began) < 60
    executor.journal.close()


def test_a_host_that_is_ahead_deletes_no_run_too_early(address, shift):
    inn, world = make_inn(0)
    executor = Executor(world, address, retention=Retention(over=HOUR / 2))
    asyncio.run(executor.run(inn.problem(goal=["rested"])))
    shift(HOUR)
    assert executor.delete_expired() == []
    shift(-HOUR)
    assert executor.delete_expired(Retention(over=0)) != []
    executor.journal.close()


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_a_lease_is_nobody_elses_though_the_clocks_differ(postgres, shift, ahead):
    place = postgres.address(f"ahead{int(ahead > 0)}", lease=2)
    with open_journal(place) as journal:
        journal.create("a")
        with journal.drive("a"):
            shift(ahead)
            with open_journal(place) as other:
                assert other.free([""]) == []
                with pytest.raises(DrivenError), other.drive("a"):
                    pass
                time.sleep(2.5)
                assert other.free([""]) == []
            journal.append("a", "A", "")


@pytest.mark.timeout(240)
def test_workers_whose_clocks_differ_by_two_hours_replace_each_other(postgres, tmp_path):
    belt, place = tmp_path / "belt.py", postgres.address("two_hours", lease=2)
    belt.write_text(WORLD)
    run = enqueue(belt, place)

    def start(ahead):
        words = ["worker", belt, "--journal", place, "--poll", "0.1", "--once"]
        return subprocess.Popen([sys.executable, "-c", SHIFTED, *map(str, [ahead, *words])], stderr=subprocess.DEVNULL)

    first = start(HOUR)
    wait_until(lambda: len(acts_of(belt)) >= 2)
    first.kill()
    assert first.wait(60) == -signal.SIGKILL
    second = start(-HOUR)
    wait_until(lambda: len(acts_of(belt)) >= 4)
    second.kill()
    second.wait(60)
    third = start(HOUR)
    assert third.wait(120) == 0
    assert status_of(place, run) == "SUCCEEDED"
    assert sorted(name for name, _ in acts_of(belt)) == [f"do{number}" for number in range(8)]


def test_the_surest_reading_of_a_clock_counts(monkeypatch):
    clock = ServerClock()

    def read(sent, received, answer):
        monkeypatch.setattr("executor.tools.clock.read_uptime", lambda: received)
        clock.note(sent, answer)

    read(100, 104, 1002)
    assert clock.time() == 1004
    read(200, 200.5, 1100)
    assert clock.time() == 1100.25
    read(300, 310, 1900)
    assert clock.time() == 1209.75
    read(30_000, 30_004, 31_000)
    assert clock.time() == 31_002
