"""Doubt about what shows only in comparison: an item changed in place, and an object that was created.

Each fault of a handler, by what it does, how that is observed, and who looks afterwards. The world counts the acts.
"""

from __future__ import annotations

import asyncio
from itertools import product

import pytest

from executor import (
    CANNOT_SAY,
    ActionPlan,
    ActionResult,
    ExecutionPolicy,
    Executor,
    Journal,
    RunStatus,
    Seen,
    StepStatus,
    World,
)
from executor.ledger.records import Flight
from executor.loop.aftermath import STILL_AT_WORK
from executor.loop.step_identity import identify_step
from executor.testing import Crash, run_virtual
from executor.testing.virtual_time import current
from planner import Domain, Entity, InputError


class Document(Entity):
    pass


class Person(Entity):
    pass


class Ticket(Entity):
    pass


SIGHTS = {
    "settles": {"conclusive": True, "settle_within": 0},
    "is late": {"conclusive": True, "settle_within": 30},
    "states no delay": {"conclusive": True},
    "is not conclusive": {},
    "is absent": None,
}
FAULTS = ("raises before", "raises after", "cancelled after", "times out after", "killed before", "killed after")


async def die():
    asyncio.get_running_loop().die("killed")
    await asyncio.Future()


class Office:
    """A world in which a document is published in place, or a ticket is opened; `sight` says how that is observed.

    There is a ticket of ann's before, and another one of bob's. Late observers see changes 20 seconds after them.
    """

    def __init__(self, kind, sight="settles", fault=""):
        self.acts, self.fault, self.domain, self.keys, self.known = [], fault, Domain("office"), [], ()
        self.versions, self.tickets, self.configured = [-60.0], {"T-0": ("ann", 0.0), "B-0": ("bob", 0.0)}, set()
        self.kind, self.now, self.delay, self.is_down = kind, 1.0, 20.0 if sight == "is late" else 0.0, False
        in_place = kind == "in place"
        (self._publish if in_place else self._open)(sight)

    def _publish(self, sight):
        self.domain.action(
            "publish", {"d": Document}, requires=["drafted(d)"], modifies=["drafted(d)"], tags=["irreversible"]
        )
        self.domain.action("sign", {"d": Document}, requires=["drafted(d)"], modifies=["drafted(d)"])
        self.world = World(self.domain)
        self.world.handler("publish", policy=ExecutionPolicy(timeout=5.0))(self.publish)
        self.world.handler("sign")(lambda d: self.change())  # noqa: ARG005 - handlers take the action's parameters
        if SIGHTS[sight] is not None:
            self.world.observer("drafted(d)", **SIGHTS[sight])(self.see_document)

    def _open(self, sight):
        self.domain.action(
            "open",
            {"who": Person},
            creates={"ticket": Ticket},
            provides=["open(ticket)", "owner(ticket, who)"],
            tags=["irreversible"],
        )
        self.domain.action("configure", {"t": Ticket}, requires=["open(t)"], provides=["configured(t)"])
        self.world = World(self.domain)
        self.world.handler("open", policy=ExecutionPolicy(timeout=5.0))(self.open)
        self.world.handler("configure")(lambda t: self.configured.add(str(t)))
        self.world.observer("configured(t)", conclusive=True)(lambda t: str(t) in self.configured)
        if SIGHTS[sight] is not None:
            self.world.observer("open(_)", **SIGHTS[sight])(lambda: [each for each, _ in self.see_tickets()])
            self.world.observer("owner(_, _)", **SIGHTS[sight])(self.see_tickets)

    def tick(self):
        self.now = max(self.now, current().time())
        return self.now

    def see_document(self, d):
        assert str(d) == "d1"
        return True if self.is_down else Seen(True, sum(at + self.delay <= self.tick() for at in self.versions))

    def see_tickets(self):
        if self.is_down:
            raise OSError("no line")
        return [(name, who) for name, (who, at) in self.tickets.items() if at + self.delay <= self.tick() or not at]

    def change(self, who="ann"):
        """Change the document, or open another ticket of `who`."""
        if self.kind == "in place":
            self.versions.append(self.tick())
            return ""
        name = f"T-{len(self.tickets)}"
        self.tickets[name] = (who, self.tick())
        return name

    async def publish(self, d, context):
        await self.act(f"publish {d}", context)

    async def open(self, who, context):
        return ActionResult(created={"ticket": await self.act(f"open {who}", context)})

    async def act(self, name, context):
        fault, self.fault = self.fault, ""
        self.keys.append(context.key)
        if fault == "raises before":
            raise ConnectionError("reset")
        if fault == "killed before":
            await die()
        self.acts.append(name)
        made = self.change(name.split()[-1])
        if fault == "raises after":
            raise ConnectionError("reset")
        if fault == "killed after":
            await die()
        if fault in {"cancelled after", "times out after"}:
            await asyncio.sleep(60)
        return made

    def wanted(self):
        if self.kind == "in place":
            step = {"id": "s1", "action": "publish", "arguments": {"d": "d1"}}
            plan = {"objects": {"d1": "Document"}, "initial": ["drafted(d1)"], "steps": [step]}
            return ActionPlan.model_validate(plan)
        goal = ["(exists (?t - Ticket) (and (configured ?t) (owner ?t ann)))"]
        return self.domain.problem(objects=[Person("ann"), Person("bob"), *self.known], goal=goal)

    def run(self, run, place, **options):
        return carry_out(Executor(self.world, journal=place, **options), self, run)

    def resume(self, run, place, answers=None):
        executor = Executor(self.world, journal=place)
        return run_virtual(executor.resume(run, answers=answers), start=self.now + 1)


