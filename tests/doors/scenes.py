"""The till: what there is to do, who looks, and who is asked. `make_site` makes the world of one process."""

from __future__ import annotations

import asyncio
import os
import resource
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from doors.bank import PRICE, Bank
from doors.faults import Fault
from executor import ActionResult, ExecutionPolicy, World
from executor.testing.virtual_time import current, die, now, sleep
from htn.language.declare import Methods
from planner import Domain, From, Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from executor.journal import AnyJournal

AMOUNT, DAY, SLIP = Decimal("60.00"), date(2026, 11, 30), b"No. 7"
EDITED, MEDDLED = Decimal("45.00"), Decimal("99.00")
"""The amount that is approved in place of what was asked for, and the one that others would have meanwhile."""
ORDER, FOUND_GOAL = 'o 7, "urgent"', "(forall (?o - order) (imply (pending ?o) (stamped ?o)))"
"""The name of the order that turns up, and what is wanted of all orders."""
LAG, SETTLES = 5.0, 8.0
"""Seconds by which a slow observer is behind, and that it says of itself."""
LIMIT = 5.0
"""Seconds that a handler has, in the faults of time."""
LEAST_LIMIT, LEAST_SETTLES = 0.5, 2.0
"""Real seconds of a handler, and until an observer is sure, at the least: real processes and servers need theirs."""
Flavour = Literal["plain", "timed", "tasks"]


@dataclass(frozen=True, slots=True)
class Scene:
    """What a story is about.

    `sight`: whether those who look at `paid` can say no. Where nobody looks at it, nobody sees what was sealed for
    an earlier request, so that only the ledger knows of the payment. `approval`: what a person says who is asked
    whether to pay, or "" where nobody is: "no first" until the refusal is shown, "edited" with another amount, which a
    hook, working memory and the agent that calls would change. `prepare`: how the reversible step goes that the goal
    needs, and that `pay` does not need. `reports`: the outcome that the check reports without which nothing is paid, or
    "" where there is none. `has_found`: whether an order turns up, with a name that needs quotes, which the goal is
    about, too.
    """

    name: str
    sight: Literal["conclusive", "vague", "blind"] = "conclusive"
    approval: Literal["", "yes", "no", "no first", "edited"] = ""
    prepare: Literal["well", "late", "never"] = "well"
    has_other_way: bool = False
    """Whether another irreversible action brings the same."""
    has_detour: bool = False
    """Whether the goal is reached by another irreversible action and another seal, too; the seal breaks once."""
    is_paid: bool = False
    has_budget: bool = False
    has_types: bool = False
    reports: Literal["", "within", "over"] = ""
    has_found: bool = False
    is_answered_elsewhere: bool = False
    """Whether what a door asks is answered by another executor on the same journal."""

    @property
    def is_reachable(self) -> bool:
        """Whether the goal can be reached by whoever answers truthfully."""
        return self.approval != "no" and self.prepare != "never" and self.reports != "over"

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


