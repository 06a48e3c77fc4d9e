"""Equal requests without a name are one run on Temporal while it is at work, whichever processes make them."""

import asyncio
import time
from contextlib import asynccontextmanager

import pytest

from executor import RunExists, RunStatus, World
from planner import Domain

pytestmark = pytest.mark.timeout(120)


class Bell:
    """A bell that is rung for as long as nobody sets `done`; `rings` counts."""

    def __init__(self, **options):
        self.domain = Domain("bell", types=["tower"])
        self.domain.action("ring", {"tower": "tower"}, provides=["rung(tower)"], tags=["trusted"], **options)
        self.world = World(self.domain)
        self.begun, self.done, self.rings = asyncio.Event(), asyncio.Event(), 0

        @self.world.handler("ring")
        async def ring(**_):
            self.rings += 1
            self.begun.set()
            await self.done.wait()

    def problem(self, tower="t1"):
        return self.domain.problem(objects={"t1": "tower", "t2": "tower"}, goal=[f"rung({tower})"])


@pytest.fixture
def executors(on_temporal, server):
    """Return a context manager that makes two executors of a world, each with a client of its own."""

    @asynccontextmanager
    async def make(world, **options):
        from temporalio.client import Client

        from executor.temporal import TemporalExecutor

        options = {"heartbeat": 20.0, **options}
        async with on_temporal(world, **options) as one:
            yield one, TemporalExecutor(world, await Client.connect(server), one.queue, **options)

    return make


def test_equal_requests_at_once_are_one_run(executors):
    async def run():
        bell = Bell()
        async with executors(bell.world) as (one, other):
            runs = [each.start(bell.problem()) for each in (one, other, one)]
            another, own = one.start(bell.problem("t2")), other.start(bell.problem(), join=False)
            await bell.begun.wait()
            runs.append(other.start(bell.problem()))
            await asyncio.gather(*[each.wait_until_begun() for each in (*runs, another, own)])
            left = await one.enqueue(bell.problem())
            bell.done.set()
            ended = [await each for each in (*runs, another, own)]
            again = await one.run(bell.problem())
            await one.follow(left)
        return ended, left, again, bell.rings

    ended, left, again, rings = asyncio.run(run())
    assert all(each.succeeded for each in (*ended, again))
    assert len({each.run for each in ended[:4]}) == 1
    others = {each.run for each in (*ended[4:], again)} | {left}
    assert len(others - {ended[0].run}) == 4, "another goal, join=False, enqueue, and afterwards"
    assert rings == 5


def test_a_run_that_waits_is_not_joined_but_named_ones_are(executors):
    async def run():
        bell = Bell()
        bell.domain.action("toll", {"tower": "tower"}, provides=["tolled(tower)"], tags=["needs_approval"])
        bell.world = World(bell.domain)
        bell.world.handler("ring")(lambda **_: None)
        bell.world.handler("toll")(lambda **_: None)
        problem = bell.domain.problem(objects={"t1": "tower"}, goal=["tolled(t1)"])
        async with executors(bell.world, ask="later") as (one, other):
            first, second = await one.run(problem), await other.run(problem)
            named = [await each.run(problem, run="evening") for each in (one, other)]
            with pytest.raises(RunExists):
                await other.run(problem, run="evening", join=False)
        return first, second, named

    first, second, named = asyncio.run(run())
    assert first.status is second.status is RunStatus.WAITING
    assert first.run != second.run
    assert {each.run for each in named} == {"evening"}


async def count_marks(executor, expected):
    """Wait until the server lists `expected` open marks of requests."""
    async with asyncio.timeout(30):
        while (await executor.client.count_workflows(OPEN_MARKS)).count != expected:  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(0.1)


OPEN_MARKS = 'WorkflowType="forethought-request" AND ExecutionStatus="Running"'


def test_a_request_joins_as_long_as_the_first_one_is_under_way(executors, monkeypatch):
    async def run():
        bell = Bell()
        async with executors(bell.world) as (one, other):
            first = one.start(bell.problem())
            await bell.begun.wait()
            today = time.time
            monkeypatch.setattr(time, "time", lambda: today() + 86_400)
            late = [other.start(bell.problem()), one.start(bell.problem())]
            await asyncio.gather(*[each.wait_until_begun() for each in late])
            await count_marks(one, 1)
            bell.done.set()
            ended = [await each for each in (first, *late)]
            await count_marks(one, 0)
        return ended, bell.rings

    ended, rings = asyncio.run(run())
    assert all(each.succeeded for each in ended)
    assert len({each.run for each in ended}) == rings == 1


@pytest.mark.filterwarnings("ignore:Cannot find activity to cancel")
def test_a_run_that_was_terminated_and_one_that_was_never_begun_are_not_joined(executors, monkeypatch):
    from executor.temporal import joined_requests

    monkeypatch.setattr(joined_requests, "BEGINNING", 0.5)

    async def run():
        bell = Bell()
        async with executors(bell.world) as (one, other):
            first = one.start(bell.problem())
            await bell.begun.wait()
            await one.client.get_workflow_handle(first.id).terminate("by hand")
            bell.done.set()
            second = await other.run(bell.problem())
            monkeypatch.setattr(type(one), "_start_workflow", die)
            dead = one.start(bell.problem("t2"))
            await asyncio.wait([dead._begun], timeout=1)
            monkeypatch.undo()
            third = await other.run(bell.problem("t2"))
            await count_marks(one, 0)
            dead._begun.cancel()
        return first.id, second, third

    async def die(*_):
        await asyncio.Event().wait()

    first, second, third = asyncio.run(run())
    assert second.succeeded
    assert third.succeeded
    assert second.run != first
