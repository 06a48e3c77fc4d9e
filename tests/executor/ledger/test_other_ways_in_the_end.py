"""Another way to what a request is for in the end, through other facts, objects or methods, is asked about.

An order is paid by card; then the card works no more, and the same request has another way that shares no fact with it.
"""

from __future__ import annotations

import asyncio

import pytest

from executor import Executor, Journal, World
from executor.testing import run_virtual
from htn.language.declare import Methods
from planner import Domain

CARD, TRANSFER = ["irreversible"], {"tags": ["irreversible"], "cost": 5}


def intermediate(domain):
    """A transfer has to be booked."""
    domain.action("card", {"o": "order"}, requires=["works(a1)"], provides=["paid(o)"], tags=CARD)
    domain.action("transfer", {"o": "order"}, provides=["transferred(o)"], **TRANSFER)
    domain.action("book", {"o": "order"}, requires=["transferred(o)"], provides=["paid(o)"])
    return domain, {"goal": ["paid(o7)"]}


def reversed_intermediate(domain):
    """What the card pays has to be booked."""
    domain.action("card", {"o": "order"}, requires=["works(a1)"], provides=["charged(o)"], tags=CARD)
    domain.action("book", {"o": "order"}, requires=["charged(o)"], provides=["paid(o)"])
    domain.action("transfer", {"o": "order"}, provides=["paid(o)"], **TRANSFER)
    return domain, {"goal": ["paid(o7)"]}


def other_object(domain):
    """It is paid from some account."""
    parameters = {"o": "order", "a": "account"}
    domain.action("card", parameters, requires=["works(a)"], provides=["paid_from(o, a)"], tags=CARD)
    return domain, {"goal": "(exists (?a - account) (paid_from o7 ?a))"}


def derived(domain):
    """An axiom says when it is settled."""
    domain.action("card", {"o": "order"}, requires=["works(a1)"], provides=["charged(o)"], tags=CARD)
    domain.action("transfer", {"o": "order"}, provides=["transferred(o)"], **TRANSFER)
    domain.derive("settled(o)", {"o": "order"}, "(or (charged ?o) (transferred ?o))")
    return domain, {"goal": ["settled(o7)"]}


def of_all(domain):
    """The goal is about all orders."""
    return intermediate(domain)[0], {"goal": "(forall (?o - order) (paid ?o))"}


def methods(domain):
    """A task has two methods."""
    domain.action("card", {"o": "order"}, requires=["works(a1)"], provides=["charged(o)"], tags=CARD)
    domain.action("transfer", {"o": "order"}, provides=["transferred(o)"], **TRANSFER)
    how = Methods(domain)
    how.task("settle", o="order")
    how.method("by_card", {"o": "order"}, task="settle(o)", requires=["works(a1)"], subtasks=["card(o)"])
    how.method("by_transfer", {"o": "order"}, task="settle(o)", subtasks=["transfer(o)"])
    return how, {"tasks": ["settle(o7)"]}


WAYS = (intermediate, reversed_intermediate, other_object, derived, of_all, methods)


class Till:
    """A till whose card works once; `fault` says what becomes of the first payment."""

    def __init__(self, way, fault, seconds=0.0):
        domain = Domain("till", types=["order", "account"])
        domain.predicate("works", "account")
        for name in ("a1", "a2"):
            domain.constant(name, "account")
        self.paid, self.model = [], None
        self.how, self.request = way(domain)
        self.world, self.fault, self.seconds = World(self.how), fault, seconds
        for name in ("card", "transfer"):
            if name in domain.model.actions:
                self.world.handler(name)(lambda name=name, **given: self.pay(name, given))
        if "book" in domain.model.actions:
            self.world.handler("book")(lambda o: None)  # noqa: ARG005
        self.world.observer("works(_)", conclusive=True, settle_within=0)(lambda: ["a2"] if self.paid else ["a1", "a2"])

    async def pay(self, name, given):
        await asyncio.sleep(self.seconds)
        self.paid.append((name, *map(str, given.values())))
        if self.fault == "raises" and len(self.paid) == 1:
            raise ConnectionError("the line is dead")

    def problem(self, order="o7"):
        return self.how.problem(objects={order: "order"}, initial=["works(a1)", "works(a2)"], **self.request)


@pytest.mark.parametrize("fault", ["", "raises"])
@pytest.mark.parametrize("way", WAYS)
def test_the_same_request_asks_before_it_goes_another_way(way, fault, tmp_path):
    till = Till(way, fault)

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(till.world, journal)
            return [await executor.run(till.problem(), join=False) for _ in range(2)]

    first, later = run_virtual(main())
    assert len(till.paid) == 1
    assert first.status.name == ("IN_DOUBT" if fault else "UNVERIFIED")
    assert later.status.name == "WAITING"
    assert "is for the same" in later.questions[0].text or way is methods


