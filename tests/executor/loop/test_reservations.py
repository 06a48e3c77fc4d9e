"""Runs that draw on one account: what one has reserved, no other may take."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from executor import ActionResult, ExecutionPolicy, Executor, Journal, RunOutcome, RunStatus, Wait, World
from executor.journal.reservations import Reservation, Reservations, ReservationsInMemory
from executor.loop.books import settle_by_word
from executor.loop.locks_and_rates import find_pause
from executor.testing import run_virtual
from planner import Domain
from planner.lightweight import replace
from planner.model import Problem


class Bank:
    """A careless bank: it books whatever it is told, after a second; `lowest` is the least balance that it ever saw."""

    def __init__(self, balance: int = 100, policy: ExecutionPolicy | None = None) -> None:
        self.domain = Domain("bank", types=["bill"])
        self.domain.function("balance", low=0)
        self.domain.function("amount", "bill")
        self.domain.action(
            "pay",
            {"bill": "bill"},
            requires=["balance >= amount(bill)"],
            provides=["paid(bill)"],
            modifies="balance -= amount(bill)",
            tags=["irreversible"],
        )
        self.amounts = {"b1": 60, "b2": 60, "b3": 30}
        self.balance = self.lowest = balance
        self.paid: set[str] = set()
        self.world = World(self.domain)
        self.world.handler("pay", policy=policy)(self.pay)
        self.world.observer("balance", conclusive=True)(self.look)
        self.world.observer("paid(bill)", conclusive=True)(self.look_for_payment)

    async def look(self) -> int:
        seen = self.balance
        await asyncio.sleep(0.1)  # what it tells is old when it arrives
        return seen

    def look_for_payment(self, bill: str) -> bool:
        return bill in self.paid

    async def pay(self, bill: str) -> Any:
        await asyncio.sleep(1)
        self.balance -= self.amounts[bill]
        self.lowest = min(self.lowest, self.balance)
        self.paid.add(bill)
        return None

    def problem(self, bill: str) -> Problem:
        values = {f"amount({name})": amount for name, amount in self.amounts.items()}
        objects = dict.fromkeys(self.amounts, "bill")
        return self.domain.problem(objects=objects, initial=["balance = 100"], values=values, goal=[f"paid({bill})"])

    async def run_all(self, executors: list[Executor], bills: list[str]) -> list[RunOutcome]:
        runs = [each.run(self.problem(bill), run=bill) for each, bill in zip(executors, bills, strict=True)]
        return list(await asyncio.gather(*runs))


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("bills", [["b1", "b2"], ["b1", "b2", "b3"], ["b3", "b2", "b1"]])
def test_no_account_is_overdrawn_by_runs_at_once(bills: list[str], kept: bool, tmp_path: Path) -> None:
    bank = Bank()
    executor = Executor(bank.world, journal=tmp_path / "runs.db" if kept else None)
    outcomes = run_virtual(bank.run_all([executor] * len(bills), bills))
    assert bank.lowest >= 0
    assert [each.succeeded for each in outcomes].count(True) == len(bills) - 1
    refused = next(each for each in outcomes if not each.succeeded)
    assert refused.status is not RunStatus.SUCCEEDED
    assert "balance" in refused.reason


def test_executors_of_one_journal_share_what_is_reserved(tmp_path: Path) -> None:
    bank = Bank()
    executors = [Executor(bank.world, journal=tmp_path / "runs.db") for _ in range(2)]
    outcomes = run_virtual(bank.run_all(executors, ["b1", "b2"]))
    assert bank.lowest == 40
    assert sorted(each.succeeded for each in outcomes) == [False, True]


def test_a_step_that_waits_keeps_what_it_has_reserved(tmp_path: Path) -> None:
    bank = Bank(policy=ExecutionPolicy(timeout=5))
    executor = Executor(bank.world, journal=tmp_path / "runs.db")
    waiting, direct = Wait(event="cleared"), bank.pay
    bank.world.handler("pay")(lambda bill: waiting if bill == "b1" else direct(bill))
    first = run_virtual(executor.run(bank.problem("b1"), run="b1"))
    assert first.status is RunStatus.WAITING
    second = run_virtual(executor.run(bank.problem("b2"), run="b2"))
    assert not second.succeeded
    assert "and other runs have reserved 60 of balance: b1" in second.reason
    third = run_virtual(executor.run(bank.problem("b3"), run="b3"))
    assert third.succeeded
    step = first.steps[0].id
    bank.balance, bank.paid = bank.balance - 60, {*bank.paid, "b1"}
    assert run_virtual(executor.resume("b1", results={step: ActionResult()})).succeeded
    assert executor.performer.reservations.reserve("late", "s1", {"bank balance": -1}) == []


def test_what_was_reserved_outlives_the_process_and_ends_with_the_run(tmp_path: Path) -> None:
    bank = Bank(policy=ExecutionPolicy(timeout=5))
    bank.world.handler("pay")(lambda bill: Wait(event=bill))
    with Journal(tmp_path / "runs.db") as journal:
        run_virtual(Executor(bank.world, journal=journal).run(bank.problem("b1"), run="b1"))
    with Journal(tmp_path / "runs.db") as journal:
        assert journal.reservations.reserve("other", "s1", {"bank balance": -1}) == [
            Reservation("b1", "bank balance", -60, "s1")
        ]
        journal.delete("b1")
        assert journal.reservations.reserve("other", "s1", {"bank balance": -1}), "the payment is in doubt"
        (flight,) = journal.ledger.flights()
        settle_by_word(journal, [flight], flight.item, "not")
        assert journal.reservations.reserve("other", "s1", {"bank balance": -1}) == []


def test_a_look_that_shows_that_a_step_was_done_frees_what_the_run_in_doubt_has_reserved(tmp_path: Path) -> None:
    """The other run looks before it asks for the approval of the payment, and needs none then."""
    bank = Bank(balance=200)
    bank.world.model.actions["pay"] = replace(
        bank.world.model.actions["pay"], tags=frozenset({"irreversible", "needs_approval"})
    )
    slow, direct = asyncio.Event(), bank.pay

    async def pay(bill: str) -> None:
        await direct(bill)
        slow.set()
        await asyncio.sleep(100)

    bank.world.handler("pay")(pay)

    async def main() -> RunOutcome:
        with Journal(tmp_path / "runs.db") as journal:
            first = Executor(bank.world, journal, approve=lambda _: True)
            paying = asyncio.create_task(first.run(bank.problem("b1"), run="b1"))
            await slow.wait()
            paying.cancel()
            await asyncio.wait([paying])
            second = Executor(bank.world, journal, look="never")
            outcome = await second.run(bank.problem("b1"), run="b2")
            assert journal.ledger.flights() == []
            assert journal.reservations.reserve("other", "s1", {"bank balance": -1}) == []
            return outcome

    outcome = run_virtual(main())
    assert outcome.status is RunStatus.SUCCEEDED
    assert bank.balance == 140


@pytest.mark.parametrize("how", ["deleted", "cancelled", "taken up"])
@pytest.mark.parametrize("kept", [False, True])
def test_what_a_run_holds_that_nobody_drives_is_named_and_freed(how: str, kept: bool, tmp_path: Path) -> None:
    bank = Bank(policy=ExecutionPolicy(timeout=5))
    waiting, direct = Wait(event="cleared"), bank.pay
    bank.world.handler("pay")(lambda bill: waiting if bill == "b1" else direct(bill))
    executor = Executor(bank.world, journal=tmp_path / "runs.db" if kept else None)

    async def main() -> None:
        await executor.run(bank.problem("b1"), run="b1")
        refused = await executor.run(bank.problem("b2"), run="b2")
        assert refused.status is RunStatus.FAILED
        assert "other runs have reserved 60 of balance: b1; nobody drives 'b1' (step 's1'): answer it" in refused.reason
        if how == "deleted":
            executor.delete("b1")
        else:
            taken = executor.take_up("b1", results={} if how == "cancelled" else {"s1": ActionResult.failed("no")})
            if how == "cancelled":
                taken.cancel()
            await taken
        third = await executor.run(bank.problem("b2"), run="third")
        if how == "taken up":
            assert third.succeeded
            return
        assert not third.succeeded, "the payment is in doubt"
        again = await executor.run(bank.problem("b1"), run="again")
        (question,) = again.questions
        assert "begun by run 'b1', happened" in question.text
        await executor.resume("again", answers={question.question: "it happened"})
        assert executor.performer.reservations.reserve("late", "s1", {"bank balance": -1}) == []

    run_virtual(main())


@pytest.mark.parametrize("is_deleted", [False, True])
def test_what_a_run_has_reserved_for_a_step_that_it_never_began_is_free(is_deleted: bool, tmp_path: Path) -> None:
    bank = Bank()
    executor = Executor(bank.world, journal=tmp_path / "runs.db")

    async def main() -> RunOutcome:
        await executor.enqueue(bank.problem("b1"), run="b1")
        if is_deleted:
            executor.delete("b1")
        executor.performer.reservations.reserve("b1", "s1", {"bank balance": -60})  # and its process was killed
        return await executor.run(bank.problem("b2"), run="b2")

    assert run_virtual(main()).succeeded
    assert bank.paid == {"b2"}


def test_a_reversible_step_that_is_called_off_frees_what_it_has_reserved(tmp_path: Path) -> None:
    domain = Domain("shop")
    domain.function("stock", low=0)
    domain.action("take", {}, provides=["taken"], modifies="stock -= 2")
    world = World(domain)
    world.handler("take")(lambda: Wait(event="packed"))
    executor = Executor(world, journal=tmp_path / "runs.db")

    async def main() -> RunOutcome:
        problem = domain.problem(initial=["stock = 2"], goal=["taken"])
        assert (await executor.run(problem, run="first")).status is RunStatus.WAITING
        assert executor.performer.reservations.reserve("late", "s1", {"shop stock": -1})
        taken = executor.take_up("first")
        taken.cancel()
        return await taken

    assert run_virtual(main()).status is RunStatus.CANCELLED
    assert executor.performer.reservations.reserve("late", "s1", {"shop stock": -1}) == []


def make_reservations(kept: bool, path: Path) -> Reservations:
    return Journal(path / "runs.db").reservations if kept else ReservationsInMemory()


@pytest.mark.parametrize("kept", [False, True])
def test_earlier_reservations_count_and_later_ones_do_not(kept: bool, tmp_path: Path) -> None:
    made = make_reservations(kept, tmp_path)
    assert made.reserve("r1", "s1", {"fuel": Fraction(-1, 3), "oil": 2}) == []
    assert made.reserve("r2", "s1", {"fuel": -2}) == [Reservation("r1", "fuel", Fraction(-1, 3), "s1")]
    assert made.reserve("r1", "s1", {"fuel": -9, "oil": 2}) == []  # once
    assert made.reserve("r3", "s1", {"oil": 1, "gas": 1}) == [Reservation("r1", "oil", 2, "s1")]
    made.release("r1", "s1")
    assert made.reserve("r2", "s1", {"fuel": -2}) == []
    assert made.reserve("r3", "s2", {"fuel": 1}) == [Reservation("r2", "fuel", -2, "s1")]
    made.keep("r2", ["s2"])
    assert made.reserve("r3", "s2", {"fuel": 1}) == []


@pytest.mark.parametrize("model", ["parallel", "dag"])
def test_steps_of_one_run_that_change_one_number_do_not_overlap(model: Any) -> None:
    domain, left, at_work, most = Domain("shop"), [7], [0], [0]
    domain.function("stock", low=0)
    for name in ("a", "b", "c"):
        domain.action(name, {}, provides=[f"{name}_done"], modifies="stock -= 2")

    async def take() -> None:
        at_work[0] += 1
        most[0] = max(most[0], at_work[0])
        await asyncio.sleep(1)
        left[0] -= 2
        at_work[0] -= 1

    world = World(domain)
    for name in ("a", "b", "c"):
        world.handler(name)(take)
    world.observer("stock", conclusive=True)(lambda: left[0])
    problem = domain.problem(initial=["stock = 7"], goal=["a_done", "b_done", "c_done"])
    run_virtual(Executor(world, model=model).run(problem))
    assert (left, most) == ([1], [1])


def test_the_longer_a_step_waits_the_less_often_it_asks():
    assert [find_pause(each) for each in (0.0, 0.04, 1.0, 2.0, 60.0)] == [0.02, 0.02, 0.25, 0.5, 0.5]
    bank, asked = Bank(), []
    executor = Executor(bank.world)
    reserve = executor.performer.reservations.reserve

    def count(run: str, step: str, amounts: Any) -> list[Reservation]:
        asked.append(run)
        return reserve(run, step, amounts)

    executor.performer.reservations.reserve = count  # type: ignore[method-assign]
    executor.performer.is_driven = lambda _: True
    held = {f"{executor.performer.domain} balance": Fraction(-60)}
    reserve("another", "s1", held)

    async def pay() -> RunOutcome:
        paying = executor.start(bank.problem("b1"))
        await asyncio.sleep(20)
        executor.performer.reservations.release("another", "s1")
        return await paying

    assert run_virtual(pay()).status is RunStatus.SUCCEEDED
    assert 20 < len(asked) < 60
