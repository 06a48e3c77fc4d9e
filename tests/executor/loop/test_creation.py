"""Objects that steps create: planned with placeholders, and bound to what handlers return."""

import pytest

from executor import ActionPlan, ActionResult, ExecutionPolicy, Executor, RunStatus, StepStatus, World
from executor.testing import Crash, Fault, FaultKind, SimulatedWorld, run_virtual
from planner import Domain, Entity, load, solve


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


NEW_ACCOUNT = load("helpdesk", "new-account")
OPEN_TICKET = "open_ticket(login)"


def helped(*faults, model="sequential", policy=None):
    """Carry out the plan for an account in a simulated world with `faults`; `policy` is that of opening tickets."""
    simulated = SimulatedWorld(NEW_ACCOUNT, faults=faults)
    simulated.world.policy("open_ticket", policy or ExecutionPolicy())
    plan = ActionPlan.of(solve(NEW_ACCOUNT).expect_plan(), model=model)
    memory = simulated.parameters("open_ticket")
    return simulated, run_virtual(Executor(simulated.world, approve=lambda _: True).run(plan, memory=memory))


@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive"])
@pytest.mark.parametrize(
    "fault",
    [
        Fault(FaultKind.LIES, OPEN_TICKET),
        Fault(FaultKind.TWICE, OPEN_TICKET),
        Fault(FaultKind.LIES, "create_account"),
        Fault(FaultKind.RAISES, "assign"),
        Fault(FaultKind.CHANGE_AFTER, OPEN_TICKET, facts=("not open(ticket-1)", "not tracks(ticket-1, login)")),
    ],
    ids=str,
)
def test_what_comes_after_a_creating_step_that_went_wrong_is_done_with_another_object(model, fault):
    simulated, outcome = helped(fault, model=model)
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert simulated.holds(NEW_ACCOUNT.goal.hard)
    done = [each.step for each in simulated.acts if each.step and each.step.predicate == "answer"]
    assert [each.args[-1] for each in done] == [
        outcome.state.objects[each.step.arguments[-1]]
        for each in outcome.steps
        if each.step.action == "answer" and each.status is StepStatus.SUCCEEDED
    ]


@pytest.mark.parametrize("kind", [FaultKind.FAILS, FaultKind.FAILS_DONE])
def test_what_may_have_been_created_is_not_created_again_under_another_name(kind):
    simulated, outcome = helped(Fault(kind, OPEN_TICKET))
    assert outcome.status is RunStatus.FAILED
    assert [act.step.predicate for act in simulated.acts].count("open_ticket") == (kind is FaultKind.FAILS_DONE)
    assert [each.step.action for each in outcome.steps if each.attempts].count("open_ticket") == 1


def test_a_handler_that_is_vouched_for_may_create_after_it_has_failed():
    simulated, outcome = helped(Fault(FaultKind.FAILS, OPEN_TICKET), policy=ExecutionPolicy(retries=1))
    assert outcome.status is RunStatus.SUCCEEDED
    assert simulated.applied["open_ticket(login, ticket-1)"] == 1


def test_what_nobody_can_name_is_not_used_though_it_was_created():
    async def happened(question):
        return "it happened" if question.question.startswith("doubt:") else "give up"

    simulated = SimulatedWorld(NEW_ACCOUNT, faults=[Fault(FaultKind.HANGS_DONE, OPEN_TICKET)])
    simulated.world.policy("open_ticket", ExecutionPolicy(timeout=5.0))
    plan = ActionPlan.of(solve(NEW_ACCOUNT).expect_plan())
    outcome = run_virtual(Executor(simulated.world, ask=happened).run(plan, memory=simulated.parameters("open_ticket")))
    assert outcome.status is RunStatus.IN_DOUBT
    assert [each.creates for each in outcome.questions] == [("ticket",)]
    assert [act.step.predicate for act in simulated.acts] == ["read_request", "open_ticket"]


