"""A run that is killed at each write to its journal, and taken up again; a program of its own, as it forks and kills.

    python tests/killed_runs.py FOLDER WORLD BLOCK BLOCKS

WORLD is one of `WORLDS`: works in which parts are made by a plan, or orders of which the run has to find out first.
Kills the run at the writes BLOCK, BLOCK + BLOCKS, BLOCK + 2 BLOCKS, …, and prints, as JSON, one line for each place
where the run was killed: what the world was at last, and how often each step was done.
"""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path

from executor import ActionResult, Executor, World
from planner import Domain, Entity
from planner.plan import Plan, Step

SIZE = 20


class Ledger:
    """A world outside of all processes: a file with a line for each act, synced before the handler returns."""

    def __init__(self, path):
        self.path = path

    def act(self, name):
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")

    def acts(self):
        return self.path.read_text(encoding="utf-8").split() if self.path.exists() else []


def world_of(ledger):
    """Return a world in which parts are made, each from up to two parts before it, and nothing may be made twice."""
    domain = Domain("works", types=["part"])
    domain.action(
        "make",
        {"part": "part", "one": "part", "other": "part"},
        requires=["made(one)", "made(other)", "needs(part, one, other)"],
        provides=["made(part)"],
    )
    world = World(domain)

    @world.handler("make")
    async def make(part, one, other):  # noqa: ARG001 - handlers take the action's parameters
        ledger.act(part)
        return {"part": part}

    @world.observer("made(part)", conclusive=True)
    async def made(part):
        return part == "p0" or part in ledger.acts()

    return world


def plan_of(domain):
    needs = [(n, max(n - 2, 0), n // 2) for n in range(1, SIZE + 1)]
    facts = [f"needs(p{n}, p{one}, p{other})" for n, one, other in needs]
    objects = {f"p{n}": "part" for n in range(SIZE + 1)}
    goal = [f"made(p{n})" for n in range(1, SIZE + 1)]
    problem = domain.problem(objects=objects, initial=["made(p0)", *facts], goal=goal)
    return Plan(tuple(Step("make", (f"p{n}", f"p{one}", f"p{other}"), 1) for n, one, other in needs), problem)


class Order(Entity):
    """What somebody has bought."""


def orders_of(ledger):
    """Return a world in which orders turn up: two are listed, one comes when o7 is charged for, one by phone."""
    domain, order = Domain("orders"), {"order": Order}

    def pending():
        acts = ledger.acts()
        late = [name for name, cause in {"late": "charge-o7", "T-1": "phone"}.items() if cause in acts]
        return [each for each in ("o7", "new-order-1", *late) if f"close-{each}" not in acts]

    domain.action("list_orders", lists="pending(_)")
    domain.action("phone", provides=["phoned", "pending(order)"], creates=order, tags=["idempotent"])
    needs = ["pending(order)", "not charged(order)"]
    domain.action("charge", order, requires=needs, provides=["charged(order)"], tags=["irreversible"])
    domain.action("close", order, requires=["charged(order)"], provides=["not pending(order)"])
    world = World(domain)
    world.handler("list_orders")(pending)

    @world.handler("phone")
    async def phone():
        if "phone" not in ledger.acts():
            ledger.act("phone")
        return ActionResult(created={"order": "T-1"})

    @world.handler("charge")
    async def charge(order):
        ledger.act(f"charge-{order.name}")

    @world.handler("close")
    async def close(order):
        ledger.act(f"close-{order.name}")

    world.observer("pending(_)", conclusive=True)(pending)
    world.observer("charged(order)", conclusive=True, settle_within=0)(
        lambda order: f"charge-{order.name}" in ledger.acts()
    )
    world.observer("phoned", conclusive=True)(lambda: "phone" in ledger.acts())
    return world


def problem_of(domain):
    return domain.problem(goal=["phoned", "(forall (?o - Order) (not (pending ?o)))"])


WORLDS = {"works": (world_of, plan_of), "orders": (orders_of, problem_of)}


def kill_at_write(journal, number, *, after):
    """Let this process be killed at the write to `journal` with this number, from 0: before it, or right after it."""
    writes = iter(range(number))
    append = journal.append

    def killed(*args, **options):
        last = next(writes, None) is None
        if last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        append(*args, **options)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)

    journal.append = killed


def carry_out(folder, name, *, kill_at=None, after=False, resume=False):
    """Carry out the run, or take it up again; with `kill_at` the process is killed at that write to the journal."""
    make_world, state = WORLDS[name]
    world = make_world(Ledger(folder / "ledger"))
    executor = Executor(world, journal=folder / "runs.db", model="dag")
    if kill_at is not None:
        kill_at_write(executor.journal, kill_at, after=after)
    if resume:
        runs = executor.journal.runs()
        if runs and runs[0].events:
            return asyncio.run(executor.resume("works"))
        return asyncio.run(executor.run(state(world.domain), run="again"))
    return asyncio.run(executor.run(state(world.domain), run="works"))


def in_child(work):
    """Do `work` in a child process; return its exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = 0 if work().status.name == "SUCCEEDED" else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder, name, block, blocks):
    unharmed = folder / "unharmed"
    unharmed.mkdir()
    carry_out(unharmed, name)  # the children find in memory what a first run imports
    for after in (False, True):
        for kill_at in range(block, 10_000, blocks):
            place = folder / f"{kill_at}-{after}"
            place.mkdir()
            code = in_child(lambda: carry_out(place, name, kill_at=kill_at, after=after))  # noqa: B023 - done at once
            if code == 0:
                break
            again = in_child(lambda: carry_out(place, name, resume=True))  # noqa: B023 - as above
            acts = Counter(Ledger(place / "ledger").acts())
            sys.stdout.write(
                json.dumps({"at": kill_at, "after": after, "killed": code, "resumed": again, "acts": acts}) + "\n"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
