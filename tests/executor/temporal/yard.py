"""A yard whose jobs share a worker, a lock, a rate and a purse; as a script, a worker of Temporal for it.

    python yard.py ADDRESS QUEUE FILE

FILE keeps what was done, for all processes.
"""

import asyncio
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

from executor import ExecutionPolicy, Rate, World
from executor.plans.action_plan import ActionPlan, Goals
from planner import Domain
from planner.plan import Plan, Step

JOBS = 6
SECONDS = 0.3
FACTS = {"ring": "rung", "mail": "mailed", "cut": "cut", "pay": "paid"}


class Yard:
    """The world of the yard, and what was done in it; `seconds` is how long a job takes."""

    def __init__(self, file, *, timed=False, seconds=SECONDS):
        self.file, self.seconds, self.timed = Path(file), seconds, timed
        domain = self.domain = Domain("timed" if timed else "yard", types=["job"])
        domain.function("coins", low=0)
        domain.action("ring", {"job": "job"}, provides=["rung(job)"])
        domain.action("mail", {"job": "job"}, provides=["mailed(job)"])
        if timed:
            domain.action("cut", {"job": "job"}, provides=["cut(job)"], duration=seconds, holds="saw")
        domain.action(
            "pay",
            {"job": "job"},
            requires=["coins >= 1"],
            provides=["paid(job)"],
            modifies="coins -= 1",
            tags=["irreversible"],
        )
        self.world = World(domain)
        self.world.observer("coins", conclusive=True)(self.count_coins)
        self._bind("ring", lock=())
        self._bind("mail", rate=Rate(2, 1.0))
        self._bind("pay")
        if timed:
            self._bind("cut")

    def _bind(self, name, **policy):
        @self.world.handler(name, policy=ExecutionPolicy(timeout=60, **policy))
        async def act(job):
            self.note("begins", name, job)
            await asyncio.sleep(self.seconds)
            self.note("ends", name, job)

        @self.world.observer(f"{FACTS[name]}(job)", conclusive=True)
        def look(job):
            return ("ends", name, job) in [each[:3] for each in self.read()]

    def note(self, *what):
        """Note what happens now."""
        with self.file.open("a") as file:
            file.write(f"{' '.join(what)} {os.getpid()} {time.monotonic()}\n")

    def read(self):
        """Return what happened, as (what, action, job, process, time)."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        return [(*rest, float(at)) for *rest, at in map(str.split, lines)]

    def count_coins(self):
        return 3 - sum(each[:2] == ("ends", "pay") for each in self.read())

    def plan(self, action, job):
        """Return the plan of one job."""
        jobs = {f"j{number}": "job" for number in range(JOBS)}
        capacity = {"saw": 1} if self.timed else {}
        problem = self.domain.problem(objects=jobs, initial=["coins = 3"], goal=[], capacity=capacity)
        plan = ActionPlan.of(Plan((Step(action, (job,)),), problem), model="timed" if self.timed else "sequential")
        return plan.model_copy(update={"goal": Goals(hard=(f"{FACTS[action]}({job})",))})

    def most_at_once(self):
        """Return the largest number of jobs that were at work at once; one that never ended was at work to the last."""
        busy, most = 0, 0
        for what, *_ in sorted(self.read(), key=lambda each: each[-1]):
            busy += 1 if what == "begins" else -1
            most = max(most, busy)
        return most


async def serve(address, queue, file):
    """Serve the runs of the yard."""
    from temporalio.client import Client

    from executor.temporal import TemporalWorker

    client = await Client.connect(address)
    options = {"sticky_queue_schedule_to_start_timeout": timedelta(seconds=1)}
    await TemporalWorker(Yard(file, timed=True, seconds=2.0).world, client, queue, **options).run()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
