"""What people found who had not seen the code: ways to pay twice, and to hear of a payment that was none."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from executor import ActionResult, Executor, Journal, NothingDone, RunStatus, World
from executor.adapters.planned_calls import PlannedCalls
from executor.errors import RunError
from executor.testing import SimulatedWorld, run_virtual
from htn.language.declare import Methods
from planner import Domain


class Desk:
    """A desk that pays an order by card or in cash, as the methods of a task; `bank` has the payments."""

    def __init__(self, *, seen: bool) -> None:
        domain = Domain("desk", types=["order"])
        domain.action("card", {"o": "order"}, provides=["by_card(o)"], tags=["irreversible"])
        domain.action("cash", {"o": "order"}, provides=["by_cash(o)"], tags=["irreversible"], cost=5)
        how = Methods(domain)
        how.task("settle", o="order")
        how.method("m1", {"o": "order"}, task="settle(o)", subtasks=["card(o)"])
        how.method("m2", {"o": "order"}, task="settle(o)", subtasks=["cash(o)"])
        self.bank, self.is_down = [], True
        self.world = World(how)
        self.world.handler("card")(self.card)
        self.world.handler("cash")(lambda **_: self.bank.append("cash"))
        if seen:
            for way in ("card", "cash"):
                observe = self.world.observer(f"by_{way}(_)", conclusive=True, settle_within=0)
                observe(lambda way=way: ["o1"] if way in self.bank else [])
        self.problem = how.problem(objects={"o1": "order"}, tasks=["settle(o1)"])

    def card(self, **_: Any) -> None:
        if self.is_down:
            raise NothingDone("the terminal is down")
        self.bank.append("card")


@pytest.mark.parametrize("has_journal", [False, True])
def test_a_task_that_was_done_by_its_other_method_is_not_paid_again_unasked(tmp_path, has_journal):
    desk = Desk(seen=True)
    executor = Executor(desk.world, journal=Journal(tmp_path / "runs.db") if has_journal else None)
    assert run_virtual(executor.run(desk.problem, join=False)).status is RunStatus.SUCCEEDED
    assert desk.bank == ["cash"]
    desk.is_down = False
    outcome = run_virtual(executor.run(desk.problem, join=False))
    assert outcome.status is RunStatus.WAITING
    assert "card(o1) would be done in its place" in outcome.questions[0].text
    assert desk.bank == ["cash"]


@pytest.mark.parametrize("answer", ["no", "it is so already"])
def test_a_task_is_not_seen_to_be_done_where_somebody_says_so(tmp_path, answer):
    desk = Desk(seen=False)
    desk.is_down = False
    executor = Executor(desk.world, journal=tmp_path / "runs.db")
    assert run_virtual(executor.run(desk.problem, run="a")).status is RunStatus.UNVERIFIED
    waiting = run_virtual(executor.run(desk.problem, run="b"))
    outcome = run_virtual(executor.resume("b", answers={waiting.questions[0].question: answer}))
    assert outcome.status is RunStatus.UNVERIFIED
    assert "card(o1): already so" in outcome.reason
    assert desk.bank == ["card"]


@pytest.mark.parametrize("answer", ["no", "it is so already"])
def test_what_another_way_has_not_brought_is_not_believed(tmp_path, answer):
    domain = Domain("books", types=["order"])
    domain.action("card", {"o": "order"}, requires=["works"], provides=["by_card(o)"], tags=["irreversible"])
    domain.action("cash", {"o": "order"}, provides=["by_cash(o)"], tags=["irreversible"], cost=5)
    for way in ("card", "cash"):
        domain.action(f"book_{way}", {"o": "order"}, requires=[f"by_{way}(o)"], provides=["booked(o)"])
    world, done, booked = World(domain), [], []
    for name in domain.model.actions:
        world.handler(name)(lambda name=name, **_: (booked if name.startswith("book") else done).append(name))
    executor = Executor(world, journal=tmp_path / "runs.db")
    terms: dict[str, Any] = {"objects": {"o1": "order"}, "goal": ["booked(o1)"]}
    run_virtual(executor.run(domain.problem(**terms), run="a"))
    assert (done, booked) == (["cash"], ["book_cash"])
    booked.clear()
    waiting = run_virtual(executor.run(domain.problem(**terms, initial=["works"]), run="b"))
    run_virtual(executor.resume("b", answers={waiting.questions[0].question: answer}))
    assert done == ["cash"]
    assert "book_card" not in booked


@pytest.mark.parametrize("how", ["returns failed", "raises NothingDone"])
def test_a_hook_that_fails_after_the_payment_leaves_it_in_doubt(how):
    domain, bank = Domain("bank"), []
    domain.action("pay", provides=["paid"], tags=["irreversible"])
    world = World(domain)
    world.handler("pay")(lambda: bank.append("pay"))

    @world.around
    async def audit(_, proceed):
        await proceed()
        if how == "raises NothingDone":
            raise NothingDone("the log is full")
        return ActionResult.failed("the log is full")

    executor = Executor(world)
    first = run_virtual(executor.run(domain.problem(goal=["paid"]), join=False))
    assert first.status is RunStatus.IN_DOUBT
    assert "a hook failed after the handler had done its work: the log is full" in first.reason
    assert run_virtual(executor.run(domain.problem(goal=["paid"]), join=False)).status is RunStatus.WAITING
    assert bank == ["pay"]


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        (Any, Fraction(1, 2), 0.5),
        (Any, Decimal("0.5"), Fraction(1, 2)),
        (Any, Fraction(5), 5),
        (int, 6, None),
        (str, "x", None),
    ],
)
def test_equal_values_and_defaults_make_no_other_payment(kind, first, second):
    domain, bank = Domain("bank"), []

    def pay(amount=7 if kind is int else "-"):
        bank.append(amount)

    pay.__annotations__["amount"] = kind
    domain.action(provides=["paid"], tags=["irreversible"])(pay)
    executor = Executor(World(domain))
    problem = domain.problem(goal=["paid"])
    for value in (first, second):
        memory = {} if value is None else {"amount": value}
        outcome = run_virtual(executor.run(problem, memory=memory, join=False))
    assert outcome.status is RunStatus.WAITING
    assert len(bank) == 1


def test_a_simulated_run_that_is_over_tells_nothing_of_the_real_world(tmp_path):
    domain = Domain("bank")
    domain.action("pay", provides=["paid"], tags=["irreversible"])
    problem = domain.problem(goal=["paid"])
    with Journal(tmp_path / "runs.db") as journal:
        asyncio.run(Executor(SimulatedWorld(problem).world, journal).run(problem, run="r"))
        world = World(domain)
        world.handler("pay")(lambda: None)
        with pytest.raises(RunError, match=r"belongs to the world 'bank \(simulated\)'"):
            asyncio.run(Executor(world, journal).resume("r"))


def test_planned_calls_of_two_accounts_have_sessions_of_their_own(tmp_path):
    domain, bank = Domain("bank"), []
    domain.action("prepare", provides=["prepared"], tags=["trusted"])
    domain.action("pay", requires=["prepared"], provides=["paid"], tags=["irreversible", "trusted"])

    async def prepare(account):
        world = World(domain, name=account)
        world.handler("prepare")(lambda: None)
        world.handler("pay")(lambda: bank.append(account))
        with Journal(tmp_path / "runs.db") as journal:
            calls = PlannedCalls(world, domain.problem(goal=["paid"]), journal=journal)
            return (await calls.call("prepare")).status

    assert [asyncio.run(prepare(each)) for each in ("account 7", "account 8")] == ["SUCCEEDED"] * 2


def test_the_reason_of_a_step_says_of_an_effect_that_it_has_ended():
    domain, open_orders = Domain("desk", types=["order"]), ["o7"]
    domain.action("pay", {"o": "order"}, provides=["paid(o)", "not pending(o)"], tags=["irreversible"])
    world = World(domain)

    @world.handler("pay")
    def pay(o: str) -> None:
        open_orders.remove(o)
        raise ConnectionError("the answer was lost")

    world.observer("pending(_)", conclusive=True, settle_within=0)(lambda: [*open_orders])
    problem = domain.problem(objects={"o7": "order"}, initial=["pending(o7)"], goal=["paid(o7)"])
    outcome = run_virtual(Executor(world).run(problem))
    assert outcome.status is RunStatus.IN_DOUBT
    assert "of its effects, not pending(o7) came about" in outcome.reason
