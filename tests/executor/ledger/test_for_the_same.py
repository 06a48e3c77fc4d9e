"""Steps are for the same if they bring about the same fact, and what is seen of a part ends no doubt about the whole.

A person who reads what is asked is the only one who may say that it is to be done: here nobody answers.
"""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from executor import ActionPlan, ExecutionPolicy, Executor, Facts, Journal, World
from executor.testing import run_virtual
from planner import Domain, Entity, When


class Order(Entity):
    """What is paid for."""


class Account(Entity):
    """From which it is paid."""


class Sum(BaseModel):
    """An amount."""

    value: int


class NewSum(BaseModel):
    """An amount of a later version."""

    value: int
    currency: str = "EUR"


FIRST = {"name": "pay", "parameters": {"order": Order, "account": Account}, "data": {"amount": int}, "amount": 5}
VERSIONS = {
    "the same": {},
    "parameters swapped": {"parameters": {"account": Account, "order": Order}},
    "action renamed": {"name": "transfer"},
    "value renamed": {"data": {"total": int}},
    "value left out": {"data": {}},
    "value of another type": {"data": {"amount": str}, "amount": "5"},
}


def make_world(bank, fault, *, name="pay", parameters, data, amount, sees=()):
    """Return a world with one payment, which goes wrong the first time as `fault` says, and its problem."""
    domain = Domain("till", types=["order", "account"])
    parameters = {**parameters, **data}
    domain.action(name, parameters, provides=["paid(order)", "receipt(order)"], tags=["irreversible"])
    world = World(domain)

    @world.handler(name)
    async def pay(**given):
        bank.append(given)
        if fault == "raises" and len(bank) == 1:
            raise ConnectionError("the line is dead")
        return not (fault == "says no" and len(bank) == 1)

    for fact in sees:
        world.observer(f"{fact}(order)", conclusive=True, settle_within=0)(
            lambda order, fact=fact: fact == "paid" and order in [each["order"] for each in bank]
        )
    memory = dict.fromkeys(data, amount)
    return world, domain, memory


async def ask(journal, made, goal):
    world, domain, memory = made
    problem = domain.problem(objects=[Order("o7"), Account("a1")], goal=goal)
    return await Executor(world, journal).run(problem, memory=memory, join=False)