@dataclass(slots=True)
class Site:
    """One process: its world, its journal, and what a host knows in it."""

    bank: Bank
    scene: Scene
    fault: Fault
    flavour: Flavour
    folder: Path
    journal: AnyJournal | None
    domain: Domain
    methods: Methods | None
    world: World
    callers: int = 0
    """Who has come through a door in this process."""
    struck: str = ""
    """What the latest call of `pay` has met."""
    inside: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a handler that is to be cancelled waits."""

    @property
    def limit(self) -> float:
        """Seconds that a handler has, in the faults of time."""
        return max(LIMIT * self.bank.pace, LEAST_LIMIT)

    @property
    def start(self) -> list[str]:
        return ["budget = 100"] if self.scene.has_budget else []

    @property
    def goal(self) -> list[str]:
        """What the latest caller wants: the second of two with wishes of their own wants more, so that nobody joins."""
        wants_more = self.fault.host == "two wishes at once" and self.callers > 1
        wanted = ["prepared", "sealed"] if wants_more else ["sealed"]
        return [*wanted, FOUND_GOAL] if self.scene.has_found else wanted

    @property
    def problem(self) -> Any:
        """The problem of the latest caller."""
        if self.methods is not None:
            goal = {} if self.goal == ["sealed"] else {"goal": self.goal}
            return self.methods.problem(initial=self.start, tasks=["deal()"], **goal)
        objective = {"objective": "makespan"} if self.flavour == "timed" else {}
        return self.domain.problem(initial=self.start, goal=self.goal, **objective)

    @property
    def now(self) -> Any:
        """The state in which an agent begins."""
        return self.domain.problem(initial=self.start)


def make_site(
    bank: Bank,
    scene: Scene,
    fault: Fault,
    flavour: Flavour,
    *,
    journal: AnyJournal | None,
    folder: Path,
    name: str = "",
) -> Site:
    """Make the world of one process; it has a `name` of its own where others of the same domain share its ledger."""
    domain = _declare(scene, flavour)
    methods = _declare_tasks(domain, scene) if flavour == "tasks" else None
    world = World(domain if methods is None else methods.model, name=name)
    site = Site(bank, scene, fault, flavour, folder, journal, domain, methods, world)
    _bind_handlers(site)
    _bind_observers(site)
    return site


def make_beside(site: Site) -> Site:
    """Make the world of another process in the same story."""
    given: dict[str, Any] = {"journal": None, "folder": site.folder, "name": site.world.name}
    return make_site(site.bank, site.scene, site.fault, site.flavour, **given)


def _declare(scene: Scene, flavour: Flavour) -> Domain:
    domain = Domain("till")
    time = {"duration": 1} if flavour == "timed" else {}
    approved = ["needs_approval"] if scene.approval else []
    spends = {"modifies": [f"budget -= {PRICE}"]} if scene.has_budget else {}
    if scene.has_budget:
        domain.function("budget", low=0)
    amount = {"amount": Annotated[Decimal, Field(default=AMOUNT)]}
    within = {"requires": ["within"]} if scene.reports else {}
    actions = {
        "prepare": ({}, {"provides": ["prepared"]}),
        "pay": (amount, {"provides": ["paid"], "tags": ["irreversible", *approved], **within, **spends}),
    }
    if scene.reports:
        outcomes = [Outcome("0.9", ["within"], name="within"), Outcome("0.1", ["over"], name="over")]
        domain.predicate("within", tags=["trusted"])
        domain.action("check", {}, provides=["within"], outcomes=outcomes, **time)
    if scene.has_found:
        domain.type("order")
        domain.action("stamp", {"o": "order"}, requires=["pending(o)"], provides=["stamped(o)"], **time)
    # Where the form may not be there, no door owes it to the order of the declarations that it prepares first.
    for name in actions if scene.prepare == "well" else reversed(actions):
        parameters, fields = actions[name]
        domain.action(name, parameters, **fields, **time)
    if scene.has_other_way:
        slow = {"duration": 9} if time else {"cost": 9}  # a plan takes `pay` first
        domain.action("transfer", {}, provides=["paid"], tags=["irreversible"], **slow)
    if scene.has_detour:
        slow = {"duration": 9} if time else {"cost": 9}
        domain.action("wire", {}, provides=["wired"], tags=["irreversible"], **spends, **slow)
        domain.action("seal_wired", {}, requires=["prepared", "wired"], provides=["sealed"], **time)
    kept = {"day": Annotated[date, From("paid", "data.day")], "slip": Annotated[bytes, From("paid", "data.slip")]}
    domain.action("seal", kept if scene.has_types else {}, requires=["prepared", "paid"], provides=["sealed"], **time)
    return domain


def _declare_tasks(domain: Domain, scene: Scene) -> Methods:
    methods = Methods(domain)
    methods.task("deal")
    checks = ["check()"] if scene.reports else []
    methods.method("plain", {}, task="deal()", subtasks=["prepare()", *checks, "pay()", "seal()"])
    if scene.has_detour:
        methods.method("wired", {}, task="deal()", subtasks=["prepare()", "wire()", "seal_wired()"])
    return methods


def _bind_handlers(site: Site) -> None:
    bank, scene, world = site.bank, site.scene, site.world
    trials = {"timeout": site.limit} if {"hangs after", "thread acts late"} & {*site.fault.calls} else {}

    @world.handler("prepare")
    async def prepare():
        bank.note("call", "prepare")
        await asyncio.sleep(bank.pace)
        if site.fault.host == "by hand" and not bank.holds("paid"):
            bank.act("pay", by="hand")
        fails = scene.prepare == "never" or (scene.prepare == "late" and _count(bank, "call", "prepare") == 1)
        if fails:
            return ActionResult.failed("the form is not there")
        bank.act("prepare")
        return None

    if scene.approval == "edited":

        @world.around
        async def meddle(call, proceed):
            if call.action.name != "pay":
                return await proceed()
            call.context.memory.set("amount", MEDDLED)
            bank.note("meddle", "pay")
            return await (proceed(amount=MEDDLED) if _count(bank, "meddle", "pay") == 1 else proceed())

    pay = Payment(site)
    in_thread = "thread acts late" in site.fault.calls
    world.handler("pay", policy=ExecutionPolicy(**trials))(pay.in_thread if in_thread else pay.in_loop)
    if scene.has_other_way:

        @world.handler("transfer")
        async def transfer():
            bank.act("transfer")

    if scene.reports:

        @world.handler("check")
        async def check():
            return ActionResult(observed=(scene.reports,))

    if scene.has_found:

        @world.handler("stamp")
        async def stamp(o):
            bank.note("act", "stamp", str(o))

    if scene.has_types:

        @world.handler("seal")
        async def seal_on(day, slip):
            bank.note("given", "day", repr(day))
            bank.note("given", "slip", repr(slip))
            bank.act("seal")
    else:

        @world.handler("seal")
        async def seal():
            bank.note("call", "seal")
            if scene.has_detour and _count(bank, "call", "seal") == 1:
                return ActionResult.failed("the seal is broken")
            bank.act("seal")
            return None

    if scene.has_detour:

        @world.handler("wire")
        async def wire():
            bank.act("wire")

        @world.handler("seal_wired")
        async def seal_wired():
            bank.act("seal_wired")


def _count(bank: Bank, kind: str, what: str) -> int:
    return sum(1 for each in bank.log if (each.kind, each.what) == (kind, what))


@dataclass(slots=True)
class Payment:
    """The handler that pays, and what goes wrong in it."""

    site: Site

    def _receive(self, amount: Any) -> str:
        """Note a call, and return what goes wrong in it."""
        bank, met = self.site.bank, self.site.fault.calls
        bank.note("call", "pay", repr(amount))
        number = _count(bank, "call", "pay")
        self.site.struck = met[number - 1] if number <= len(met) else ""
        return self.site.struck

    def in_thread(self, amount):
        bank = self.site.bank
        if self._receive(amount):
            sleep(self.site.limit + 10 * bank.pace)
        bank.act("pay")
        return {"day": DAY, "slip": SLIP}

    async def in_loop(self, amount):
        bank, struck = self.site.bank, self._receive(amount)
        await asyncio.sleep(bank.pace)
        match struck:
            case "raises before":
                raise ConnectionError("the bank does not answer")
            case "lies":
                return {"day": DAY, "slip": SLIP}
            case "dies before":
                await self._die()
            case "is cancelled before":
                await self._wait_inside()
        bank.act("pay")
        match struck:
            case "raises after":
                raise ConnectionError("the connection was reset")
            case "false failure":
                return ActionResult.failed("declined")
            case "dies after":
                await self._die()
            case "is cancelled after" | "hangs after":
                await self._wait_inside()
            case "is called off":
                self.site.inside.set()
            case "fills the disk":
                fill_disk()
        await asyncio.sleep(bank.pace)
        bank.note("return", "pay")
        return {"day": DAY, "slip": SLIP}

    async def _wait_inside(self) -> None:
        self.site.inside.set()
        await asyncio.sleep(1000 * self.site.bank.pace)

    async def _die(self) -> None:
        if current() is None:
            os.kill(os.getpid(), 9)
        await die("kill -9")


def fill_disk() -> None:
    """Let every write to a file fail from now on, as on a full disk."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))


