"""Another way to the same fact is another step, and yet it is not taken while the first way is in doubt, or refused.

An order is paid by card, then the card does not work any more, and a new request plans to pay it in cash.
"""

from __future__ import annotations

import asyncio
from unittest import mock

import pytest
from payments import DOORS, opened_till

from executor import ActionPlan, Executor, Journal, PlannedCalls, RunStatus, World
from executor.journal.effects import LedgerInJournal
from executor.testing import run_virtual
from planner import Domain

DOUBTFUL = ("raises", "hangs", "dies", "waits")
UNSEEN = ("states no delay", "vague", "absent")


@pytest.fixture(params=["journal", "no journal"])
def place(request, tmp_path):
    return tmp_path / "runs.db" if request.param == "journal" else None


def pay_by_card(till, act, door="run"):
    """Let somebody try to pay by card; return a function that begins a process, or goes on in the same."""
    worlds = [till.open_world()]
    begin = till.ask_and_leave if act == "hangs" else till.ask
    till.live(lambda journal: begin(door, worlds[0], journal))

    def go_on(ask):
        if till.place is None:
            return till.live(lambda journal: ask(worlds[0], journal), is_new=False)
        return till.live(lambda journal: ask(till.open_world(), journal))

    return go_on


@pytest.mark.parametrize("sight", UNSEEN)
@pytest.mark.parametrize("act", DOUBTFUL)
@pytest.mark.parametrize("door", DOORS)
def test_while_one_way_is_in_doubt_the_other_is_not_taken(place, door, act, sight):
    if place is None and act == "dies":
        return  # without a journal, everything is lost
    with opened_till(place, sight=sight, acts=[act]) as till:
        go_on = pay_by_card(till, act)
        told = go_on(lambda world, journal: till.ask(door, world, journal, means="cash"))
        assert [means for _, means, _ in till.paid] == ["card"]
        assert told == "WAITING"


@pytest.mark.parametrize("sight", ["settles", "is late", "kept"])
@pytest.mark.parametrize("act", ["raises", "hangs", "dies"])
@pytest.mark.parametrize("door", DOORS)
def test_where_it_is_seen_nobody_is_asked(tmp_path, door, act, sight):
    with opened_till(tmp_path / "runs.db", sight=sight, acts=[act]) as till:
        told = pay_by_card(till, act)(lambda world, journal: till.ask(door, world, journal, means="cash"))
        assert [means for _, means, _ in till.paid] == ["card"]
        assert told in {"SUCCEEDED", "UNVERIFIED", "SKIPPED", "REFUSED", "OVER"}


@pytest.mark.parametrize("sight", UNSEEN)
@pytest.mark.parametrize("door", DOORS)
def test_what_was_done_one_way_is_not_done_the_other(place, door, sight):
    with opened_till(place, sight=sight) as till:
        told = pay_by_card(till, "")(lambda world, journal: till.ask(door, world, journal, means="cash"))
        assert [means for _, means, _ in till.paid] == ["card"]
        assert told == "WAITING"


@pytest.mark.parametrize("first", ["agent", "room", "calls"])
@pytest.mark.parametrize("second", DOORS)
def test_each_door_leaves_such_a_doubt(tmp_path, first, second):
    with opened_till(tmp_path / "runs.db", acts=["raises"]) as till:
        told = pay_by_card(till, "raises", first)(lambda world, journal: till.ask(second, world, journal, means="cash"))
        assert ([means for _, means, _ in till.paid], told) == (["card"], "WAITING")


def test_another_order_is_paid_meanwhile(place):
    with opened_till(place, acts=["raises"]) as till:
        go_on = pay_by_card(till, "raises")
        told = go_on(lambda world, journal: till.ask("run", world, journal, means="cash", goal=("paid(o2)",)))
        assert ([order for order, _, _ in till.paid][-1:], told) == (["o2"], "UNVERIFIED")


def test_the_other_way_is_taken_where_the_first_has_failed(place):
    with opened_till(place, acts=["fails"]) as till:
        go_on = pay_by_card(till, "fails")
        assert go_on(lambda world, journal: till.ask("run", world, journal, means="cash")) == "UNVERIFIED"
        assert [means for _, means, _ in till.paid] == ["cash"]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("second", [0.0, 0.1, 0.2, 0.3])
