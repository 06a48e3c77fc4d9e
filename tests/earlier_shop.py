"""The shop whose runs stand in the journal of an earlier version, and the program that wrote this journal.

    python tests/earlier_shop.py JOURNAL

The journal has one run for each of `GOALS`, and the calls of an agent by `PlannedCalls` for the order o6. The process
that drives "killed" is killed inside the handler of pay(o2).
"""

import asyncio
import os
import signal
import sqlite3
import sys

from executor import CANNOT_SAY, Executor, InDoubt, Journal, PlannedCalls, World
from planner import Domain

GOALS = {
    "succeeded": ["archived(o1)"],
    "killed": ["archived(o2)"],
    "waits-for-approval": ["mailed(o3)"],
    "in-doubt": ["archived(o4)"],
    "failed": ["archived(o5)"],
}
"""The goals of the runs, by name."""
CALLED = [("book", "o6"), ("pay", "o6"), ("mail", "o6")]
"""The calls of the agent; the last one waits for an approval."""
UNSEEN = frozenset({"o4", "o5"})
"""Orders whose payments no observer can see."""


class Bank:
    """The world outside of the runs: a list with an entry for each act, such as "pay o1"."""

    def __init__(self, *acts):
        self.acts = list(acts)
        self.dies_in = ""
        """Order in whose payment the process is killed."""
        self.doubts = ""
        """Order for which the bank does not answer."""
        self.loses = ""
        """Order that cannot be archived."""

    def act(self, name, order):
        self.acts.append(f"{name} {order}")

    def has(self, name, order):
        return f"{name} {order}" in self.acts


def make_domain():
    """Return the domain of the shop."""
    shop, order = Domain("shop", types=["order"]), {"order": "order"}
    shop.action("book", order, provides="booked(order)")
    shop.action("pay", order, requires="booked(order)", provides="paid(order)", tags=["irreversible"])
    tags = ["irreversible", "needs_approval"]
    shop.action("mail", order, requires="paid(order)", provides="mailed(order)", tags=tags)
    shop.action("archive", order, requires="paid(order)", provides="archived(order)")
    return shop


def make_problem(goal, domain=None):
    """Return the problem with this goal, and the orders o1 to o6."""
    objects = {f"o{number}": "order" for number in range(1, 7)}
    return (domain or make_domain()).problem(objects=objects, goal=goal)


def make_world(bank):
    """Return the world of the shop, with handlers that act on `bank` and observers that look at it."""
    world = World(make_domain())
    for action, fact in (("book", "booked"), ("mail", "mailed")):
        world.handler(action)(lambda order, action=action: bank.act(action, order))
        look = world.observer(f"{fact}(order)", conclusive=True, settle_within=0)
        look(lambda order, action=action: bank.has(action, order))

    @world.handler("pay")
    def pay(order):
        if order == bank.dies_in:
            os.kill(os.getpid(), signal.SIGKILL)
        bank.act("pay", order)
        if order == bank.doubts:
            raise InDoubt("the bank does not answer")

    @world.observer("paid(order)", conclusive=True, settle_within=0)
    def paid(order):
        return CANNOT_SAY if order in UNSEEN else bank.has("pay", order)

    @world.handler("archive")
    def archive(order):
        if order == bank.loses:
            raise OSError("the archive is full")
        bank.act("archive", order)

    @world.observer("archived(order)", conclusive=True, settle_within=0)
    def archived(order):
        return bank.has("archive", order)

    return world


async def call_tools(world, journal):
    """Call the tools of `CALLED` as an agent does, without an answer to the question of the last one."""
    calls = PlannedCalls(world, make_problem(["mailed(o6)"], world.domain), journal=journal)
    for name, order in CALLED:
        await calls.call(name, {"order": order})


def write(place):
    """Write the journal at `place`, in two processes: one of them is killed."""
    bank = Bank()
    bank.dies_in, bank.doubts, bank.loses = "o2", "o4", "o5"
    for name, goal in GOALS.items():
        child = os.fork() if name == "killed" else 0
        if child:
            os.waitpid(child, 0)
            continue
        with Journal(place) as journal:
            executor = Executor(make_world(bank), journal, ask="later" if name != "failed" else None)
            asyncio.run(executor.run(make_problem(goal, executor.world.domain), run=name))
    with Journal(place) as journal:
        asyncio.run(call_tools(make_world(bank), journal))
    connection = sqlite3.connect(place)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


if __name__ == "__main__":
    write(sys.argv[1])