def clear_disk() -> None:
    """Make room on the disk."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def _make_observer(bank: Bank, fact: str) -> Any:
    async def look() -> bool:
        return bank.holds(fact)

    return look


def _bind_observers(site: Site) -> None:
    bank, scene, fault = site.bank, site.scene, site.fault
    site.world.observer("prepared", conclusive=True)(_make_observer(bank, "prepared"))

    @site.world.observer("sealed", conclusive=True)
    async def is_sealed():
        return bank.holds("sealed", is_new=scene.sight == "blind")

    if scene.has_budget:

        @site.world.observer("budget", conclusive=True, settle_within=0)
        async def budget():
            return bank.money()

    if scene.has_found:
        site.world.observer("pending(_)", conclusive=True, settle_within=0)(lambda: [ORDER])

        @site.world.observer("stamped(_)", conclusive=True, settle_within=0)
        async def stamped():
            return [ORDER] if any((each.kind, each.what) == ("act", "stamp") for each in bank.log) else []

    if scene.sight == "blind":
        return
    is_slow = fault.looks == "slow"
    settles = max(SETTLES * bank.pace, LEAST_SETTLES) if is_slow else 0.0

    @site.world.observer("paid", conclusive=scene.sight == "conclusive", settle_within=settles)
    async def is_paid():
        bank.note("look", "paid")
        if is_slow:
            await asyncio.sleep(0.2 * bank.pace)
            return bank.holds("paid", now() - LAG * bank.pace)
        return bank.holds("paid")

    if fault.looks == "disagree":

        @site.world.observer("paid", conclusive=True)
        async def is_booked():
            return False
