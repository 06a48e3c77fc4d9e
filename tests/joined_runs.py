"""Requests and nested runs of several processes on one journal, each of which pays; a program of its own, as it kills.

    python tests/joined_runs.py FOLDER DOOR RUN GOAL HANDLER

DOOR is "run" (a run that pays), "outer" (a run whose handler begins the run that pays) or "resume" (the outer run is
resumed). RUN names the run, "-" leaves it without a name. HANDLER "waits" for the file `go`, "dies" after it has paid,
or "pays". Prints the id and the status of the run, and its children.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from executor import Executor, RunExists, World
from planner import Domain


class Till:
    """Orders that are paid: `bank` has a line for each payment, whichever process makes it."""

    def __init__(self, folder, handler="pays"):
        self.folder, self.bank = Path(folder), Path(folder) / "bank"
        self.domain = Domain("till", types=["order"])
        self.domain.action("pay", {"order": "order"}, provides=["paid(order)"], tags=["irreversible"])
        self.world = World(self.domain)

        @self.world.handler("pay")
        async def pay(order):
            with self.bank.open("a") as file:
                file.write(f"{order}\n")
            if handler == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            while handler == "waits" and not (self.folder / "go").exists():  # noqa: ASYNC110 - a file of another process
                await asyncio.sleep(0.02)

        self.world.observer("paid(order)", conclusive=True, settle_within=0)(lambda order: order in self.payments())
        self.executor = Executor(self.world, self.folder / "till.db")

    def problem(self, goal="paid(o7)"):
        return self.domain.problem(objects={"o7": "order", "o8": "order"}, goal=[goal])

    def payments(self):
        return self.bank.read_text().split() if self.bank.exists() else []


def make_office(till):
    """Return an executor whose handler settles orders by runs of `till`, and its problem."""
    domain = Domain("office")
    domain.action("settle", provides=["settled"], tags=["idempotent"])
    world, settled = World(domain), till.folder / "settled"

    @world.handler("settle")
    async def settle():
        if (await till.executor.run(till.problem())).succeeded:
            settled.touch()

    world.observer("settled", conclusive=True, settle_within=0)(settled.exists)
    return Executor(world, till.folder / "office.db"), domain.problem(goal=["settled"])


async def main(folder, door, run, goal, handler):
    till = Till(folder, handler)
    if door == "run":
        outcome = await till.executor.run(till.problem(goal), **({} if run == "-" else {"run": run}))
        return outcome.run, outcome.status.name, []
    office, problem = make_office(till)
    outcome = await (office.run(problem, run=run) if door == "outer" else office.resume(run))
    return outcome.run, outcome.status.name, [each.run for each in outcome.state.children]


if __name__ == "__main__":
    try:
        told = asyncio.run(main(*sys.argv[1:]))
    except RunExists as error:
        told = "", "RunExists", str(error)
    sys.stdout.write(json.dumps(told))
