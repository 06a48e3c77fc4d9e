"""A step may create an object that is called like an object of another type: both stay what they are."""

import asyncio

import pytest

from executor import ActionResult, Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Domain, Entity

MODELS = ("sequential", "parallel", "dag", "reactive")
NAME = "ann"


class Item(Entity):
    """What a desk handles."""


class Ticket(Item):
    """A ticket."""


class Letter(Item):
    """A letter, which is no ticket."""


class Customer(Entity):
    """Somebody who is greeted."""


class Desk:
    """A desk with open `tickets`, `letters` and `customers` by name; steps add to them, and all are observed."""

    def __init__(self, *, early=False, customers=(NAME,), ticket=NAME, letter=None):
        self.tickets, self.letters, self.customers, self.done = [], [], list(customers), []
        domain = self.domain = Domain("desk")
        domain.predicate("here", Customer)
        domain.predicate("handled", Item)

        @domain.action(provides=["open(t)", "opened"], creates={"t": Ticket})
        async def create():
            self.tickets.append(ticket)
            await asyncio.sleep(2 if early else 0)
            return ActionResult(created={"t": ticket})

        @domain.action(provides=["written(l)", "wrote"], creates={"l": Letter})
        async def write():
            self.letters.append(letter)
            return ActionResult(created={"l": letter})

        @domain.action(requires=["open(t)"], provides=["handled(t)"])
        def work(t: Ticket):
            assert t.name in self.tickets
            self.done.append(t)

        @domain.action(requires=["written(l)"], provides=["handled(l)"])
        def send(l: Letter):  # noqa: E741 - the name of the parameter
            assert l.name in self.letters
            self.done.append(l)

        @domain.action(requires=["here(c)", "opened"], provides=["greeted(c)"])
        def greet(c: Customer):
            assert c.name in self.customers
            self.done.append(c)

        self.world = World(domain)
        self.world.observer("open(_)", conclusive=True)(lambda: self.tickets)
        self.world.observer("written(_)", conclusive=True)(lambda: self.letters)
        self.world.observer("here(_)", conclusive=True)(lambda: self.customers)
        self.world.observer("opened", conclusive=True)(lambda: bool(self.tickets))
        self.world.observer("wrote", conclusive=True)(lambda: bool(self.letters))
        self.world.observer("greeted(c)", conclusive=True)(lambda c: c in self.done)
        self.world.observer("handled(i)", conclusive=True)(lambda i: i in self.done)

    def problem(self, *goal, known=(NAME,)):
        people = [Customer(each) for each in known]
        every = [
            "(forall (?c - Customer) (or (not (here ?c)) (greeted ?c)))",
            "(forall (?t - Ticket) (or (not (open ?t)) (handled ?t)))",
        ]
        initial = [f"here({each})" for each in known]
        return self.domain.problem(objects=people, initial=initial, goal=["opened", *every, *goal])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("known", [(NAME,), ()], ids=["declared", "turned up"])
@pytest.mark.parametrize("early", [False, True], ids=["returned first", "seen first"])
def test_what_is_created_may_be_called_like_an_object_of_another_type(model, known, early):
    desk = Desk(early=early)
    outcome = run_virtual(Executor(desk.world, model=model).run(desk.problem(known=known)))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert sorted(map(repr, desk.done)) == sorted(map(repr, (Ticket(NAME), Customer(NAME))))
    assert desk.tickets == [NAME]
    assert all(each.is_done for each in outcome.steps if each.attempts), outcome.steps


@pytest.mark.parametrize("model", MODELS)
def test_what_turns_up_may_be_called_like_what_a_step_has_created(model):
    desk = Desk(customers=())

    async def come(call, proceed):
        result = await proceed()
        if call.action.name == "create":
            desk.customers.append(NAME)
        return result

    desk.world.around(come)
    outcome = run_virtual(Executor(desk.world, model=model).run(desk.problem(known=())))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert sorted(map(repr, desk.done)) == sorted(map(repr, (Ticket(NAME), Customer(NAME))))
    assert list(outcome.state.found) == [f'Customer:"{NAME}"']


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("known", [(NAME,), ()], ids=["declared", "free"])
def test_two_steps_may_create_objects_of_two_types_with_one_name(model, known):
    desk = Desk(letter=NAME, customers=known)
    goal = ["wrote", "(forall (?l - Letter) (or (not (written ?l)) (handled ?l)))"]
    outcome = run_virtual(Executor(desk.world, model=model).run(desk.problem(*goal, known=known)))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    wanted = (Ticket(NAME), Letter(NAME), *map(Customer, known))
    assert sorted(map(repr, desk.done)) == sorted(map(repr, wanted))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("early", [False, True], ids=["returned first", "seen first"])