def test_two_ways_begun_at_once_let_one_another_go_first(names, second, tmp_path):
    """Observers take a while: both runs have their flights, and look, when each finds that of the other."""
    shop, paid = Domain("shop"), []
    for way in ("card", "cash"):
        shop.action(f"pay_by_{way}", {}, provides=["paid"], tags=["irreversible"])
    world = World(shop)
    for way in ("card", "cash"):
        world.handler(f"pay_by_{way}")(lambda way=way: paid.append(way))

    @world.observer("paid", conclusive=True, settle_within=0)
    async def see() -> bool:
        await asyncio.sleep(0.4)
        return bool(paid)

    async def pay(executor, name, way, after):
        await asyncio.sleep(after)
        plan = {"goal": ["paid"], "steps": [{"id": "s1", "action": f"pay_by_{way}"}]}
        return await executor.run(ActionPlan.model_validate(plan), run=name)

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(world, journal)
            both = zip(names, ("card", "cash"), (0.0, second), strict=True)
            async with asyncio.timeout(60):
                return await asyncio.gather(*[pay(executor, *each) for each in both])

    told = run_virtual(main())
    assert [each.status for each in told] == [RunStatus.SUCCEEDED] * 2
    assert len(paid) == 1


@pytest.mark.parametrize("second", DOORS)
def test_what_its_run_has_told_before_it_died_counts_for_the_other_way(tmp_path, second):
    """The process dies between the last event of the step and the entry in the ledger."""
    with opened_till(tmp_path / "runs.db") as till:
        with mock.patch.object(LedgerInJournal, "end"):
            till.live(lambda journal: till.ask("run", till.open_world(), journal))
        told = till.live(lambda journal: till.ask(second, till.open_world(), journal, means="cash"))
        assert ([means for _, means, _ in till.paid], told) == (["card"], "WAITING")


def open_worlds(till):
    """Return a world that needs no approval, and one that does; without a journal they share a ledger."""
    free = till.open_world()
    till.tags = ("irreversible", "needs_approval")
    careful = till.open_world()
    careful.ledger = free.ledger
    return free, careful


def refuse(till):
    """Let somebody ask for a payment by card, and a person refuse it; return a world that needs no approval."""
    free, careful = open_worlds(till)

    async def main(journal):
        executor = Executor(careful, journal)
        waiting = await executor.run(till.problem())
        await executor.resume(waiting.run, answers={waiting.questions[0].question: "no"})

    till.live(main)
    till.tags = ("irreversible",)
    return free


@pytest.mark.parametrize("sight", ["settles", *UNSEEN])
@pytest.mark.parametrize("door", DOORS)
def test_a_refusal_covers_the_other_ways_of_other_runs(place, door, sight):
    with opened_till(place, sight=sight) as till:
        world = refuse(till)
        told = till.live(lambda journal: till.ask(door, world, journal, means="cash"), is_new=place is not None)
        assert (till.paid, told in {"WAITING", "OVER", "FAILED", "IMPOSSIBLE"}) == ([], True)


def test_a_refusal_of_what_could_be_taken_back_covers_irreversible_ways(tmp_path):
    """Somebody says no to a hold on the card; then the run, and another one, could pay in cash."""
    shop, paid = Domain("shop"), []
    shop.action("hold", {}, provides=["paid"], tags=["needs_approval"], cost=1)
    shop.action("pay_cash", {}, provides=["paid"], tags=["irreversible"], cost=5)
    world = World(shop)
    for way in ("hold", "pay_cash"):
        world.handler(way)(lambda way=way: paid.append(way))

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(world, journal, approve=lambda _: "no")
            return [await executor.run(shop.problem(goal=["paid"]), join=False) for _ in range(2)]

    assert [(each.status.name, len(each.questions)) for each in run_virtual(main())] == [("WAITING", 1)] * 2
    assert paid == []


@pytest.mark.parametrize("sight", ["settles", "absent"])
def test_whoever_is_shown_the_refusal_may_take_the_other_way(place, sight):
    with opened_till(place, sight=sight) as till:
        world = refuse(till)

        async def go_on(journal):
            executor = Executor(world, journal)
            waiting = await executor.run(till.problem("cash"))
            assert "refused" in str(waiting.questions[0])
            return (await executor.resume(waiting.run, answers={waiting.questions[0].question: "yes"})).status.name

        assert till.live(go_on, is_new=False) in {"SUCCEEDED", "UNVERIFIED"}
        assert [means for _, means, _ in till.paid] == ["cash"]


@pytest.mark.parametrize("sight", UNSEEN)
def test_an_agent_that_calls_tools_does_not_get_round_a_refusal(place, sight):
    with opened_till(place, sight=sight) as till:
        free, careful = open_worlds(till)

        async def main(journal):
            calls = PlannedCalls(careful, till.problem(), journal=journal)
            await calls.call("pay", {"o": "o1", "m": "card"}, approved="not now")
            others = PlannedCalls(free, till.problem("cash"), journal=journal)
            return [(await others.call("pay", {"o": "o1", "m": "cash"})).status for _ in range(2)]

        assert not {*till.live(main)} & {"SUCCEEDED", "UNVERIFIED"}
        assert till.paid == []
