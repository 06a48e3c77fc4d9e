"""Runs on Temporal take objects of any names."""

import asyncio

import pytest

from executor import RunStatus, World
from planner import Domain, Entity

NAMES = ["o 7", "Müller & Söhne", "https://x/a?b=1", 'he said "no", (yes) \\', "_", "", "7", "注文"]
pytestmark = [pytest.mark.timeout(300)]


class Order(Entity):
    """An order."""


class Customer(Entity):
    """A customer."""


def test_objects_of_any_names_turn_up_on_temporal(on_temporal):
    domain, left, handled = Domain("shop"), list(NAMES), []
    domain.action("handle", {"o": Order}, requires=["pending(o)"], provides=["not pending(o)"])
    world = World(domain)

    @world.handler("handle")
    async def handle(o: Order):
        left.remove(o.name)
        handled.append(o)

    @world.observer("pending(_)", conclusive=True)
    async def pending():
        return list(left)

    async def run():
        async with on_temporal(world) as executor:
            return await executor.run(domain.problem(goal="(forall (?o - Order) (not (pending ?o)))"))

    outcome = asyncio.run(run())
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert sorted(handled, key=str) == sorted(map(Order, NAMES), key=str)


def test_an_entity_of_another_class_is_named_on_temporal(on_temporal):
    domain = Domain("shop")
    domain.action("handle", {"o": Order}, requires=["pending(o)"], provides=["not pending(o)"])
    domain.action("greet", {"c": Customer}, provides=["greeted(c)"])
    world = World(domain)
    world.handler("handle")(lambda **_: None)
    world.observer("pending(_)", conclusive=True)(lambda: [Customer("ada")])

    async def run():
        async with on_temporal(world) as executor:
            return await executor.run(domain.problem(goal="(forall (?o - Order) (not (pending ?o)))"))

    outcome = asyncio.run(run())
    assert outcome.status is RunStatus.UNVERIFIED
    assert "'ada' is a Customer, not an Order" in outcome.reason