def carry_out(executor, office, run, fault=""):
    """Carry out a run, which may be cancelled from outside or die; return its outcome, if it has one."""

    async def drive():
        if fault != "cancelled after":
            return await executor.run(office.wanted(), run=run)
        task = asyncio.ensure_future(executor.run(office.wanted(), run=run))
        while not office.acts:  # noqa: ASYNC110 - handlers tell nobody
            await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return None

    try:
        return run_virtual(drive(), start=office.now + 1)
    except Crash as crash:
        crash.bury()
        return None


def go_on(how, office, place, fault):
    """Carry out a run with a fault, and what comes after it; return the outcome of the run that settles the doubt."""
    first = carry_out(Executor(office.world, journal=place), office, "r1", fault)
    settled = first if first is not None and first.status.is_over else None
    if how == "same run":
        return settled or office.resume("r1", place)
    if how == "second run":
        return settled or office.run("r2", place)
    with Journal(place) as journal:
        second = office.run("r2", journal)
    return settled or second


@pytest.mark.parametrize("how", ["same run", "second run", "other process"])
@pytest.mark.parametrize(("kind", "sight", "fault"), list(product(["in place", "creating"], SIGHTS, FAULTS)))
def test_nothing_is_done_twice_and_a_look_that_can_settle_doubt_does(tmp_path, kind, sight, fault, how):
    office = Office(kind, sight, fault)
    outcome = go_on(how, office, tmp_path / "runs.db", fault)
    assert len(office.acts) <= 1
    assert len({*office.keys}) == 1, "it is begun again under the same key"
    step = outcome.steps[0]
    if sight in {"settles", "is late"} or (sight == "states no delay" and "after" in fault):
        assert len(office.acts) == 1
        assert outcome.succeeded or outcome.status is RunStatus.UNVERIFIED, outcome.reason
        done_here = "before" in fault or outcome.run == "r1"
        assert step.status is (StepStatus.SUCCEEDED if done_here else StepStatus.SKIPPED), step.reason
        assert not outcome.questions
    elif not office.acts:
        assert outcome.status in {RunStatus.IN_DOUBT, RunStatus.WAITING}
    if outcome.succeeded and kind == "creating":
        assert office.configured == {"T-2"}


@pytest.mark.parametrize("fault", ["raises before", "raises after", "killed before", "killed after"])
@pytest.mark.parametrize("kind", ["in place", "creating"])
def test_observers_that_fail_before_it_begins_say_nothing_afterwards(tmp_path, kind, fault):
    office = Office(kind, "settles", fault)
    office.is_down = True
    first = office.run("r1", tmp_path / "runs.db")
    office.is_down = False
    assert first is None or first.status is RunStatus.IN_DOUBT
    second = office.run("r2", tmp_path / "runs.db")
    assert second.status is RunStatus.WAITING
    assert office.resume("r1", tmp_path / "runs.db").status is RunStatus.IN_DOUBT
    assert len(office.acts) == ("after" in fault)


def test_the_version_counts_that_is_seen_right_before_it_begins():
    """The document is signed, and changed by somebody else, before it is published: neither is the publication."""
    office = Office("in place", "settles", "raises before")
    steps = [
        {"id": "s1", "action": "sign", "arguments": {"d": "d1"}},
        {"id": "s2", "action": "publish", "arguments": {"d": "d1"}, "depends_on": ["s1"]},
    ]
    plan = ActionPlan.model_validate({"objects": {"d1": "Document"}, "initial": ["drafted(d1)"], "steps": steps})
    permitted = []

    def permit(request):
        permitted.append(request.action)
        if request.action == "publish":
            office.change()
        return True

    outcome = run_virtual(Executor(office.world, permit=permit).run(plan), start=1)
    assert [each.status for each in outcome.steps] == [StepStatus.SUCCEEDED] * 2, outcome.reason
    assert (office.acts, len(office.keys), permitted) == (["publish d1"], 2, ["sign", "publish"])