@pytest.mark.parametrize("fault", ["", "raises"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_new_version_of_the_domain_asks_before_it_pays_again(version, fault, tmp_path):
    """Done or in doubt, and nobody can look."""
    bank = []

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            first = await ask(journal, make_world(bank, fault, **FIRST), ["paid(o7)"])
            later = await ask(journal, make_world(bank, "", **{**FIRST, **VERSIONS[version]}), ["paid(o7)"])
        return first.status.name, later.status.name

    first, later = run_virtual(main())
    assert (first, later) == ("IN_DOUBT" if fault else "UNVERIFIED", "WAITING")
    assert len(bank) == 1


@pytest.mark.parametrize("fault", ["", "raises"])
def test_a_value_that_gains_a_field_is_the_same(fault, tmp_path):
    bank, old, new = [], {"data": {"amount": Sum}, "amount": Sum(value=5)}, {"data": {"amount": NewSum}}

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            await ask(journal, make_world(bank, fault, **{**FIRST, **old}), ["paid(o7)"])
            new["amount"] = NewSum(value=5)
            return await ask(journal, make_world(bank, "", **{**FIRST, **new}), ["paid(o7)"])

    assert run_virtual(main()).status.name == "WAITING"
    assert len(bank) == 1


@pytest.mark.parametrize(("fault", "paid"), [("", 2), ("raises", 1)])
def test_another_amount_is_another_payment_unless_the_first_is_in_doubt(fault, paid, tmp_path):
    bank = []

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            await ask(journal, make_world(bank, fault, **FIRST), ["paid(o7)"])
            return await ask(journal, make_world(bank, "", **{**FIRST, "amount": 6}), ["paid(o7)"])

    later = run_virtual(main())
    assert len(bank) == paid
    assert later.status.name == ("UNVERIFIED" if paid == 2 else "WAITING")


GOALS = {"one": ["receipt(o7)"], "other": ["paid(o7)"], "both": ["paid(o7)", "receipt(o7)"]}


@pytest.mark.parametrize("sees", [("receipt",), ("paid", "receipt")], ids="+".join)
@pytest.mark.parametrize("fault", ["raises", "says no", "gives no receipt"])
@pytest.mark.parametrize("first", GOALS)
@pytest.mark.parametrize("later", GOALS)
def test_a_part_that_is_missing_ends_no_doubt(first, later, fault, sees, tmp_path):
    """The payment was made, and its receipt never comes, whichever part of it a request is for."""
    if fault == "says no" and sees == ("receipt",):
        return  # nobody sees the payment, and the handler is believed
    bank = []
    request = {**FIRST, "sees": sees}

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            told = await ask(journal, make_world(bank, fault, **request), GOALS[first])
            again = await ask(journal, make_world(bank, "", **request), GOALS[later])
            return told.status.name, again.status.name

    run_virtual(main())
    assert len(bank) == 1


@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive", "policy"])
def test_one_run_tries_nothing_again_of_which_a_part_may_be_done(model):
    bank = []
    world, domain, memory = make_world(bank, "", **FIRST, sees=("receipt",))
    problem = domain.problem(objects=[Order("o7"), Account("a1")], goal=GOALS["one"])
    told = asyncio.run(Executor(world, model=model).run(problem, memory=memory))
    assert (len(bank), told.status.name) == (1, "IN_DOUBT")
    assert len(told.questions) == 1


@pytest.mark.parametrize("fault", ["", "raises"])
def test_a_number_that_was_seen_to_change_ends_no_doubt(fault, tmp_path):
    bank, domain = [], Domain("till", types=["order"])
    domain.function("balance")
    effects = {"provides": ["receipt(order)"], "modifies": ["balance -= 30"]}
    domain.action("pay", {"order": "order"}, **effects, tags=["irreversible"])
    world = World(domain)

    @world.handler("pay")
    async def pay(order):
        bank.append(order)
        if fault:
            raise ConnectionError("the line is dead")

    world.observer("receipt(order)", conclusive=True, settle_within=0)(lambda order: False)  # noqa: ARG005
    world.observer("balance", conclusive=True, settle_within=0)(lambda: 100 - 30 * len(bank))
    problem = domain.problem(objects={"o7": "order"}, initial=["balance = 100"], goal=["receipt(o7)"])

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(world, journal)
            return [(await executor.run(problem, join=False)).status.name for _ in range(2)]

    assert run_virtual(main())[1] == "WAITING"
    assert bank == ["o7"]


@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive", "policy"])
def test_what_a_later_step_ends_is_no_evidence_for_who_asks_again(model, tmp_path):
    """The payment is in transit until it is booked, and nobody can see that it was."""
    domain, bank, booked = Domain("shop"), [], []
    domain.action("pay", {}, provides=["in_transit"], tags=["irreversible"])
    domain.action("book", {}, requires=["in_transit"], provides=["settled", "not in_transit"])
    world = World(domain)
    world.handler("pay")(lambda: bank.append("pay"))
    world.handler("book")(lambda: booked.append("book"))
    world.observer("in_transit", conclusive=True, settle_within=0)(lambda: len(bank) > len(booked))

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(world, journal, model=model)
            return [await executor.run(domain.problem(goal=["settled"]), join=False) for _ in range(2)]

    _, later = run_virtual(main())
    assert (bank, later.status.name) == (["pay"], "WAITING")


@pytest.mark.parametrize("request_terms", [{}, {"occasion": "2026-11"}])
def test_what_another_run_has_just_done_is_not_missing_before_observers_had_their_time(request_terms, tmp_path):
    """The first request looks at a replica that is up to date, the second one at another that is late."""
    domain, bank, runs = Domain("till"), [], []
    domain.action("pay", {}, provides=["paid"], tags=["irreversible"])
    world = World(domain)

    @world.handler("pay")
    async def pay() -> None:
        bank.append(asyncio.get_running_loop().time())

    @world.observer("paid", conclusive=True, settle_within=5)
    async def see() -> bool:
        is_late = len(runs) > 1 and asyncio.get_running_loop().time() < bank[0] + 4
        return bool(bank) and not is_late

    async def ask(executor):
        runs.append(executor)
        return await executor.run(domain.problem(goal=["paid"]), join=False, **request_terms)

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            return [await ask(Executor(world, journal)) for _ in range(2)]

    told = run_virtual(main())
    assert [each.status.name for each in told] == ["SUCCEEDED", "SUCCEEDED"]
    assert len(bank) == 1


@pytest.mark.parametrize("fault", ["", "raises"])
def test_a_condition_that_ends_meanwhile_makes_no_second_attempt(fault, tmp_path):
    """The express desk closes while the handler works, which sends by the normal way instead."""
    domain, sent, desk = Domain("post"), [], {"express"}
    domain.predicate("express")
    ways = [
        When(requires=["express"], provides=["sent_express"]),
        When(requires=["not express"], provides=["sent_normal"]),
    ]
    domain.action("send", {}, when=ways, tags=["irreversible"])
    world = World(domain)

    @world.handler("send", policy=ExecutionPolicy(retries=3))
    async def send() -> None:
        desk.clear()
        sent.append("normal")
        if fault:
            raise ConnectionError("the line is dead")

    world.observer("express", conclusive=True, settle_within=0)(lambda: bool(desk))
    for way in ("express", "normal"):
        world.observer(f"sent_{way}", conclusive=True, settle_within=0)(lambda way=way: way in sent)

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor, goal = Executor(world, journal), ["(or (sent_express) (sent_normal))"]
            problem = domain.problem(initial=["express"], goal=goal)
            return [await executor.run(problem, join=False) for _ in range(2)]

    run_virtual(main())
    assert sent == ["normal"]


def test_what_a_look_changes_of_its_effect_is_compared_with_what_was_done(tmp_path):
    """The letter was sent the normal way, unseen; whoever looks at express letters sees that their desk is shut."""
    domain, sent, told = Domain("post"), [], []
    domain.predicate("express")
    ways = [
        When(requires=["express"], provides=["sent_express"]),
        When(requires=["not express"], provides=["sent_normal"]),
    ]
    domain.action("send", {}, when=ways, tags=["irreversible"])
    domain.action("drop", {}, provides=["sent_normal"], tags=["irreversible"])
    world = World(domain)
    for action in ("send", "drop"):
        world.handler(action)(lambda action=action: sent.append(action))

    @world.observer("sent_express", conclusive=True, settle_within=0)
    def look():
        told.append("shut")
        return Facts({"sent_express": False} if len(told) < 2 else {"sent_express": False, "express": False})

    async def carry_out(executor, action):
        plan = {"initial": ["express"], "steps": [{"id": "s1", "action": action}]}
        return (await executor.run(ActionPlan.model_validate(plan))).status.name

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(world, journal)
            return [await carry_out(executor, action) for action in ("drop", "send")]

    assert run_virtual(main()) == ["UNVERIFIED", "WAITING"]
    assert sent == ["drop"]


def test_equal_numbers_are_not_the_same_payment(tmp_path):
    domain, bank = Domain("till", types=["order"]), []
    domain.function("balance")
    effects = {"provides": ["paid(order)"], "modifies": ["balance -= 30"]}
    domain.action("pay", {"order": "order"}, **effects, tags=["irreversible"])
    world = World(domain)
    world.handler("pay")(lambda order: bank.append(str(order)))

    async def ask(executor, order):
        objects = {"o7": "order", "o8": "order"}
        problem = domain.problem(objects=objects, initial=["balance = 100"], goal=[f"paid({order})"])
        return (await executor.run(problem)).status.name

    async def main():
        with Journal(tmp_path / "runs.db") as journal:
            executor = Executor(world, journal)
            return [await ask(executor, order) for order in ("o7", "o8", "o8")]

    assert run_virtual(main()) == ["UNVERIFIED", "UNVERIFIED", "WAITING"]
    assert bank == ["o7", "o8"]
