"""Runs on Temporal share capacities, numbers, locks and rates, whichever workers carry them out."""

import asyncio
import subprocess
import sys
import time
from contextlib import AsyncExitStack
from datetime import timedelta
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path

import pytest

from executor import RunStatus, World
from planner import Domain

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")
pytestmark = pytest.mark.timeout(300)
SCRIPT = Path(__file__).with_name("yard.py")
QUICKLY = timedelta(seconds=2)


@pytest.fixture(scope="module")
def yards():
    spec = spec_from_file_location("yard", SCRIPT)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def ask_limits(client, queue):
    """Return what runs of a task queue have reserved."""
    from executor.temporal.shared_limits import name_limits

    return await client.get_workflow_handle(name_limits(queue)).query("told")


async def carry_out(server, yard, queue, action, workers=2):
    """Carry out all jobs at once with so many workers; return the outcomes, and what is reserved in the end."""
    from temporalio.client import Client

    from executor.temporal import TemporalExecutor, TemporalWorker

    client = await Client.connect(server)
    executor = TemporalExecutor(yard.world, client, queue, task_timeout=QUICKLY)
    async with AsyncExitStack() as serving:
        for _ in range(workers):
            worker = TemporalWorker(yard.world, await Client.connect(server), queue)
            await serving.enter_async_context(worker)
        runs = [executor.run(yard.plan(action, f"j{number}")) for number in range(6)]
        outcomes = await asyncio.gather(*runs)
        left = None if action == "mail" else await ask_limits(client, queue)
    return outcomes, left


@pytest.mark.parametrize(("action", "timed"), [("ring", False), ("cut", True)])
def test_a_lock_and_a_capacity_hold_for_all_runs(server, yards, tmp_path, action, timed):
    yard = yards.Yard(tmp_path / "acts", timed=timed)
    outcomes, left = asyncio.run(carry_out(server, yard, f"yard-{action}", action))
    assert [each.succeeded for each in outcomes] == [True] * 6
    assert yard.most_at_once() == 1
    assert left == [], "all is released"


def test_the_limits_go_on_in_a_new_history(server, yards, tmp_path, monkeypatch):
    monkeypatch.setattr("executor.temporal.shared_limits.MOST_EVENTS", 20)
    yard = yards.Yard(tmp_path / "acts")
    outcomes, left = asyncio.run(carry_out(server, yard, "yard-again", "ring"))
    assert [each.succeeded for each in outcomes] == [True] * 6
    assert yard.most_at_once() == 1
    assert left == []


def test_no_purse_is_overdrawn(server, yards, tmp_path):
    yard = yards.Yard(tmp_path / "acts")
    outcomes, left = asyncio.run(carry_out(server, yard, "yard-pay", "pay"))
    assert yard.count_coins() == 0
    assert [each.succeeded for each in outcomes].count(True) == 3
    assert left == []
    assert "coins" in next(each.reason for each in outcomes if not each.succeeded)


def test_a_rate_is_that_of_all_workers(server, yards, tmp_path):
    yard = yards.Yard(tmp_path / "acts", seconds=0.01)
    outcomes, _ = asyncio.run(carry_out(server, yard, "yard-mail", "mail"))
    assert [each.succeeded for each in outcomes] == [True] * 6
    begun = sorted(each[-1] for each in yard.read() if each[0] == "begins")
    assert all(later - begin > 0.9 for begin, later in zip(begun, begun[2:], strict=False)), "two a second, and no more"


def test_a_rate_of_looks_is_that_of_all_runs(on_temporal):
    domain, times = Domain("rated", types=["door"]), []
    domain.action("ring", {"door": "door"}, provides=["rung(door)"], tags=["irreversible"])
    world = World(domain)
    rung = set()

    @world.handler("ring")
    async def ring(door):
        rung.add(door)

    @world.observer("rung(door)", conclusive=True, settle_within=0, rate=(1, 0.5))
    async def look(door):
        times.append(time.monotonic())
        return door in rung

    async def run():
        async with on_temporal(world) as executor:
            doors = {"d1": "door", "d2": "door"}
            goals = [domain.problem(objects=doors, goal=[f"rung({each})"]) for each in doors]
            return await asyncio.gather(*map(executor.run, goals))

    outcomes = asyncio.run(run())
    assert [each.succeeded for each in outcomes] == [True, True]
    assert len(times) >= 4
    assert min(later - earlier for earlier, later in pairwise(times)) > 0.4


