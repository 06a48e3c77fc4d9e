"""A handler that was given up may be at work still, and pay later: nobody else pays meanwhile, in whichever process.

It is a plain function, in a thread: nothing stops it when its time is over, its caller leaves, or its loop ends. A "no"
of observers says nothing while it is at work.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from unittest import mock

import pytest
from payments import DOORS, LONG, opened_till

from executor import ExecutionPolicy, Executor, World, joining
from executor.loop import abandoned_calls
from planner import Domain

LIMIT, WORKS = 5.0, 60.0
"""Seconds that the handler has, and that it takes."""


@pytest.fixture(params=["journal", "no journal"])
def place(request, tmp_path):
    return tmp_path / "runs.db" if request.param == "journal" else None


async def give_up(till, world, journal, *, leaves):
    """Begin a payment that is given up: its time is over, or its caller `leaves`."""
    first = asyncio.ensure_future(till.ask("run", world, journal))
    if not leaves:
        return await first
    await asyncio.sleep(LIMIT)
    first.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await first
    return None


@contextlib.contextmanager
def other_process():
    """Let this process know nothing of the handlers and runs that are at work, as another one would."""
    with mock.patch.dict(joining._at_work, clear=True), mock.patch.object(abandoned_calls, "_abandoned", []):
        yield


@pytest.mark.parametrize("leaves", [False, True], ids=["timed out", "left"])
@pytest.mark.parametrize("sight", ["settles", "is late", "absent"])
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("world", ["same world", "other world"])
def test_whoever_asks_in_the_same_process_does_not_pay(place, world, door, sight, leaves):
    policy = None if leaves else ExecutionPolicy(timeout=LIMIT)
    with opened_till(place, sight=sight, acts=["in a thread"], before=WORKS, policy=policy) as till:
        own = till.open_world()
        other = till.open_world() if world == "other world" else own
        other.ledger = own.ledger

        async def main(journal):
            await give_up(till, own, journal, leaves=leaves)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(till.ask(door, other, journal), LONG)
            await asyncio.sleep(LONG)

        till.live(main)
        assert len(till.paid) == 1


@pytest.mark.parametrize("leaves", [False, True], ids=["timed out", "left"])
@pytest.mark.parametrize("sight", ["settles", "is late", "absent"])
@pytest.mark.parametrize("door", DOORS)
def test_whoever_asks_in_another_process_does_not_pay(tmp_path, door, sight, leaves):
    policy = None if leaves else ExecutionPolicy(timeout=LIMIT)
    with opened_till(tmp_path / "runs.db", sight=sight, acts=["in a thread"], before=WORKS, policy=policy) as till:

        async def main(journal):
            await give_up(till, till.open_world(), journal, leaves=leaves)
            with other_process(), contextlib.suppress(TimeoutError):
                told = await asyncio.wait_for(till.ask(door, till.open_world(), journal), WORKS / 4)
                assert told in {"WAITING", "OVER"}
            await asyncio.sleep(LONG)

        till.live(main)
        assert len(till.paid) == 1


@pytest.mark.parametrize("sight", ["settles", "is late"])
def test_when_it_has_ended_a_look_settles_it(place, sight):
    policy = ExecutionPolicy(timeout=LIMIT)
    with opened_till(place, sight=sight, acts=["in a thread"], before=WORKS, policy=policy) as till:
        world = till.open_world()

        async def main(journal):
            await till.ask("run", world, journal)
            await asyncio.sleep(2 * WORKS)
            return await till.ask("run", world, journal)

        assert till.live(main) == "SUCCEEDED"
        assert len(till.paid) == 1


def test_the_reason_says_once_that_the_handler_is_still_at_work():
    domain = Domain("bank")
    domain.action("pay", provides=["paid"])
    world, ends = World(domain), threading.Event()
    world.handler("pay", policy=ExecutionPolicy(timeout=0.1))(lambda: ends.wait(30) and None)

    async def main():
        return [await Executor(world).run(domain.problem(goal=["paid"])) for _ in range(2)]

    try:
        first, second = asyncio.run(main())
    finally:
        ends.set()
    assert first.steps[0].reason == "no answer within 0.1 s, and its handler is still at work"
    assert second.steps[0].reason == "its handler is still at work"
