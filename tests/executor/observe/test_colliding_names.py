"""Objects of the world keep apart from what plans call otherwise: placeholders, and objects that steps have created."""

import asyncio

import pytest

from executor import ActionPlan, ActionResult, Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Domain, Entity

MODELS = ("sequential", "parallel", "dag", "reactive")


class Ticket(Entity):
    """A ticket."""


class Customer(Entity):
    """Somebody with tickets."""


class Desk:
    """A desk with `there`, its open tickets; `create` opens one more. `log` has the tickets that were worked on."""

    def __init__(self, *there, lists="open(_)", name="T-1", is_seen=True):
        self.there, self.log = list(there), []
        domain = self.domain = Domain("desk")

        @domain.action(lists=lists)
        async def list_tickets():
            return list(self.there)

        @domain.action(provides=["open(t)", "called"], creates={"t": Ticket})
        async def create():
            await asyncio.sleep(1)
            self.there.append(name)
            await asyncio.sleep(1)
            return ActionResult(created={"t": name})

        @domain.action(requires=["open(t)"], provides=["done(t)", "not open(t)"])
        async def work(t: Ticket):
            assert t.name in self.there, t.name
            self.there.remove(t.name)
            self.log.append(t.name)

        self.world = World(domain)
        self.world.observer("called", conclusive=True)(lambda: name in [*self.there, *self.log])
        if is_seen:
            self.world.observer("open(_)", conclusive=True)(lambda: self.there)
            self.world.observer("done(t)", conclusive=True)(lambda t: t.name in self.log)

    def problem(self):
        return self.domain.problem(goal=["called", "(forall (?t - Ticket) (not (open ?t)))"])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("is_seen", [True, False])
def test_an_object_with_the_name_of_a_placeholder_is_another_one(model, is_seen):
    desk = Desk("new-Ticket-1", "new-ticket-1", "other-new-ticket-1", is_seen=is_seen)
    outcome = run_virtual(Executor(desk.world, model=model).run(desk.problem()))
    assert outcome.status is (RunStatus.SUCCEEDED if is_seen else RunStatus.UNVERIFIED), outcome.reason
    assert sorted(desk.log) == ["T-1", "new-Ticket-1", "new-ticket-1", "other-new-ticket-1"]


@pytest.mark.parametrize("model", MODELS)
def test_what_a_step_creates_may_have_the_name_of_its_placeholder(model):
    desk = Desk("new-ticket-2", name="new-ticket-1")
    outcome = run_virtual(Executor(desk.world, model=model).run(desk.problem()))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert sorted(desk.log) == ["new-ticket-1", "new-ticket-2"]


@pytest.mark.parametrize("name", ["T-1", "a", "b"])
def test_what_was_there_before_was_not_created_whatever_the_plan_calls_it(name):
    desk = Desk(name, name=name, is_seen=False)
    steps = [
        {"id": "list", "action": "list_tickets"},
        {"id": "one", "action": "create", "creates": {"t": "a"}},
        {"id": "two", "action": "create", "creates": {"t": "b"}},
    ]
    outcome = run_virtual(Executor(desk.world).run(ActionPlan.model_validate({"steps": steps})))
    assert outcome.status is RunStatus.FAILED
    assert f"it says that it created {name!r} as 't', and that is an object that was there before" in outcome.reason


def test_a_restart_keeps_the_names_apart(tmp_path):
    desk, runs = Desk("new-ticket-1"), []

    async def stop(call, proceed):
        if call.action.name == "work":
            runs[0].interrupt()
        return await proceed()

    async def begin():
        runs.append(Executor(desk.world, journal=tmp_path / "runs.db").start(desk.problem(), run="r"))
        return await runs[0]

    desk.world.around(stop)
    asyncio.run(begin())
    assert len(desk.log) == 1
    again = Desk(*desk.there)
    again.log = desk.log
    outcome = asyncio.run(Executor(again.world, journal=tmp_path / "runs.db").resume("r"))
    assert outcome.status is RunStatus.SUCCEEDED
    assert sorted(again.log) == ["T-1", "new-ticket-1"]


def test_a_report_about_a_created_object_and_a_new_one_names_one_new_object():
    domain = Domain("desk")
    domain.action("create", provides=["open(t)"], creates={"t": Ticket})
    domain.action("ask", {"t": Ticket}, requires=["open(t)"], provides=["asked(t)"], lists="owner(t, _)")
    domain.action("call", {"t": Ticket, "c": Customer}, requires=["owner(t, c)"], provides=["called(t)"])
    domain.predicate("owner", Ticket, Customer)
    world, log = World(domain), []
    world.handler("create")(lambda: ActionResult(created={"t": "T-1"}))
    world.handler("ask")(lambda t: ActionResult(observed=(f"owner({t.name}, ada)",)))
    world.handler("call")(lambda t, c: log.append((t.name, c.name)))
    goal = [
        "(exists (?t - Ticket) (asked ?t))",
        "(forall (?t - Ticket ?c - Customer) (or (not (owner ?t ?c)) (called ?t)))",
    ]
    outcome = run_virtual(Executor(world).run(domain.problem(goal=goal)))
    assert outcome.status is RunStatus.UNVERIFIED, outcome.reason
    assert list(outcome.state.found) == ["ada"]
    assert log == [("T-1", "ada")]
