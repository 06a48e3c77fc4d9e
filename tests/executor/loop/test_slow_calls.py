"""A handler without a time limit that does not come back is told of, at growing intervals."""

import asyncio
import logging

import pytest

from executor import ExecutionPolicy, Executor, World
from executor.events.events import StepProgress
from executor.testing import run_virtual
from planner import Domain


def wait_for(seconds, *, tags=(), timeout=None, **options):
    """Return what is told of a handler that takes so many seconds, with the times."""
    domain, heard = Domain("wait"), []
    domain.action("pay", provides=["paid"], tags=["trusted", *tags])
    world = World(domain)
    world.handler("pay", policy=ExecutionPolicy(timeout=timeout))(lambda: asyncio.sleep(seconds))

    async def story():
        now, begun = asyncio.get_running_loop().time, asyncio.get_running_loop().time()

        def listen(event):
            if isinstance(event, StepProgress):
                heard.append((round(now() - begun), event.text))

        return await Executor(world, listeners=[listen], **options).run(domain.problem(goal=["paid"]))

    assert run_virtual(story()).succeeded
    return heard


@pytest.mark.parametrize("tags", [(), ("irreversible",)])
def test_it_is_told_whenever_its_time_has_doubled(tags, caplog):
    with caplog.at_level(logging.WARNING, "executor"):
        heard = wait_for(500, tags=tags)
    assert [at for at, _ in heard] == [60, 120, 240, 480]
    assert "pay() has been running for 60 s" in heard[0][1]
    assert "timeout=" in heard[0][1]
    assert len([each for each in caplog.records if "has been running" in each.getMessage()]) == 4


def test_its_time_is_an_option():
    assert [at for at, _ in wait_for(100, tells_after=30)] == [30, 60]
    assert wait_for(1000, tells_after=None) == []


def test_a_handler_with_a_time_limit_or_that_comes_back_is_not_told_of():
    assert wait_for(500, timeout=1000) == []
    assert wait_for(59) == []
