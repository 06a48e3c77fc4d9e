"""A till that pays orders, and notes each payment in a file; as a script, a worker of Temporal for it.

    python till.py ADDRESS NAME FILE

A payment whose order is called "slow" takes two seconds, and one called "stuck" never ends.
"""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from temporalio import workflow

from executor import World
from planner import Domain

SLOW = {"slow": 1.5, "stuck": 3600.0}


@workflow.defn(name="forethought-run")
class EarlierRun:
    """A run of an earlier version, as it ended: with what it was given, if anything."""

    @workflow.run
    async def run(self, given: dict) -> dict:
        """Return what was given, or wait for ever."""
        await workflow.wait_condition(lambda: bool(given))
        return given


class Till:
    """The world of a till called `name`; what `replies` has for an order is what its handler returns or raises."""

    def __init__(self, name, file, *, sees=False, tags=(), settle_within=0.0, domain="till", is_final=True):
        self.file, self.replies = Path(file), {}
        domain = self.domain = Domain(domain, types=["order"])
        domain.action("pay", {"order": "order"}, provides=["paid(order)"], tags=["irreversible"] * is_final + [*tags])
        self.world = World(domain, name=name)
        self.world.handler("pay")(self.pay)
        if sees:
            self.world.observer("paid(order)", conclusive=True, settle_within=settle_within)(self.look)

    async def pay(self, order, context):
        """Pay an order."""
        self.note(order, context.key)
        await asyncio.sleep(SLOW.get(order, 0.0))
        reply = self.replies.get(order)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def look(self, order):
        """Return whether an order is paid."""
        return order in [each for each, _ in self.read()]

    def note(self, *what):
        """Note a payment."""
        with self.file.open("a") as file:
            file.write(" ".join(what) + "\n")

    def read(self):
        """Return the payments: orders and keys."""
        return [tuple(line.split()) for line in self.file.read_text().splitlines()] if self.file.exists() else []

    def problem(self, order):
        """Return the problem of one order."""
        return self.domain.problem(objects={order: "order"}, goal=[f"paid({order})"])


async def serve(address, name, file):
    """Serve the runs of a till."""
    from temporalio.client import Client

    from executor.temporal import TemporalWorker

    options = {"sticky_queue_schedule_to_start_timeout": timedelta(seconds=1)}
    await TemporalWorker(Till(name, file).world, await Client.connect(address), **options).run()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
