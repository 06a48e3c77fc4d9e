"""Each change of a domain, in each state of a run, on Temporal: a new version takes up the runs of the old one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from domain_versions import CHANGES, OLD, Bank, Version, state_problem

from executor import ActionPlan, RunStatus
from executor.errors import RunError
from executor.events.answers import HAPPENED
from planner import solve
from planner.errors import InputError

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")
from executor.temporal import TemporalExecutor
from executor.testing.temporal_server import connect_when_ready

pytestmark = pytest.mark.timeout(120)
WITH_EACH_COMMIT = (
    *("type renamed", "action renamed", "parameter renamed", "handler gone", "precondition added", "action removed"),
)
CELLS = [pytest.param(each, marks=() if each in WITH_EACH_COMMIT else pytest.mark.slow) for each in CHANGES]
Serve = Callable[..., AbstractAsyncContextManager[Any]]


class Desk:
    """A desk whose workers have one version after the other."""

    def __init__(self, serve: Serve) -> None:
        self.bank, self.name, self.run, self._serve = Bank(), f"desk {uuid4().hex}", "", serve

    @asynccontextmanager
    async def open(self, version: Version) -> AsyncIterator[Any]:
        """Let a worker of a version work."""
        async with self._serve(version.make(self.bank, self.name), queue=self.name) as executor:
            yield executor

    async def enqueue(self, address: str) -> None:
        """Leave the run, with its plan, where no worker is."""
        world = OLD.make(self.bank, self.name)
        executor = TemporalExecutor(world, await connect_when_ready(address), queue=self.name)
        plan = ActionPlan.of(solve(state_problem(world)))
        await executor.enqueue(plan, run=self.name, memory={"note": "rent"})

    async def ask(self, executor: Any) -> Any:
        """Begin the run, which waits for the approval of its payment."""
        outcome = await executor.run(state_problem(executor.world), run=self.name, memory={"note": "rent"})
        assert outcome.status is RunStatus.WAITING
        return outcome

    async def approve(self, executor: Any) -> Any:
        """Let the payment be done."""
        await self.ask(executor)
        return await executor.resume(self.name, answers={"approve:s2": True})

    async def go_on(self, executor: Any, *, is_new: bool = False) -> Any:
        """Resume the run, or follow one that `is_new`, and answer whatever it asks, until it asks no more."""
        outcome = await (executor.follow if is_new else executor.resume)(self.name)
        for _ in range(6):
            asked = {each.question: HAPPENED if HAPPENED in each.choices else True for each in outcome.questions}
            if not asked:
                return outcome
            outcome = await executor.resume(self.name, answers=asked)
        return outcome


async def leave_asking(desk: Desk, executor: Any) -> None:
    """Leave a run that waits for the approval of its payment."""
    await desk.ask(executor)


async def leave_in_doubt(desk: Desk, executor: Any) -> None:
    """Leave a run whose payment is in doubt: the bank has it, and gave no answer."""
    desk.bank.fails = True
    outcome = await desk.approve(executor)
    desk.bank.fails = False
    assert outcome.status is RunStatus.IN_DOUBT


async def leave_done(desk: Desk, executor: Any) -> None:
    """Leave a run that is over."""
    outcome = await desk.approve(executor)
    assert outcome.status is RunStatus.UNVERIFIED, outcome  # nobody observes payments


STATES: dict[str, Callable[[Desk, Any], Awaitable[None]]] = {
    "asking": leave_asking,
    "in doubt": leave_in_doubt,
    "over": leave_done,
}


@pytest.mark.parametrize("state", ["enqueued", *STATES])
@pytest.mark.parametrize("change", CELLS)
def test_a_new_version_takes_up_the_runs_of_the_old_one_on_temporal(
    change: str, state: str, on_temporal: Serve, server: str
) -> None:
    wanted, desk = CHANGES[change], Desk(on_temporal)
    bank = desk.bank

    async def main() -> Any:
        if state == "enqueued":
            await desk.enqueue(server)
        else:
            async with desk.open(OLD) as executor:
                await STATES[state](desk, executor)
        before = len(bank.checked)
        if wanted.waits and (state != "over" or not wanted.reads):
            await check_waiting(desk, wanted.new, wanted.waits, is_new=state == "enqueued")
            async with desk.open(OLD) as executor:  # the version that it was made with goes on
                return before, await desk.go_on(executor)
        async with desk.open(wanted.new) as executor:
            return before, await desk.go_on(executor, is_new=state == "enqueued")

    before, outcome = asyncio.run(main())
    assert outcome.status is RunStatus.UNVERIFIED, outcome.reason
    assert (bank.paid, bank.filed) == (["b1"], ["b1"])
    assert len(bank.checked) == max(before, 1)


async def check_waiting(desk: Desk, version: Version, words: str, *, is_new: bool) -> None:
    """Assert that the run waits with a reason, and that nothing is done or undone meanwhile."""
    done = [*desk.bank.paid], [*desk.bank.filed]
    async with desk.open(version) as executor:
        try:
            outcome = await desk.go_on(executor, is_new=is_new)
        except (RunError, InputError) as error:
            reason = str(error)
        else:
            assert outcome.status in (RunStatus.WAITING, RunStatus.IN_DOUBT), outcome
            reason = outcome.reason
    assert words in reason
    assert done == ([*desk.bank.paid], [*desk.bank.filed])