def test_what_another_step_of_the_run_has_changed_since_is_no_evidence(tmp_path):
    office, place = Office("in place", "settles", "killed before"), tmp_path / "runs.db"
    assert office.run("r1", place) is None
    steps = [
        {"id": "s1", "action": "sign", "arguments": {"d": "d1"}},
        {"id": "s2", "action": "publish", "arguments": {"d": "d1"}, "depends_on": ["s1"]},
    ]
    plan = ActionPlan.model_validate({"objects": {"d1": "Document"}, "initial": ["drafted(d1)"], "steps": steps})
    outcome = run_virtual(Executor(office.world, journal=place).run(plan, run="r2"), start=office.now + 1)
    assert outcome.status is RunStatus.WAITING, outcome.reason
    assert not office.acts


@pytest.mark.parametrize("run", ["r1", "r2"])
@pytest.mark.parametrize("answer", [{"created": {"ticket": "T-3"}}, "it did not happen"], ids=str)
def test_people_choose_among_several_new_objects(tmp_path, run, answer):
    """Somebody else opens a ticket for ann, too, while the attempt is in doubt."""
    office, place = Office("creating", "settles", "killed after"), tmp_path / "runs.db"
    assert office.run("r1", place) is None
    office.now += 1
    office.tickets["T-3"] = ("ann", office.now)
    waiting = office.resume("r1", place) if run == "r1" else office.run("r2", place)
    [question] = waiting.questions
    assert "It may have created T-2 or T-3." in question.text
    assert question.creates == ("ticket",)
    assert len(office.acts) == 1
    outcome = office.resume(run, place, {question.question: answer})
    assert outcome.succeeded or outcome.status is RunStatus.UNVERIFIED, outcome.reason
    assert office.configured == ({"T-3"} if isinstance(answer, dict) else {"T-4"})
    assert len(office.acts) == (1 if isinstance(answer, dict) else 2)


@pytest.mark.parametrize("answer", ["it happened", {"created": {"ticket": "T-0"}}], ids=str)
def test_who_says_that_it_happened_says_what_it_created(tmp_path, answer):
    office, place = Office("creating", "is absent", "killed after"), tmp_path / "runs.db"
    office.known = [Ticket("T-0")]
    assert office.run("r1", place) is None
    [question] = office.run("r2", place).questions
    if answer == "it happened":
        with pytest.raises(InputError, match=r'say \{"created"'):
            office.resume("r2", place, {question.question: answer})
        return
    outcome = office.resume("r2", place, {question.question: answer})
    assert "'T-0' as 'ticket', and that is an object that was there before" in outcome.steps[0].reason
    assert len(office.acts) == 1


def test_a_match_of_some_patterns_only_is_asked_about(tmp_path):
    office, place = Office("creating", "settles", "killed before"), tmp_path / "runs.db"
    assert office.run("r1", place) is None
    office.tickets["B-1"] = ("bob", office.now)
    assert office.run("r2", place).status is RunStatus.WAITING
    assert office.resume("r1", place).status is RunStatus.IN_DOUBT
    assert not office.acts


def test_where_retries_are_ruled_out_the_next_run_begins_it_under_the_same_key(tmp_path):
    office, place = Office("in place", "settles", "killed before"), tmp_path / "runs.db"
    office.world.policies["publish"] = ExecutionPolicy(retries=0)
    assert office.run("r1", place) is None
    office.fault = "raises before"
    assert office.run("r2", place).status is RunStatus.FAILED
    assert office.run("r3", place).status in {RunStatus.SUCCEEDED, RunStatus.UNVERIFIED}
    assert (office.acts, len({*office.keys})) == (["publish d1"], 1)


def wants(*names):
    return [f"(exists (?t - Ticket) (and (configured ?t) (owner ?t {name})))" for name in names]


@pytest.mark.parametrize("fault", ["", "raises after"])
def test_a_plan_that_creates_something_else_first_does_not_create_the_same_again(tmp_path, fault):
    """What a plan calls the object that a step creates does not tell the step from that of another run."""
    office, people = Office("creating", "is absent", fault), [Person("ann"), Person("bob")]
    executor = Executor(office.world, journal=tmp_path / "runs.db")
    first = run_virtual(executor.run(office.domain.problem(objects=people, goal=wants("bob"))))
    assert first.status is (RunStatus.IN_DOUBT if fault else RunStatus.UNVERIFIED)
    second = run_virtual(executor.run(office.domain.problem(objects=people, goal=wants("ann", "bob"))))
    assert second.status is RunStatus.WAITING
    assert sorted(office.acts) == ["open ann", "open bob"]


