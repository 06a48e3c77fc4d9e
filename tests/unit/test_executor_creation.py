"""Objects that steps create: planned with placeholders, and bound to what handlers return."""

from executor import ActionResult, Executor, RunStatus, StepStatus, World
from executor.testing import run_virtual
from planner import Domain, Entity


class Ticket(Entity):
    pass


class Person(Entity):
    pass


class Desk:
    """A help desk: tickets get their names when they are created."""

    def __init__(self, *, observed=True):
        self.tickets = {}
        self.domain = Domain("desk")
        self.domain.action(
            "create_ticket",
            {"who": Person},
            creates={"ticket": Ticket},
            provides=["open(ticket)", "owner(ticket, who)"],
        )
        self.domain.action("configure", {"t": Ticket}, requires=["open(t)"], provides=["configured(t)"])
        self.world = World(self.domain)
        self.world.handler("create_ticket")(self.create)
        self.world.handler("configure")(self.configure)
        self.broken = 0
        if observed:
            self.world.observer("open(t)", conclusive=True)(self.is_open)
            self.world.observer("owner(t, _)", conclusive=True)(self.owner)
            self.world.observer("configured(t)", conclusive=True)(self.is_configured)

    async def create(self, who):
        ticket = Ticket(f"T-{len(self.tickets) + 1}")
        self.tickets[ticket] = {"owner": who, "configured": False}
        return ActionResult(created={"ticket": ticket})

    async def configure(self, t):
        if self.broken:
            self.broken -= 1
            del self.tickets[t]
            return False
        self.tickets[t]["configured"] = True
        return None

    async def is_open(self, t):
        return t in self.tickets

    async def owner(self, t):
        return self.tickets[t]["owner"] if t in self.tickets else None

    async def is_configured(self, t):
        return t in self.tickets and self.tickets[t]["configured"]

    def problem(self):
        goal = ["(exists (?t - Ticket) (and (configured ?t) (owner ?t ann)))"]
        return self.domain.problem(objects=[Person("ann")], goal=goal)


def test_a_ticket_is_created_and_then_configured():
    desk = Desk()
    outcome = run_virtual(Executor(desk.world, model="dag").run(desk.problem()))
    assert outcome.status is RunStatus.SUCCEEDED
    assert desk.tickets == {Ticket("T-1"): {"owner": Person("ann"), "configured": True}}


def test_another_one_is_created_where_the_first_is_gone():
    desk = Desk()
    desk.broken = 1
    outcome = run_virtual(Executor(desk.world).run(desk.problem()))
    assert outcome.status is RunStatus.SUCCEEDED
    assert [each.step.action for each in outcome.steps] == ["create_ticket", "configure", "create_ticket", "configure"]


def test_a_handler_that_does_not_say_what_it_created_has_failed():
    desk = Desk()

    async def create(who):  # noqa: ARG001 - handlers take the action's parameters
        return None

    desk.world.handler("create_ticket")(create)
    outcome = run_virtual(Executor(desk.world).run(desk.problem()))
    assert outcome.status is RunStatus.FAILED
    assert "has no 'ticket' with a name among the objects that it created" in outcome.reason


def test_what_was_created_is_known_after_a_restart(tmp_path):
    desk = Desk()
    world, journal = desk.world, tmp_path / "runs.db"

    async def waits(t):  # noqa: ARG001 - as above
        from executor import Wait

        return Wait("somebody configures it")

    world.handler("configure")(waits)
    outcome = run_virtual(Executor(world, journal=journal).run(desk.problem()))
    assert outcome.status is RunStatus.WAITING
    by_name = Desk(observed=False)
    again = run_virtual(Executor(by_name.world, journal=journal).resume(outcome.run, results={"s2": True}))
    assert again.status is RunStatus.UNVERIFIED
    assert again.steps[1].status is StepStatus.UNVERIFIED
    assert again.state.objects["new-ticket-1"] == "T-1"
