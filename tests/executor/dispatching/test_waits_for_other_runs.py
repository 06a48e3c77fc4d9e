"""A run in time never waits in silence for other runs: it goes on, or ends as WAITING and says for what."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from executor import Executor, RunOutcome, RunStatus, World
from executor.events.answers import HAPPENED, NOTHING
from executor.journal import Journal
from executor.plans.action_plan import ActionPlan
from executor.testing import Crash, VirtualClock, run_virtual
from planner import Domain
from planner.plan import Plan, Step


class Shop:
    """Orders that are paid at one till; the first payment "raises" then, perhaps "late", or its process is "killed"."""

    def __init__(self, folder: Path, fault: str = "", tills: int = 1) -> None:
        self.domain = Domain("shop", types=["order"])
        self.domain.action(
            "pay", {"o": "order"}, provides=["paid(o)"], duration=5, holds={"till": 1}, tags=["irreversible"]
        )
        self.bank: list[str] = []
        self.tills = tills
        self.place, self.fault, self.world = folder / "runs.db", fault, World(self.domain)

        @self.world.handler("pay")
        async def pay(o: str) -> None:
            self.bank.append(o)
            if self.fault and len(self.bank) == 1:
                if self.fault == "killed":
                    asyncio.get_running_loop().die("killed")  # type: ignore[attr-defined]
                    await asyncio.Future()
                await asyncio.sleep(10 if self.fault == "late" else 0)
                raise RuntimeError("lost")
            await asyncio.sleep(12 if self.fault == "late" else 5)

    def run(self, *orders: str, name: str | None = None, deadline: int | None = None) -> RunOutcome:
        """Run a plan that pays `orders`."""
        return self.within_an_hour(lambda executor: executor.run(self.plan(orders, deadline), join=False, run=name))

    def resume(self, run: str) -> RunOutcome:
        """Take up a run."""
        return self.within_an_hour(lambda executor: executor.resume(run))

    def answer(self, run: str, said: str) -> RunOutcome:
        """Answer the open question of a run, and take it up."""

        async def go_on(executor: Executor) -> RunOutcome:
            (question,) = executor.state_of(run).open_questions
            return await executor.resume(run, answers={question: said})

        return self.within_an_hour(go_on)

    def within_an_hour(self, act: Callable[[Executor], Awaitable[RunOutcome]], *, stay: bool = False) -> RunOutcome:
        """Carry `act` out in a process of its own; raises `TimeoutError` where that takes more than an hour."""
        with Journal(self.place) as journal:
            executor = Executor(self.world, journal=journal, clock=VirtualClock(), stay=stay)
            return run_virtual(asyncio.wait_for(act(executor), 3600), start=time.time())

    def plan(self, orders: Sequence[str], deadline: int | None = None) -> ActionPlan:
        problem = self.domain.problem(
            objects={"o7": "order", "o8": "order"},
            goal=[f"paid({each})" for each in orders],
            capacity={"till": self.tills},
            deadline=deadline,
        )
        return ActionPlan.of(Plan(tuple([Step("pay", (each,)) for each in orders]), problem), model="timed")

    def leave_doubt(self) -> str:
        """Begin a run that leaves `pay(o7)` in doubt, and return its name."""
        if self.fault == "killed":
            with pytest.raises(Crash) as died:
                self.run("o7", name="first")
            died.value.bury()
        else:
            assert self.run("o7", name="first").status is RunStatus.IN_DOUBT
        return "first"


@pytest.mark.parametrize("fault", ["raises", "killed"])
@pytest.mark.parametrize("orders", [("o7",), ("o7", "o8")])
@pytest.mark.parametrize(("said", "more"), [(HAPPENED, 0), (NOTHING, 1)])
def test_a_run_asks_about_the_step_that_another_run_has_left_in_doubt(fault, orders, said, more, tmp_path):
    shop = Shop(tmp_path, fault)
    first, second = shop.leave_doubt(), shop.run(*orders)
    assert second.status is RunStatus.WAITING
    (question,) = second.questions
    assert f"begun by run {first!r}, happened" in question.text
    assert shop.answer(second.run, said).status is RunStatus.UNVERIFIED, "nobody looks in this world"
    assert (shop.bank.count("o7"), shop.bank.count("o8")) == (1 + more, orders.count("o8"))


@pytest.mark.parametrize("fault", ["raises", "killed"])
@pytest.mark.parametrize("orders", [("o8",), ("o8", "o7")])
def test_a_run_waits_where_another_step_in_doubt_has_what_it_needs(fault, orders, tmp_path):
    shop = Shop(tmp_path, fault)
    first, second = shop.leave_doubt(), shop.run(*orders)
    assert second.status is RunStatus.WAITING
    assert f"pay(o8) needs till, which other runs hold; nobody drives {first!r} (step 's1'): answer it" in second.reason
    assert shop.bank == ["o7"]
    assert shop.resume(second.run).reason == second.reason


@pytest.mark.parametrize("fault", ["raises", "killed"])
def test_a_run_goes_on_when_what_it_needs_is_released(fault, tmp_path):
    shop = Shop(tmp_path, fault)
    first, second = shop.leave_doubt(), shop.run("o8")
    if fault == "killed":
        shop.resume(first)
    assert shop.answer(first, HAPPENED).status is RunStatus.UNVERIFIED
    assert shop.resume(second.run).status is RunStatus.UNVERIFIED
    assert shop.bank == ["o7", "o8"]


def test_a_run_that_asks_holds_nothing_that_others_need(tmp_path):
    shop = Shop(tmp_path)
    assert shop.run("o7").status is RunStatus.UNVERIFIED
    asks = shop.run("o7")
    assert (asks.status, len(asks.questions)) == (RunStatus.WAITING, 1), "it was done, and nobody has seen it"
    assert shop.run("o8").status is RunStatus.UNVERIFIED
    assert shop.answer(asks.run, "yes").status is RunStatus.UNVERIFIED
    assert shop.bank == ["o7", "o8", "o7"]


@pytest.mark.parametrize("is_kept", [False, True])
def test_two_runs_at_once_of_one_step_end_or_ask(is_kept, tmp_path):
    shop = Shop(tmp_path)

    async def run_both() -> list[RunOutcome]:
        places = [shop.place] * 2 if is_kept else [None]
        executors = [Executor(shop.world, journal=each, clock=VirtualClock()) for each in places]
        runs = [each.run(shop.plan(["o7"]), join=False) for each in executors * (1 if is_kept else 2)]
        return await asyncio.wait_for(asyncio.gather(*runs), 3600)

    outcomes = run_virtual(run_both())
    assert {each.status for each in outcomes} == {RunStatus.UNVERIFIED, RunStatus.WAITING}
    assert shop.bank == ["o7"]


def test_a_run_that_stays_goes_on_when_what_it_needs_is_released(tmp_path):
    shop = Shop(tmp_path, "raises")
    first = shop.leave_doubt()

    async def answer_later(executor: Executor) -> RunOutcome:
        staying = executor.start(shop.plan(["o8"]))
        await asyncio.sleep(100)
        (question,) = executor.state_of(first).open_questions
        await executor.resume(first, answers={question: HAPPENED})
        return await staying

    assert shop.within_an_hour(answer_later, stay=True).status is RunStatus.UNVERIFIED
    assert shop.bank == ["o7", "o8"]


def test_a_missed_deadline_keeps_nobody_from_being_asked_about_a_doubt(tmp_path):
    shop = Shop(tmp_path, "late", tills=2)
    outcome = shop.run("o7", "o8", deadline=6)
    assert (outcome.status, len(outcome.questions)) == (RunStatus.IN_DOUBT, 1)
    outcome = shop.answer(outcome.run, HAPPENED)
    assert (outcome.status, "the deadline was at 6 s" in outcome.reason) == (RunStatus.FAILED, True)
