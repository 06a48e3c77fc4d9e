"""Agents whose objects turn up: in listings, for goals over all objects and for goals that need an object."""

import asyncio

import pytest

from executor import Agent, World
from executor.testing import ScriptedModel
from planner import Domain, Entity, PlanError, Status, solve
from planner.explain.unsolvability import explain_unsolvable
from planner.limits import Limits

ALL = "(forall (?o - Order) (handled ?o))"


class Hotel(Entity):
    """A hotel."""


class Order(Entity):
    """An order."""


def travel(hotels=("ritz", "savoy"), orders=("o7", "o8")):
    """Return a world in which hotels and orders turn up, and what was done there."""
    domain, done = Domain("travel"), []

    @domain.action(lists="available(_)", tags=["read_only"])
    async def search() -> list[Hotel]:
        return [Hotel(each) for each in hotels]

    @domain.action(requires=["available(h)"], provides=["booked(h)"], tags=["irreversible"])
    async def book(h: Hotel) -> None:
        done.append(h.name)

    @domain.action(lists="pending(_)", tags=["read_only"])
    async def list_orders() -> list[Order]:
        return [Order(each) for each in orders if each not in done]

    @domain.action(requires=["pending(o)"], provides=["handled(o)", "not pending(o)"])
    async def handle(o: Order) -> None:
        done.append(o.name)

    domain.action("dry", requires=["flooded"], provides=["dried"])
    world = World(domain)
    world.observer("handled(o)", conclusive=True)(lambda o: o.name in done)
    world.observer("booked(h)", conclusive=True)(lambda h: h.name in done)
    world.observer("available(h)", conclusive=True)(lambda h: h.name in hotels)
    return world, done


def test_an_agent_lists_what_it_needs_and_remembers_what_it_found():
    world, done = travel()
    agent = Agent(world)
    first = asyncio.run(agent.achieve([ALL]))
    assert first.succeeded
    assert sorted(done) == ["o7", "o8"]
    assert sorted(each.name for each in agent.problem.objects) == ["o7", "o8"]
    again = asyncio.run(agent.plan([ALL]))
    assert [step.action for step in again.plan.steps] == ["list_orders"], "something else may have turned up since"


def test_a_goal_that_needs_an_object_is_planned_for_when_one_has_turned_up():
    world, done = travel()
    achieved = asyncio.run(Agent(world).achieve(["(exists (?h - Hotel) (booked ?h))"]))
    assert achieved.succeeded
    assert len(done) == 1
    world, done = travel(hotels=())
    achieved = asyncio.run(Agent(world).achieve(["(exists (?h - Hotel) (booked ?h))"]))
    assert not achieved.succeeded
    assert done == []


def test_what_no_object_could_give_is_unreachable_all_the_same():
    world, _ = travel()
    proposal = asyncio.run(Agent(world).plan(["flooded"]))
    assert proposal.standing.name == "UNREACHABLE"
    assert proposal.missing[0].fact == "flooded"


def test_a_listing_that_leads_to_acts_is_confirmed_although_it_only_reads():
    meaning = {"meanings": [{"goal": [ALL]}], "thought": "all of them"}
    world, done = travel()
    achieved = asyncio.run(Agent(world, model=ScriptedModel([meaning])).achieve("Handle all orders."))
    assert achieved.proposal.standing.name == "UNCONFIRMED"
    assert done == []
    listing = {"meanings": [{"goal": ["listed_pending"]}], "thought": "only a list"}
    achieved = asyncio.run(Agent(world, model=ScriptedModel([listing])).achieve("List the orders."))
    assert achieved.proposal.standing.name == "PLANNED"
    assert done == []


def test_an_explanation_proves_nothing_while_objects_may_turn_up():
    world, _ = travel()
    domain = Domain.of(world.model)
    problem = domain.problem(goal="(exists (?h - Hotel) (booked ?h))")
    assert solve(problem).status is Status.UNKNOWN
    assert explain_unsolvable(problem, Limits(5.0)).solvable is None


def test_what_an_earlier_run_only_assumed_is_no_ground_for_what_cannot_be_taken_back():
    domain, paid = Domain("till"), []
    domain.action("weigh", provides=["weighed"])
    domain.action("pay", requires=["weighed"], provides=["paid"], tags=["irreversible"])
    world = World(domain)
    world.handler("weigh")(lambda: None)
    world.handler("pay")(lambda: paid.append("paid"))
    agent = Agent(world)
    assert asyncio.run(agent.achieve(["weighed"])).outcome.status.name == "UNVERIFIED"
    with pytest.raises(PlanError, match="it rests on weighed and nobody can observe that"):
        asyncio.run(agent.achieve(["paid"]))
    assert paid == []
