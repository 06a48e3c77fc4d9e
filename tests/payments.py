"""A till in which somebody pays an order, through any door: a bank outside all processes counts the payments.

    with opened_till(tmp_path, sight="absent", acts=["raises"]) as till:
        till.live(lambda journal: till.ask("run", till.open_world(), journal))

`live` is the life of one process in virtual time, with a journal if the till has one; `open_world` makes its world. A
process dies where the handler says so.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from executor import ActionResult, Agent, ExecutionPolicy, Executor, PlannedCalls, Wait, World, joining
from executor.journal import open_journal
from executor.loop import abandoned_calls
from executor.testing import Crash, VirtualClock, run_virtual
from executor.testing.virtual_time import die, now, sleep
from planner import Domain

CLOCK = VirtualClock(1_790_000_000.0)
OBJECTS = {"o1": "order", "o2": "order", "card": "means", "cash": "means"}
DOORS = ("run", "agent", "room", "maintain", "calls")
LAG, SETTLES = 5.0, 8.0
"""Seconds by which a late observer is behind, and that it says of itself."""
LONG = 1000.0
"""Seconds that a handler hangs."""
SIGHTS = {
    "settles": {"conclusive": True, "settle_within": 0},
    "is late": {"conclusive": True, "settle_within": SETTLES},
    "kept": {"conclusive": True, "settle_within": 0, "max_age": LONG},
    "states no delay": {"conclusive": True},
    "vague": {},
    "absent": None,
}
"""How the payment is observed. Those who state no delay, and vague ones, are behind for ever."""


@dataclass
class Till:
    """What there is outside of processes; `acts` says how each call of `pay` goes, in their order."""

    place: Path | None
    sight: str = "absent"
    acts: list[str] = field(default_factory=list)
    policy: ExecutionPolicy | None = None
    tags: tuple[str, ...] = ("irreversible",)
    before: float = 0.0
    """Seconds that a payment takes before it acts."""
    paid: list[tuple[str, str, float]] = field(default_factory=list)
    """The order, the means and the time of each payment."""
    time: float = 0.0
    """The time at which the latest process ended."""
    inside: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a handler has acted and hangs."""
    graves: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def domain(self) -> Domain:
        """The till as every process declares it: `means` can be used as the initial state says."""
        domain = Domain("till", types=["order", "means"])
        domain.predicate("works", "means")
        domain.action("prepare", {"o": "order"}, provides=["prepared(o)"])
        domain.action(
            "pay", {"o": "order", "m": "means"}, requires=["works(m)"], provides=["paid(o)"], tags=list(self.tags)
        )
        domain.action("file", {"o": "order"}, requires=["paid(o)", "prepared(o)"], provides=["filed(o)"])
        domain.action("send", {"o": "order"}, requires=["paid(o)"], provides=["sent(o)"])
        return domain

    def open_world(self) -> World:
        """Make the world of a process."""
        world, done = World(self.domain), set()
        in_thread = any("thread" in each for each in self.acts)
        world.handler("pay", policy=self.policy)(self.pay_in_thread if in_thread else self.pay)

        @world.handler("prepare")
        async def prepare(o):
            await asyncio.sleep(10)
            done.add(("prepared", str(o)))

        for action, fact in (("file", "filed"), ("send", "sent")):
            world.handler(action)(lambda o, fact=fact: done.add((fact, str(o))))
        for fact in ("prepared", "filed", "sent"):
            world.observer(f"{fact}(o)", conclusive=True)(lambda o, fact=fact: (fact, str(o)) in done)
        if SIGHTS[self.sight] is not None:
            world.observer("paid(o)", **SIGHTS[self.sight])(self.see)
        return world

    def see(self, o) -> bool:
        """Tell what an observer sees of a payment."""
        lag = {"settles": 0.0, "kept": 0.0, "is late": LAG}.get(self.sight, float("inf"))
        return any(each == str(o) and at + lag <= now() for each, _, at in self.paid)

    def _take_act(self) -> str:
        return self.acts.pop(0) if self.acts else ""

    def _pay(self, o, m) -> None:
        self.paid.append((str(o), str(m), now()))

    def pay_in_thread(self, o, m):
        """Pay in a thread, which nobody can stop."""
        if self._take_act():
            sleep(self.before)
        self._pay(o, m)

    async def pay(self, o, m):
        """Pay, and then do what the next of `acts` says."""
        act = self._take_act()
        await asyncio.sleep(self.before)
        if act == "fails":
            return ActionResult.failed("declined")
        if act == "dies first":
            await die("kill -9")
        self._pay(o, m)
        match act:
            case "raises":
                raise ConnectionError("reset")
            case "hangs":
                self.inside.set()
                await asyncio.sleep(LONG)
            case "dies":
                await die("kill -9")
            case "waits":
                return Wait("the bank confirms")
        return None

    def live(self, life, *, is_new: bool = True) -> Any:
        """Let a process live; return what `life`, given the journal, returns, or "killed".

        A new process knows nothing of the handlers and runs that are at work in others.
        """
        with contextlib.ExitStack() as own:
            journal = None if self.place is None else own.enter_context(open_journal(self.place))
            if is_new:
                own.enter_context(mock.patch.dict(joining._at_work, clear=True))
                own.enter_context(mock.patch.object(abandoned_calls, "_abandoned", []))
            return self._live(life(journal))

    def _live(self, coroutine) -> Any:
        self.inside = asyncio.Event()

        async def timed():
            try:
                return await coroutine
            finally:
                self.time = now() + 1.0

        try:
            return run_virtual(timed(), start=self.time)
        except Crash as crash:
            self.graves.callback(crash.bury)
            self.time = crash.loop.now + 1.0
            return "killed"

    def problem(self, means="card", goal=("paid(o1)",)):
        """Return what somebody wants who can use `means`."""
        return self.domain.problem(objects=OBJECTS, initial=[f"works({means})"], goal=list(goal))

    async def ask(self, door, world, journal, *, means="card", goal=("paid(o1)",), run=None) -> Any:
        """Ask for `goal` through a door, and return the status that it tells."""
        problem = self.problem(means, goal)
        if door == "run":
            return (await Executor(world, journal).run(problem, **({"run": run} if run else {}))).status.name
        if door == "calls":
            calls = PlannedCalls(world, problem, journal=journal, **({"run": run} if run else {}))
            return (await calls.call("pay", {"o": "o1", "m": means})).status
        agent = Agent(world, self.domain.problem(objects=OBJECTS, initial=[f"works({means})"]), journal=journal)
        if door in ("agent", "room"):
            asked = agent if door == "agent" else agent.room("counter")
            achieved = await asked.achieve(list(goal))
            return achieved.outcome.status.name
        agent.maintain(" and ".join(goal) if len(goal) > 1 else goal[0])
        async with agent.attend(poll=None, clock=CLOCK.time) as attending:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(attending.settled(), LONG / 2)
            return "WAITING" if attending.waiting else "OVER"

    async def ask_and_leave(self, door, world, journal, **options) -> None:
        """Ask through a door, and cancel that once the handler has acted and hangs."""
        task = asyncio.ensure_future(self.ask(door, world, journal, **options))
        await self.inside.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextlib.contextmanager
def opened_till(place, **options):
    """Open a till in virtual time, with a journal at `place`, if there is one."""
    till = Till(place, **options)
    with till.graves, mock.patch("time.time", CLOCK.time):
        yield till