@pytest.mark.parametrize(
    ("ticket", "letter"),
    [("new-letter-1", "new-ticket-1"), ("new-letter-1", "l"), ("new-letter-2", "new-letter-1"), ("new-ticket-2", "l")],
)
def test_what_is_created_may_be_called_like_a_placeholder(model, early, ticket, letter):
    desk = Desk(early=early, ticket=ticket, letter=letter, customers=("new-ticket-1",))
    goal = ["wrote", "(forall (?l - Letter) (or (not (written ?l)) (handled ?l)))"]
    outcome = run_virtual(Executor(desk.world, model=model).run(desk.problem(*goal, known=("new-ticket-1",))))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    wanted = (Ticket(ticket), Letter(letter), Customer("new-ticket-1"))
    assert sorted(map(repr, desk.done)) == sorted(map(repr, wanted))
    assert (desk.tickets, desk.letters) == ([ticket], [letter])


@pytest.mark.parametrize("name", [NAME, "new-ticket-2", "new-letter-1"])
def test_a_restart_keeps_both(tmp_path, name):
    desk, runs = Desk(ticket=name, customers=[name]), []

    async def stop(call, proceed):
        if call.action.name == "create":
            runs[0].interrupt()
        return await proceed()

    async def begin():
        runs.append(Executor(desk.world, journal=tmp_path / "runs.db").start(desk.problem(known=()), run="r"))
        return await runs[0]

    desk.world.around(stop)
    assert asyncio.run(begin()).status is RunStatus.WAITING
    again = Desk(ticket=name, customers=[name])
    again.tickets = desk.tickets
    outcome = asyncio.run(Executor(again.world, journal=tmp_path / "runs.db").resume("r"))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert sorted(map(repr, again.done)) == sorted(map(repr, (Ticket(name), Customer(name))))
    assert again.tickets == [name]


@pytest.mark.parametrize(("left", "right", "is_refused"), [(Ticket, Ticket, True), (Ticket, Letter, False)])
def test_two_objects_of_one_step_have_one_name_only_where_their_types_differ(left, right, is_refused):
    domain = Domain("pairs")
    domain.action("make", {}, creates={"a": left, "b": right}, provides=["pair(a, b)"])
    domain.action("use", {"a": left, "b": right}, requires=["pair(a, b)"], provides=["used"])
    world, used = World(domain), []
    world.handler("make")(lambda: ActionResult(created={"a": NAME, "b": NAME}))
    world.handler("use")(lambda a, b: used.append((a, b)))
    world.observer("used", conclusive=True)(lambda: bool(used))
    outcome = run_virtual(Executor(world).run(domain.problem(goal=["used"])))
    assert outcome.status is (RunStatus.FAILED if is_refused else RunStatus.SUCCEEDED), outcome.reason
    assert used == ([] if is_refused else [(left(NAME), right(NAME))])


@pytest.mark.parametrize("kind", [Ticket, Item], ids=["of its type", "of a type above"])
def test_the_name_of_an_object_that_may_be_the_same_is_refused(kind):
    desk = Desk(customers=())
    problem = desk.domain.problem(objects=[kind(NAME)], goal=["opened", "(exists (?t - Ticket) (open ?t))"])
    desk.world.around(_forget(desk))
    outcome = run_virtual(Executor(desk.world).run(problem))
    assert outcome.status is not RunStatus.SUCCEEDED
    assert f"{NAME!r} as 't', and that is an object that was there before" in outcome.reason


def _forget(desk):
    """Make the desk forget what steps create, so that nobody sees it."""

    async def forget(call, proceed):
        result = await proceed()
        if call.action.name == "create":
            desk.tickets.clear()
        return result

    return forget
