"""A handler that returns what it has begun, or an exception, has not thereby done its work."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from enum import Enum
from typing import Any

import pytest

from executor import Agent, ExecutionPolicy, Executor, NothingDone, RunStatus, StepStatus, World
from executor.testing import run_virtual
from planner import Domain


class Verdict(Enum):
    """A verdict of a handler."""

    FAILED = 1
    BOOKED = 2


def settle(handler: Any, *tags: str, policy: ExecutionPolicy | None = None) -> Any:
    """Return the outcome of a run whose one step is done by `handler`."""
    domain = Domain("books")
    domain.action("settle", provides=["settled"], tags=["trusted", *tags])
    world = World(domain)
    world.handler("settle", policy=policy)(handler)
    return Executor(world).run(domain.problem(goal=["settled"]))


def make_bank(kind: str) -> tuple[World, Any]:
    domain = Domain("bank")
    tags = ["irreversible", *["needs_approval"] * (kind == "waits"), *["trusted"] * (kind == "pays")]
    domain.action("pay", provides=["paid"], tags=tags)
    world = World(domain)

    @world.handler("pay")
    def pay() -> bool:
        if kind == "raises":
            raise ConnectionError("the answer was lost")
        return kind != "refuses"

    return world, domain.problem(goal=["paid"])


INNER = {
    "pays": StepStatus.SUCCEEDED,
    "unseen": StepStatus.UNVERIFIED,
    "refuses": StepStatus.FAILED,
    "waits": StepStatus.IN_DOUBT,
    "raises": StepStatus.IN_DOUBT,
}
"""What becomes of a reversible step whose handler returns the outcome of a run with such a payment."""


@pytest.mark.parametrize("by", ["executor", "started", "agent"])
@pytest.mark.parametrize("kind", list(INNER))
def test_a_handler_that_returns_the_outcome_of_its_run_has_done_what_the_run_has_done(kind, by):
    world, problem = make_bank(kind)

    async def handler() -> Any:
        if by == "agent":
            return await Agent(world, problem).achieve(["paid"])
        return Executor(world).start(problem) if by == "started" else await Executor(world).run(problem)

    outcome = run_virtual(settle(handler))
    assert outcome.steps[0].status is INNER[kind]
    assert outcome.succeeded is (kind == "pays")


@pytest.mark.parametrize("kind", ["refuses", "waits", "raises"])
def test_an_irreversible_step_is_in_doubt_whose_handler_returns_the_outcome_of_a_run_that_may_have_acted(kind):
    world, problem = make_bank(kind)

    async def handler() -> Any:
        return await Executor(world).run(problem)

    outcome = run_virtual(settle(handler, "irreversible"))
    assert outcome.status is RunStatus.IN_DOUBT
    assert "ended as" in outcome.reason


def test_an_agent_that_has_begun_nothing_has_done_nothing():
    world, problem = make_bank("pays")

    async def handler() -> Any:
        return await Agent(world, problem).achieve(["not paid", "paid"])

    outcome = run_virtual(settle(handler))
    assert outcome.steps[0].status is StepStatus.FAILED
    assert "nothing was done" in outcome.reason


@pytest.mark.parametrize(
    ("returned", "tags", "status"),
    [
        (OSError("declined"), (), StepStatus.FAILED),
        (OSError("declined"), ("irreversible",), StepStatus.IN_DOUBT),
        (NothingDone("the line was busy"), ("irreversible",), StepStatus.FAILED),
        (SystemExit(1), ("irreversible",), StepStatus.IN_DOUBT),
        (KeyboardInterrupt(), (), StepStatus.IN_DOUBT),
        (Verdict.FAILED, (), StepStatus.FAILED),
        (Verdict.BOOKED, (), StepStatus.SUCCEEDED),
        (RunStatus.FAILED, (), StepStatus.FAILED),
    ],
)
def test_an_exception_or_a_verdict_that_is_returned_counts_as_one(returned, tags, status):
    outcome = run_virtual(settle(lambda: returned, *tags))
    assert outcome.steps[0].status is status


def fail() -> None:
    time.sleep(0.05)
    raise OSError("declined")


@pytest.mark.parametrize("is_plain", [True, False])
@pytest.mark.parametrize("kind", ["future", "task", "thread"])
def test_what_a_handler_returns_and_can_be_awaited_is_awaited(kind, is_plain):
    async def fail_later() -> None:
        await asyncio.sleep(0.05)
        raise OSError("declined")

    def make() -> Any:
        if kind == "thread":
            return concurrent.futures.ThreadPoolExecutor().submit(fail)
        return fail_later() if is_plain else asyncio.ensure_future(fail_later())

    async def make_in_loop() -> Any:
        return make()

    outcome = asyncio.run(settle(make if is_plain else make_in_loop))
    assert outcome.steps[0].status is StepStatus.FAILED
    assert "declined" in outcome.reason


def test_a_time_limit_holds_for_what_a_handler_returns_and_is_awaited():
    going, bank = threading.Event(), []

    def pay() -> Any:
        def work() -> None:
            going.wait(5)
            bank.append("pay")

        return concurrent.futures.ThreadPoolExecutor().submit(work)

    outcome = asyncio.run(settle(pay, "irreversible", policy=ExecutionPolicy(timeout=0.1, retries=3)))
    going.set()
    assert outcome.status is RunStatus.IN_DOUBT
    assert len(bank) <= 1