@pytest.mark.parametrize("at", ["assign", "create_account", "secure", "hand_over", "answer", "close"])
@pytest.mark.parametrize("kind", [FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER])
def test_what_was_created_is_used_by_the_process_that_takes_the_run_up(tmp_path, kind, at):
    async def nothing(_question):
        return "it did not happen"

    simulated = SimulatedWorld(NEW_ACCOUNT, faults=[Fault(kind, at)])
    plan = ActionPlan.of(solve(NEW_ACCOUNT).expect_plan())
    journal = tmp_path / "runs.db"
    options = {"journal": journal, "ask": nothing}
    with pytest.raises(Crash) as crash:
        run_virtual(Executor(simulated.world, **options).run(plan, run="r", memory=simulated.parameters("open_ticket")))
    crash.value.bury()
    outcome = run_virtual(Executor(simulated.world, **options).resume("r"))
    assert simulated.holds("tracks(ticket-1, login)")
    if (kind, at) == (FaultKind.CRASH_AFTER, "create_account"):  # the account has no name for those who come later
        assert [act.step.predicate for act in simulated.acts].count("create_account") == 2
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert [act.step.predicate for act in simulated.acts].count("open_ticket") == 1


def opened(names, *, known=(), domain=None, **policy):
    """Return how a run ended that opens two tickets and configures them, what was configured, and how many were made.

    The handler returns the `names`, one after the other; every effect is observed.
    """
    domain = domain or Domain("tickets")
    domain.action("open", {}, creates={"ticket": Ticket}, provides=["open(ticket)"])
    domain.action("configure", {"t": Ticket}, requires=["open(t)"], provides=["configured(t)"])
    world, left, configured = World(domain), list(names), []
    world.handler("open", policy=ExecutionPolicy(**policy))(lambda: ActionResult(created={"ticket": left.pop(0)}))
    world.handler("configure")(lambda t: configured.append(str(t)))
    world.observer("open(t)")(lambda t: True)  # noqa: ARG005 - handlers and observers take what there is
    world.observer("configured(t)")(lambda t: str(t) in configured)
    steps = [
        step
        for new in ("a", "b")
        for step in (
            {"id": f"open-{new}", "action": "open", "creates": {"ticket": new}},
            {"id": f"configure-{new}", "action": "configure", "arguments": {"t": new}},
        )
    ]
    plan = ActionPlan.model_validate({"objects": dict.fromkeys(known, "Ticket"), "steps": steps})
    outcome = run_virtual(Executor(world, model="dag").run(plan))
    return outcome, configured, len(names) - len(left)


@pytest.mark.parametrize(
    ("names", "known", "why"),
    [
        (["T-1", "T-1"], (), "'T-1' as 'ticket', and that is what another step has created"),
        (["T-1", Ticket("T-1")], (), "that is what another step has created"),
        (["old", "T-1"], ["old"], "'old' as 'ticket', and that is an object that was there before"),
        ([None, "T-1"], (), "its result has no 'ticket' with a name"),
        ([True, "T-1"], (), "no 'ticket' with a name"),
        ([{"id": 5}, "T-1"], (), "no 'ticket' with a name"),
        ([{"name": "my ticket"}, "T-1"], (), "no 'ticket' with a name"),
        ([["x"], "T-1"], (), "no 'ticket' with a name"),
        ([Ticket, "T-1"], (), "no 'ticket' with a name"),
    ],
    ids=str,
)
def test_what_was_created_is_one_object_and_no_other(names, known, why):
    outcome, configured, made = opened(names, known=known)
    assert outcome.status is RunStatus.FAILED
    assert why in outcome.reason
    assert configured in ([], ["T-1"])
    assert made == len(names)  # each step of the plan has created once, whatever that is called


def test_stated_retries_create_nothing_again():
    """The handler has not said that it failed: it has created something."""
    outcome, _, made = opened([None, "T-1", "T-2"], retries=2, backoff=0, jitter=0)
    assert (outcome.status, made) == (RunStatus.FAILED, 2)