def test_what_is_done_for_another_object_of_a_goal_about_all_is_no_other_way(tmp_path):
    till = Till(of_all, "")

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(till.world, journal)
            return [await executor.run(till.problem(order), join=False) for order in ("o7", "o8")]

    told = run_virtual(main())
    assert till.paid == [("card", "o7"), ("transfer", "o8")]
    assert [each.status.name for each in told] == ["UNVERIFIED", "UNVERIFIED"]


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_a_person_says_whether_the_other_way_is_gone(answer, tmp_path):
    till = Till(intermediate, "raises")

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(till.world, journal)
            await executor.run(till.problem())
            waiting = await executor.run(till.problem(), join=False)
            return await executor.resume(waiting.run, answers={waiting.questions[0].question: answer})

    told = run_virtual(main())
    assert [name for name, *_ in till.paid] == (["card", "transfer"] if answer == "yes" else ["card"])
    assert told.status.name == ("UNVERIFIED" if answer == "yes" else "FAILED")


def test_while_one_way_is_gone_another_run_waits_and_does_nothing(tmp_path):
    till = Till(intermediate, "", seconds=1.0)
    till.world.observer("paid(o)", conclusive=True, settle_within=0)(lambda o: bool(till.paid))  # noqa: ARG005

    async def begin(executor, after):
        await asyncio.sleep(after)
        works = [] if after else ["works(a1)"]
        problem = till.how.problem(objects={"o7": "order"}, initial=works, **till.request)
        return await executor.run(problem, join=False)

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(till.world, journal, look="never")
            return await asyncio.gather(begin(executor, 0.0), begin(executor, 0.3))

    told = run_virtual(main())
    assert [each.status.name for each in told] == ["SUCCEEDED", "SUCCEEDED"]
    assert [name for name, *_ in till.paid] == ["card"]


def test_steps_of_one_plan_for_one_goal_are_no_ways_of_one_another(tmp_path):
    """A trip is booked when hotel and flight are: who asks again for what was done asks nothing about the other."""
    domain, booked = Domain("trip"), []
    for what in ("hotel", "flight"):
        domain.action(f"pay_{what}", {}, provides=[f"has_{what}"], tags=["irreversible"])
    domain.action("go", {}, requires=["has_hotel", "has_flight"], provides=["there"])
    world = World(domain)
    for what in ("hotel", "flight"):
        world.handler(f"pay_{what}")(lambda what=what: booked.append(what))
        world.observer(f"has_{what}", conclusive=True, settle_within=0)(lambda what=what: what in booked)
    world.handler("go")(lambda: None)

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(world, journal)
            told = [await executor.run(domain.problem(goal=["there"]), join=False)]
            booked.remove("flight")
            return [*told, await executor.run(domain.problem(goal=["there"]), join=False)]

    told = run_virtual(main())
    assert [each.status.name for each in told] == ["UNVERIFIED", "UNVERIFIED"]
    assert booked == ["hotel", "flight"]


def test_what_was_needless_is_done_when_what_another_run_brought_is_gone_again(tmp_path):
    """The card pays while a run waits to transfer; then the money is charged back, before the run has ended."""
    domain, paid, held = Domain("till", types=["order"]), [], []
    domain.predicate("works")
    domain.action("card", {"o": "order"}, requires=["works"], provides=["paid(o)"], tags=CARD)
    domain.action("transfer", {"o": "order"}, provides=["transferred(o)"], **TRANSFER)
    domain.action("book", {"o": "order"}, requires=["transferred(o)"], provides=["paid(o)"])
    domain.action("ship", {"o": "order"}, requires=["paid(o)"], provides=["shipped(o)"])
    world = World(domain)

    async def pay(name):
        await asyncio.sleep(1)
        paid.append(name)
        held.append(name)

    for name in ("card", "transfer"):
        world.handler(name)(lambda o, name=name: pay(name))  # noqa: ARG005
    world.handler("book")(lambda o: None)  # noqa: ARG005
    world.handler("ship")(lambda o: held.clear())  # noqa: ARG005
    world.observer("paid(o)", conclusive=True, settle_within=0)(lambda o: bool(held))  # noqa: ARG005

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor, orders = Executor(world, journal, look="never"), {"o7": "order"}
            first = domain.problem(objects=orders, initial=["works"], goal=["paid(o7)"])
            second = domain.problem(objects=orders, goal=["shipped(o7)", "paid(o7)"])
            begun = executor.start(first)
            await asyncio.sleep(0.3)
            return await asyncio.gather(begun, executor.run(second))

    told = run_virtual(main())
    assert paid == ["card", "transfer"]
    assert [each.status.name for each in told] == ["SUCCEEDED", "UNVERIFIED"], "nobody sees what was shipped"
