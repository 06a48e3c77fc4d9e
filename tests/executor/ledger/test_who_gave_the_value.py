"""A payment is the same whoever gave its amount: a model in one run, the request or the plan in another."""

import asyncio
from itertools import permutations
from typing import Annotated

import pytest
from pydantic import Field

from executor import ActionPlan, Agent, Executor, PlannedCalls, World
from planner import Domain

ORDER = {"o1": "order"}


class Till:
    """A bank to which nobody can look; the first payment may be lost after it was made."""

    def __init__(self, *, loses, annotation=int):
        self.domain, self.bank, self.loses = Domain("till", types=["order"]), [], loses
        self.domain.action("pay", {"o": "order", "amount": annotation}, provides=["paid(o)"], tags=["irreversible"])
        self.world = World(self.domain)
        self.world.handler("pay")(self.pay)

    def pay(self, o, amount):
        self.bank.append((str(o), amount))
        if self.loses and len(self.bank) == 1:
            raise ConnectionError("reset")

    @property
    def problem(self):
        return self.domain.problem(objects=ORDER, goal=["paid(o1)"])


async def by_memory(till, place, amount):
    await Executor(till.world, place).run(till.problem, memory={"amount": amount})


async def by_plan(till, place, amount):
    step = {"id": "s1", "action": "pay", "arguments": {"o": "o1"}, "parameters": {"amount": amount}}
    plan = ActionPlan.model_validate({"goal": ["paid(o1)"], "objects": ORDER, "steps": [step]})
    await Executor(till.world, place).run(plan)


async def by_agent(till, place, amount):
    agent = Agent(till.world, till.domain.problem(objects=ORDER), journal=place)
    await agent.achieve(["paid(o1)"], memory={"amount": amount})


async def by_model(till, place, amount):
    await PlannedCalls(till.world, till.problem, run="model", journal=place).call("pay", {"o": "o1", "amount": amount})


async def by_toolset(till, place, amount):
    calls = PlannedCalls(till.world, till.problem, run="host", journal=place, memory={"amount": amount})
    await calls.call("pay", {"o": "o1"})


WAYS = {each.__name__: each for each in (by_memory, by_plan, by_agent, by_model, by_toolset)}


@pytest.mark.parametrize("loses", [False, True])
@pytest.mark.parametrize(("one", "other"), [*permutations(WAYS, 2)])
def test_a_payment_is_made_once_whoever_gives_the_amount(one, other, loses, tmp_path):
    till = Till(loses=loses)
    for way in (one, other):
        asyncio.run(WAYS[way](till, tmp_path / "runs.db", 10))
    assert till.bank == [("o1", 10)]


@pytest.mark.parametrize(("one", "other"), [*permutations(["by_memory", "by_plan", "by_agent", "by_toolset"], 2)])
def test_another_amount_of_a_request_is_another_payment(one, other, tmp_path):
    till = Till(loses=False)
    for amount, way in ((10, one), (20, other)):
        asyncio.run(WAYS[way](till, tmp_path / "runs.db", amount))
    assert till.bank == [("o1", 10), ("o1", 20)]


@pytest.mark.parametrize("given_first", [False, True])
def test_a_default_is_the_value_that_a_request_gives(given_first, tmp_path):
    till = Till(loses=True, annotation=Annotated[int, Field(default=10)])
    for given in (given_first, not given_first):
        memory = {"amount": 10} if given else {}
        asyncio.run(Executor(till.world, tmp_path / "runs.db").run(till.problem, memory=memory))
    assert till.bank == [("o1", 10)]
