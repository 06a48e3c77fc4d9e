"""What was done with other values than the request named counts for these values, too."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from executor import Executor, RunStatus, World
from executor.adapters.planned_calls import PlannedCalls
from executor.events.answers import HAPPENED
from executor.journal import open_journal
from executor.testing import Crash, run_virtual
from executor.testing.virtual_time import die
from planner import Domain

ASKED, DONE = 50, 20


class Desk:
    """A desk that pays orders; `bank` has the payments."""

    def __init__(self, *tags: str) -> None:
        self.domain, self.bank = Domain("desk", types=["order"]), list[tuple[str, int]]()
        self.domain.action("pay", {"o": "order", "amount": int}, provides=["paid(o)"], tags=["irreversible", *tags])
        self.world = World(self.domain)
        self.world.handler("pay")(lambda o, amount: self.bank.append((o, amount)))

    def ask(self, executor: Executor, amount: int) -> Any:
        problem = self.domain.problem(objects={"o7": "order"}, goal=["paid(o7)"])
        return run_virtual(executor.run(problem, memory={"amount": amount}, join=False))


async def pay_by_calls(desk: Desk, place: Any) -> None:
    problem = desk.domain.problem(objects={"o7": "order"}, goal=["paid(o7)"])
    calls = PlannedCalls(desk.world, problem, journal=place, memory={"amount": ASKED})
    report = await calls.call("pay", {"o": "o7", "amount": DONE})
    if report.status == "WAITING":
        await calls.answer("approve:s1", "yes")


@pytest.mark.parametrize("has_journal", [False, True])
@pytest.mark.parametrize("by", ["approval", "answer", "hook", "agent"])
def test_a_payment_of_another_amount_than_was_asked_for_is_known_by_both(tmp_path, by, has_journal):
    desk, place = Desk(*["needs_approval"] * (by in {"approval", "answer"})), tmp_path / "runs.db"
    terms: dict[str, Any] = {"journal": place} if has_journal or by == "agent" else {}
    change = {"values": {"amount": DONE}}
    first = Executor(desk.world, **terms, **({"approve": lambda _: change} if by == "approval" else {}))
    if by == "agent":
        asyncio.run(pay_by_calls(desk, place))
    else:
        if by == "hook":

            @desk.world.around
            async def lower(_, proceed):
                return await proceed(amount=DONE)

        waiting = desk.ask(first, ASKED)
        if by == "answer":
            run_virtual(first.resume(waiting.run, answers={"approve:s1": change}))
    assert desk.bank == [("o7", DONE)]
    others = Executor(desk.world, **terms, approve=lambda _: True)
    for amount in (DONE, ASKED):
        assert desk.ask(others, amount).status is RunStatus.WAITING
    assert desk.bank == [("o7", DONE)]


@pytest.mark.parametrize("fault", ["raises", "dies"])
def test_what_a_hook_has_changed_is_known_of_a_payment_in_doubt(place, fault):
    desk = Desk()

    async def pay(o: str, amount: int) -> None:
        desk.bank.append((o, amount))
        if fault == "dies":
            await die("kill -9")
        raise ConnectionError("reset")

    @desk.world.around
    async def lower(_, proceed):
        return await proceed(amount=DONE)

    desk.world.handler("pay")(pay)
    with open_journal(place) as journal, contextlib.suppress(Crash):
        assert desk.ask(Executor(desk.world, journal), ASKED).status is RunStatus.IN_DOUBT
    desk.world.hooks.clear()
    for _ in range(2):  # the first one is asked about the doubt, the other one about what was done then
        with open_journal(place) as journal:
            executor = Executor(desk.world, journal)
            waiting = desk.ask(executor, DONE)
            assert waiting.status is RunStatus.WAITING
            again = desk.ask(executor, ASKED)
            for each in again.questions:
                if each.question.startswith("flight:"):
                    run_virtual(executor.resume(again.run, answers={each.question: HAPPENED}))
    assert desk.bank == [("o7", DONE)]


def test_another_amount_is_another_payment(tmp_path):
    desk = Desk("needs_approval")
    desk.ask(Executor(desk.world, journal=tmp_path / "runs.db", approve=lambda _: {"values": {"amount": DONE}}), ASKED)
    last = desk.ask(Executor(desk.world, journal=tmp_path / "runs.db", approve=lambda _: True), 70)
    assert last.status is RunStatus.UNVERIFIED
    assert desk.bank == [("o7", DONE), ("o7", 70)]


def test_a_payment_at_work_holds_up_one_of_the_amount_that_was_approved():
    desk, begun, going = Desk("needs_approval"), asyncio.Event(), asyncio.Event()

    async def pay(o: str, amount: int) -> None:
        desk.bank.append((o, amount))
        begun.set()
        await going.wait()

    desk.world = World(desk.domain)
    desk.world.handler("pay")(pay)
    problem = desk.domain.problem(objects={"o7": "order"}, goal=["paid(o7)"])

    async def ask_both() -> list[RunStatus]:
        lower = Executor(desk.world, approve=lambda _: {"values": {"amount": DONE}})
        first = lower.start(problem, memory={"amount": ASKED})
        await begun.wait()
        second = Executor(desk.world, approve=lambda _: True).start(problem, memory={"amount": DONE})
        await asyncio.sleep(1)
        assert desk.bank == [("o7", DONE)]
        going.set()
        return [(await each).status for each in (first, second)]

    assert run_virtual(ask_both()) == [RunStatus.UNVERIFIED, RunStatus.WAITING]
    assert desk.bank == [("o7", DONE)]