def test_a_plan_that_creates_two_of_the_same_creates_two(tmp_path):
    office = Office("creating", "settles")
    steps = [{"id": each, "action": "open", "arguments": {"who": "ann"}, "creates": {"ticket": each}} for each in "ab"]
    for model in ("sequential", "parallel", "dag"):
        office.acts.clear()
        plan = ActionPlan.model_validate({"objects": {"ann": "Person"}, "steps": steps, "model": model})
        outcome = run_virtual(Executor(office.world, journal=tmp_path / f"{model}.db").run(plan), start=office.now + 1)
        assert [each.status for each in outcome.steps] == [StepStatus.SUCCEEDED] * 2, outcome.reason
        assert office.acts == ["open ann"] * 2


def test_a_look_settles_doubt_when_the_run_is_taken_up(tmp_path):
    """No observer answers when the handler raises: whoever takes the run up looks before anybody is asked."""
    domain, bank = Domain("shop"), []
    domain.action("pay", provides=["paid"], tags=["irreversible"])
    world, is_down = World(domain), [False]

    @world.handler("pay")
    def pay():
        bank.append("pay")
        is_down[0] = True
        raise ConnectionError("reset")

    @world.observer("paid", conclusive=True, settle_within=0)
    def see():
        return CANNOT_SAY if is_down[0] else bool(bank)

    executor = Executor(world, journal=tmp_path / "runs.db")
    first = run_virtual(executor.run(domain.problem(goal=["paid"]), run="r"))
    assert first.status is RunStatus.IN_DOUBT
    is_down[0] = False
    again = run_virtual(executor.resume("r"))
    assert (again.status, again.steps[0].status, bank) == (RunStatus.SUCCEEDED, StepStatus.SUCCEEDED, ["pay"])


def pays(seen):
    """Return a world whose handler raises after it has paid, if it is `seen`, and after nothing else."""
    domain, bank = Domain("shop"), []
    domain.action("pay", provides=["paid", "noted"], tags=["irreversible"])
    world = World(domain)

    @world.handler("pay")
    def pay():
        bank.append("pay")
        raise ConnectionError("reset")

    for fact in ("paid", "noted"):
        if fact in seen:
            world.observer(fact, conclusive=True, settle_within=60)(lambda fact=fact: seen[fact])
    return world, bank


@pytest.mark.parametrize("seen", [{"paid": False}, {"paid": False, "noted": True}], ids=str)
def test_a_run_does_not_repeat_its_own_step_while_one_of_its_effects_may_be_there(tmp_path, seen):
    world, bank = pays(seen)
    executor = Executor(world, journal=tmp_path / "runs.db")
    assert run_virtual(executor.run(world.domain.problem(goal=["paid"]), run="r")).status is RunStatus.IN_DOUBT
    assert run_virtual(executor.resume("r")).status is RunStatus.IN_DOUBT
    assert bank == ["pay"]


def test_a_look_that_an_interruption_cuts_short_settles_nothing(tmp_path):
    world, bank = pays({"paid": False, "noted": False})
    place = tmp_path / "runs.db"

    async def interrupt(run):
        await asyncio.sleep(1)
        run.interrupt()
        return await run

    async def main():
        executor = Executor(world, journal=place)
        first = asyncio.ensure_future(executor.run(world.domain.problem(goal=["paid"]), run="r1"))
        await asyncio.sleep(1)
        first.cancel()  # while observers still have time to see the payment
        await asyncio.gather(first, return_exceptions=True)
        return await interrupt(executor.start(world.domain.problem(goal=["paid"]), run="r2"))

    assert run_virtual(main()).status is not RunStatus.SUCCEEDED
    with Journal(place) as journal:
        assert ([each.run for each in journal.ledger.flights()], journal.ledger.entries()) == (["r1"], [])
    assert bank == ["pay"]


def test_what_may_still_be_at_work_is_not_done_again_by_another_process(tmp_path):
    """A handler in a thread was given up; another process cannot know when it ends."""
    office, place = Office("in place", "settles"), tmp_path / "runs.db"
    with Journal(place) as journal:
        item = identify_step("office", "publish", ["d1"], {})
        doubt = f"no answer within 5 s, and {STILL_AT_WORK}"
        traces = '{"drafted(d1)": 1}'
        journal.ledger.take(Flight(item, "publish(d1)", "gone", "s1", "k", 1.0, "", doubt, traces))
    waiting = office.run("r1", place)
    assert (waiting.status, office.acts) == (RunStatus.WAITING, [])
    office.versions.append(office.now)
    assert office.run("r2", place).steps[0].status is StepStatus.SKIPPED