def start_worker(server, queue, file):
    return subprocess.Popen([sys.executable, SCRIPT, server, queue, file], stderr=subprocess.DEVNULL)


async def until(condition):
    async with asyncio.timeout(100):
        while not condition():  # noqa: ASYNC110 - handlers tell nobody
            await asyncio.sleep(0.02)


def test_a_capacity_stays_held_when_the_worker_is_killed(server, yards, tmp_path):
    yard, queue = yards.Yard(tmp_path / "acts", timed=True, seconds=2.0), "yard-killed"
    workers = [start_worker(server, queue, yard.file)]

    async def main():
        from temporalio.client import Client

        from executor.temporal import TemporalExecutor

        client = await Client.connect(server)
        executor = TemporalExecutor(yard.world, client, queue, task_timeout=QUICKLY, heartbeat=2.0)
        runs = [executor.start(yard.plan("cut", f"j{number}"), run=f"killed-{number}") for number in range(2)]
        for each in runs:
            await each.wait_until_begun()
        await until(lambda: len(yard.read()) == 1)
        workers[0].kill()
        workers.append(start_worker(server, queue, yard.file))
        return await asyncio.gather(*runs)

    try:
        outcomes = asyncio.run(main())
    finally:
        for each in workers:
            each.kill()
            each.wait()
    assert [each.succeeded for each in outcomes] == [True, True], "what was in doubt did not happen, and is done again"
    acts = yard.read()
    held = [(what, job) for what, _, job, *_ in acts]
    first = held[0][1]
    other = ({"j0", "j1"} - {first}).pop()
    assert [what for what, job in held if job == first] == ["begins", "begins", "ends"]
    assert all(a[1] == b[1] for a, b in pairwise(held) if a[0] == "begins"), "nobody begins before another has ended"
    assert ("ends", other) in held


def test_who_is_gone_loses_what_it_held(server, yards, tmp_path, monkeypatch):
    monkeypatch.setattr("executor.temporal.shared_limits.FIRST_DOUBT", 0.5)
    yard, queue = yards.Yard(tmp_path / "acts", seconds=5.0), "yard-gone"

    async def main():
        from temporalio.client import Client

        from executor.temporal import TemporalExecutor

        client = await Client.connect(server)
        executor = TemporalExecutor(yard.world, client, queue, task_timeout=QUICKLY)
        async with executor.worker():
            runs = []
            for number in range(3):
                runs.append(executor.start(yard.plan("ring", f"j{number}"), run=f"gone-{number}"))
                await runs[-1].wait_until_begun()
                await until_held(client, queue, number + 1)
            assert [each["run"] for each in await ask_limits(client, queue)] == ["gone-0", "gone-1", "gone-2"]
            await runs[1].cancel()
            assert (await runs[1]).status is RunStatus.CANCELLED
            assert [each["run"] for each in await ask_limits(client, queue)] == ["gone-0", "gone-2"]
            await client.get_workflow_handle("gone-0").terminate("by hand")
            assert (await runs[2]).succeeded
            assert await ask_limits(client, queue) == []
            assert [each[2] for each in yard.read()] == ["j0", "j0", "j2", "j2"], "a handler at work is waited for"

    asyncio.run(main())


async def until_held(client, queue, number):
    """Wait until so many claims are known."""
    from temporalio.service import RPCError

    async with asyncio.timeout(100):
        while True:
            try:
                if len(await ask_limits(client, queue)) >= number:
                    return
            except RPCError:  # nobody has asked for anything yet
                pass
            await asyncio.sleep(0.05)