@pytest.mark.parametrize(
    "names",
    [
        ["T-1", "T-2"],
        ["a", "b"],
        ["b", "a"],
        ["b", "c"],
        [7, 8],
        ["x" * 5000, "y"],
        ["tïcket", "Ticket"],
        ["my ticket", '"T", 1'],
    ],
    ids=str,
)
def test_names_that_are_free_are_taken(names):
    outcome, configured, _ = opened(names)
    assert outcome.status is RunStatus.SUCCEEDED
    assert configured == [str(each) for each in names]


def test_two_objects_of_one_step_are_two():
    domain = Domain("pairs")
    domain.action("make", {}, creates={"left": Ticket, "right": Ticket}, provides=["pair(left, right)"])
    world = World(domain)
    world.handler("make")(lambda: ActionResult(created={"left": "T-1", "right": "T-1"}))
    steps = [{"id": "s", "action": "make", "creates": {"left": "l", "right": "r"}}]
    outcome = run_virtual(Executor(world).run(ActionPlan.model_validate({"steps": steps})))
    assert outcome.status is RunStatus.FAILED
    assert "'T-1' as 'right', and that is two objects at once" in outcome.reason


def test_an_idempotent_step_that_is_done_again_creates_the_same():
    domain, calls = Domain("tickets"), []
    domain.action("open", {}, creates={"ticket": Ticket}, provides=["open(ticket)"], tags=["idempotent"])
    world = World(domain)

    @world.handler("open", policy=ExecutionPolicy(backoff=0, jitter=0))
    def open_ticket(context):
        calls.append(context.key)
        return ActionResult(created={"ticket": "T-1"})

    world.observer("open(t)", conclusive=True)(lambda t: len(calls) > 1)  # noqa: ARG005 - as above
    plan = ActionPlan.model_validate({"steps": [{"id": "s", "action": "open", "creates": {"ticket": "new"}}]})
    outcome = run_virtual(Executor(world).run(plan))
    assert (outcome.status, len(calls), len(set(calls))) == (RunStatus.SUCCEEDED, 2, 1)
    assert outcome.state.objects.created == {"new": "T-1"}


def test_a_result_renames_nothing_that_its_step_has_not_created():
    domain = Domain("tickets")
    domain.action("call", {"who": Person}, provides=["called(who)"])
    world, seen = World(domain), []
    world.handler("call")(lambda who: ActionResult(created={"who": "bob"}, text=str(who)))
    world.observer("called(who)")(lambda who: seen.append(str(who)) or True)
    outcome = run_virtual(Executor(world).run(domain.problem(objects=[Person("ann")], goal=["called(ann)"])))
    assert outcome.status is RunStatus.SUCCEEDED
    assert set(seen) == {"ann"}


@pytest.mark.parametrize("tags", [[], ["irreversible"]])
@pytest.mark.parametrize("how", ["raises", "fails", "names nothing", "names it"])
@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive"])
def test_the_reason_of_a_run_names_what_half_a_creation_has_left(model, how, tags):
    domain, tickets = Domain("desk"), []
    domain.action(
        "create_ticket",
        {"who": Person},
        creates={"ticket": Ticket},
        provides=["open(ticket)", "owner(ticket, who)"],
        tags=tags,
    )
    world = World(domain)

    @world.handler("create_ticket")
    def create(who):  # noqa: ARG001 - the owner is never set
        tickets.append("T-1")
        if how == "raises":
            raise RuntimeError("the line was lost")
        created = {"ticket": Ticket("T-1")} if how == "names it" else {}
        return ActionResult(success=how != "fails", error="no owner" if how == "fails" else "", created=created)

    world.observer("open(_)", conclusive=True, settle_within=0)(lambda: tickets)
    world.observer("owner(_, _)", conclusive=True, settle_within=0)(list)
    goal = ["(exists (?t - Ticket) (and (open ?t) (owner ?t ann)))"]
    outcome = run_virtual(Executor(world, model=model).run(domain.problem(objects=[Person("ann")], goal=goal)))
    assert tickets == ["T-1"]
    if tags and how in ("raises", "names nothing"):
        assert outcome.status is RunStatus.IN_DOUBT
        assert [each.creates for each in outcome.questions] == [("ticket",)]
    else:
        assert outcome.status is RunStatus.FAILED
        assert "T-1" in outcome.reason
