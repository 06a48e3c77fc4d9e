"""One fault ends in one status at every door that carries out a whole run, whatever it is.

Doors of other frameworks are left out: they tell of each call. Whoever is asked what now gives up.
"""

import asyncio
from types import SimpleNamespace

import pytest
from doors.bank import CLOCK
from doors.registry import DOORS

from executor import ActionResult, ExecutionPolicy, World
from executor.events.answers import GIVE_UP
from executor.journal import Journal, open_journal
from executor.testing import run_virtual
from htn.language.declare import Methods
from planner import Domain
from planner.errors import InputError, NoPlan

OF_CALLS = ("planned calls", "pydantic-ai", "langgraph", "calls without journal")
OF_OTHERS = ("plan by hand", "plan without goal", "nested run", "at", "every")
"""Doors that write a plan of their own, or tell what the run of an inner or a later one made of it."""
NAMES = [each for each in DOORS if each not in (*OF_CALLS, *OF_OTHERS)]
STATUSES = {
    ("raises", "reversible"): "FAILED",
    ("raises", "irreversible"): "FAILED",
    ("raises", "blind"): "IN_DOUBT",
    ("says that it failed", "blind"): "FAILED",
    ("times out", "reversible"): "FAILED",
    ("times out", "irreversible"): "FAILED",
    ("times out", "blind"): "IN_DOUBT",
    ("refused", "reversible"): "FAILED",
    ("refused", "irreversible"): "FAILED",
    ("missing value", "irreversible"): "REFUSED",
    ("missing handler", "irreversible"): "REFUSED",
    ("observers disagree", "reversible"): "FAILED",
    ("observers disagree", "irreversible"): "IN_DOUBT",
}
"""What each fault of `pay` ends in: it is reversible, irreversible, or irreversible and nobody looks."""


class Till:
    """A till in which paying goes wrong; it has what doors want to know of a site."""

    scene = SimpleNamespace(reports="", approval="")
    start: tuple[str, ...] = ()
    callers = 0
    goal = ("sealed",)

    def __init__(self, fault, kind, flavour, folder, journal):
        self.fault, self.flavour, self.folder, self.journal, self.done = fault, flavour, folder, journal, set()
        self.bank = SimpleNamespace(holds=self.done.__contains__, pace=1.0)
        self.domain, self.methods = Domain("till"), None
        self._declare(kind)
        self.world = World(self.domain if self.methods is None else self.methods.model)
        self._bind(kind)

    def _declare(self, kind):
        time = {"duration": 1} if self.flavour == "timed" else {}
        tags = ["needs_approval"] if self.fault == "refused" else []
        tags += [] if kind == "reversible" else ["irreversible"]
        values = {"note": str} if self.fault == "missing value" else {}
        self.domain.action("pay", values, provides=["paid"], tags=tags, **time)
        self.domain.action("seal", {}, requires=["paid"], provides=["sealed"], tags=["trusted"], **time)
        if self.flavour == "tasks":
            self.methods = Methods(self.domain)
            self.methods.task("deal")
            self.methods.method("plain", {}, task="deal()", subtasks=["pay()", "seal()"])

    def _bind(self, kind):
        if self.fault != "missing handler":
            self.world.handler("pay", policy=ExecutionPolicy(timeout=5.0))(self.pay)
        self.world.handler("seal")(lambda: self.done.add("sealed"))
        if kind != "blind":
            self.world.observer("paid", conclusive=True, settle_within=0)(lambda: "paid" in self.done)
        if self.fault == "observers disagree":
            self.world.observer("paid", conclusive=True, settle_within=0)(lambda: False)

    async def pay(self, **_):
        if self.fault == "raises":
            raise RuntimeError("the line was lost")
        if self.fault == "times out":
            await asyncio.sleep(1000)
        if self.fault == "says that it failed":
            return ActionResult.failed("no money")
        self.done.add("paid")
        return None

    @property
    def problem(self):
        if self.methods is not None:
            return self.methods.problem(tasks=["deal()"])
        objective = {"objective": "makespan"} if self.flavour == "timed" else {}
        return self.domain.problem(goal=[*self.goal], **objective)

    @property
    def now(self):
        return self.domain.problem()


async def ask(door):
    """Ask at a door, and answer what it asks, but whether it happened; return the status that is told."""
    try:
        told = await door.ask()
        while told.questions and not told.questions[0].name.partition(":")[0].endswith("doubt"):
            answer = GIVE_UP if GIVE_UP in told.questions[0].choices else "no"
            told = await door.answer(told.questions[0], answer)
    except (NoPlan, InputError):
        return "REFUSED"
    return told.status


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("fault", "kind"), STATUSES)
def test_a_fault_ends_in_one_status_at_every_door(fault, kind, name, tmp_path, monkeypatch):
    monkeypatch.setattr(Journal, "clock", CLOCK)
    made = DOORS[name]
    journal = open_journal(tmp_path / "till.db") if made.has_journal else None

    async def main():
        till = Till(fault, kind, made.flavour, tmp_path, journal)
        return await ask(made(till)), till.done

    try:
        status, done = run_virtual(main())
    finally:
        if journal is not None:
            journal.close()
    assert status == STATUSES[fault, kind]
    assert done <= ({"paid"} if fault == "observers disagree" else set())


def test_every_door_of_whole_runs_is_in_the_table():
    assert {*NAMES, *OF_CALLS, *OF_OTHERS} == {*DOORS}
