"""What was done by hand is seen, whatever kind of effect it has: conditional, derived, negative, or an outcome.

So is what was stated to hold from the beginning, and a look has overruled.
"""

import asyncio

import pytest

from executor import Agent, Executor, PlannedCalls, World
from executor.journal import Journal
from executor.ledger import records
from planner import Domain, Outcome, When, decide

KINDS = ("plain", "negative", "conditional", "derived", "one of two derived", "outcome", "outcomes only")
STATED = ("stated", "stated negative")


class Office:
    """A bank whose payment has an effect of some kind; somebody pays by hand before, or while the books are fetched."""

    def __init__(self, kind, *, early):
        self.domain, self.acts, self.initial, self.early = Domain("office"), ["hand"] if early else [], [], early
        self.kind, need, pay = kind, "paid", {"provides": ["paid"]}
        match kind:
            case "negative":
                pay, need, self.initial = {"provides": ["not debt"]}, "not debt", ["debt"]
                self.domain.predicate("debt")
            case "stated":
                self.initial = ["paid"]
            case "stated negative":
                pay, need = {"provides": ["not debt"]}, "not debt"
                self.domain.predicate("debt")
            case "conditional":
                pay, self.initial = {"when": [When(["member"], ["paid"], [])]}, ["member"]
                self.domain.predicate("member")
                self.domain.predicate("paid")
            case "derived" | "one of two derived":
                pay, need = {"provides": ["cleared"]}, "settled"
                self.domain.predicate("cleared")
                self.domain.predicate("waived")
                self.domain.derive("settled", {}, "cleared")
                if kind != "derived":
                    self.domain.derive("settled", {}, "waived")
            case "outcome":
                pay = {"provides": ["paid"], "outcomes": [Outcome("0.9", ["prompt"]), Outcome("0.1", ["late"])]}
            case "outcomes only":
                pay = {"outcomes": [Outcome("0.9", ["paid"]), Outcome("0.1", ["declined"])]}
        self.domain.action("book", provides=["booked"])
        self.domain.action("pay", requires=["booked"], tags=["irreversible"], **pay)
        self.domain.action("finish", requires=[need], provides=["finished"])
        self.world = World(self.domain)
        for name in ("book", "pay", "finish"):
            self.world.handler(name)(lambda name=name: self.act(name))
        fact = need.removeprefix("not ")
        self.observe(fact, lambda: self.is_paid is not need.startswith("not "))
        self.observe("booked", lambda: "book" in self.acts)
        self.observe("finished", lambda: "finish" in self.acts)
        for outcome in ("prompt", "late", "declined"):
            if outcome in self.domain.model.predicates:
                self.observe(outcome, lambda: False)

    def observe(self, fact, look):
        self.world.observer(fact, conclusive=True, settle_within=0)(look)

    @property
    def is_paid(self):
        return "hand" in self.acts or "pay" in self.acts

    def act(self, name):
        self.acts.append(name)
        if name == "book" and not self.early:
            self.acts.append("hand")

    @property
    def problem(self):
        return self.domain.problem(initial=self.initial, goal=["finished"])


async def run(office, place):
    problem = decide(office.problem) if office.kind == "outcomes only" else office.problem
    return (await Executor(office.world, place).run(problem)).succeeded


async def react(office, place):
    problem = decide(office.problem) if office.kind == "outcomes only" else office.problem
    model = None if office.kind == "outcomes only" else "reactive"
    return (await Executor(office.world, place, model=model).run(problem)).succeeded


async def achieve(office, place):
    agent = Agent(office.world, office.domain.problem(initial=office.initial), journal=place)
    return (await agent.achieve(["finished"])).outcome.succeeded


async def call(office, place):
    calls = PlannedCalls(office.world, office.problem, journal=place)
    for _ in range(6):
        steps = await calls.next_steps()
        if not steps:
            break
        await calls.call(steps[0].action)
    return calls.is_reached


@pytest.mark.parametrize("early", [True, False], ids=["before", "meanwhile"])
@pytest.mark.parametrize("door", [run, react, achieve, call])
@pytest.mark.parametrize("kind", [*KINDS, *STATED])
def test_what_was_paid_by_hand_is_not_paid_again(kind, door, early, tmp_path):
    if kind == "outcomes only" and door in {achieve, call}:
        return  # these plan without policies: a payment that may be declined brings nothing for sure
    office = Office(kind, early=early)
    assert asyncio.run(door(office, tmp_path / "runs.db"))
    assert "pay" not in office.acts


class Counter(Office):
    """A payment that is declined, seen so, and then lost; the fee is charged each time."""

    def __init__(self, how):
        super().__init__("outcomes only", early=False)
        self.how, self.fees, self.has_charged = how, 0, asyncio.Event()
        self.world = World(self.domain)
        self.world.handler("pay")(self.charge)
        self.world.handler("book")(lambda: self.acts.append("book"))
        self.world.handler("finish")(lambda: None)
        self.observe("booked", lambda: "book" in self.acts)
        self.observe("declined", lambda: self.fees == 1)
        self.observe("paid", lambda: self.fees > 1)

    async def charge(self):
        self.fees += 1
        self.has_charged.set()
        if self.fees == 1 and self.how == "cancelled":
            await asyncio.sleep(60)
        if self.fees == 1 and self.how == "raises":
            raise ConnectionError("reset")


@pytest.mark.parametrize("how", ["cancelled", "raises"])
def test_an_attempt_whose_other_outcome_is_seen_has_happened(how, tmp_path):
    office = Counter(how)

    async def begin():
        task = asyncio.ensure_future(run(office, tmp_path / "runs.db"))
        await office.has_charged.wait()
        if how == "cancelled":
            task.cancel()
        await asyncio.wait([task])

    asyncio.run(begin())
    asyncio.run(run(office, tmp_path / "runs.db"))
    with Journal(tmp_path / "runs.db") as journal:
        first = journal.ledger.entries()[0]
    assert (first.outcome, first.seen) == (records.Outcome.DONE, True)
