"""Callbacks that are plain functions do not hold up the event loop."""

import asyncio
import threading

import pytest

from executor import Executor, RunStatus, World
from planner import Domain


@pytest.mark.parametrize("role", ["permit", "approve", "ask"])
def test_a_plain_callback_that_takes_its_time_holds_nobody_up(role):
    """The callback waits for what only the loop does; so it can say yes only where the loop goes on."""
    domain, beat = Domain("one"), threading.Event()
    domain.action("do", {}, provides=["done"], tags=["needs_approval", "trusted"])
    world = World(domain)
    world.handler("do")(lambda: None)

    def decide(_):
        return "yes" if beat.wait(2) else "no"

    async def main():
        roles = {"approve": lambda _: None if role == "ask" else True} | {role: decide}
        run = Executor(world, **roles).start(domain.problem(goal=["done"]))
        asyncio.get_running_loop().call_later(0.05, beat.set)
        return await run

    assert asyncio.run(main()).status is RunStatus.SUCCEEDED


class Board:
    """Decides as an object that can be called."""

    async def __call__(self, request):
        await asyncio.sleep(0)
        return f"{request.action} is not for us"


def test_an_asynchronous_callback_may_be_an_object():
    domain = Domain("one")
    domain.action("do", {}, provides=["done"])
    world = World(domain)
    world.handler("do")(lambda: None)
    outcome = asyncio.run(Executor(world, permit=Board()).run(domain.problem(goal=["done"])))
    assert "do is not for us" in outcome.reason
