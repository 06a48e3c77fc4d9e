"""An agent that attends to standing goals, killed at each write to its journal; a program of its own, as it forks.

    python tests/killed_goals.py FOLDER BLOCK BLOCKS

Kills it at the writes BLOCK, BLOCK + BLOCKS, BLOCK + 2 BLOCKS, …, and prints, as JSON, one line for each place where
the agent was killed: what it had done at last, and how often.
"""

import asyncio
import json
import os
import signal
import sys
import traceback
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from executor import Agent, World
from executor.testing.virtual_time import run_virtual
from planner import Domain

START = datetime(2030, 1, 1, 8, 0, tzinfo=UTC)
SECONDS = 3 * 3600 - 300


class Outside:
    """What outlives all processes: the acts, the clock, and what the host has reported."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, name, line):
        with (self.folder / name).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def read(self, name):
        path = self.folder / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def agent_of(outside, clock):
    """Return an agent for orders that are listed, or reported, a report at nine, and a backup each hour."""
    domain = Domain("works", types=["order"])
    domain.action("ship", {"o": "order"}, requires=["pending(o)"], provides=["shipped(o)"])
    domain.action("bill", {"o": "order"}, requires=["shipped(o)"], provides=["billed(o)", "not pending(o)"])
    domain.action("thank", {"o": "order"}, requires=["asked(o)"], provides=["thanked(o)"])
    domain.action("report", {}, provides=["reported"])
    domain.action("back_up", {}, provides=["backed_up"])
    world = World(domain)

    def act(name):
        outside.write("acts", name)

    def hour():
        return int(clock() // 3600)

    @world.handler("ship")
    async def ship(o):
        act(f"ship {o}")

    @world.handler("bill")
    async def bill(o):
        act(f"bill {o}")

    @world.handler("thank")
    async def thank(o):
        act(f"thank {o}")

    @world.handler("report")
    async def report():
        act("report")

    @world.handler("back_up")
    async def back_up():
        act(f"back_up {hour()}")

    @world.observer("pending(_)", conclusive=True)
    async def pending():
        return [each for each in ("o1", "o2") if f"bill {each}" not in outside.read("acts")]

    def observe(pattern):
        return world.observer(pattern, conclusive=True)

    @observe("shipped(o)")
    async def shipped(o):
        return f"ship {o}" in outside.read("acts")

    @observe("billed(o)")
    async def billed(o):
        return f"bill {o}" in outside.read("acts")

    @observe("thanked(o)")
    async def thanked(o):
        return f"thank {o}" in outside.read("acts")

    @observe("reported")
    async def reported():
        return "report" in outside.read("acts")

    @observe("backed_up")
    async def backed_up():
        return f"back_up {hour()}" in outside.read("acts")

    agent = Agent(world, journal=outside.folder / "runs.db")
    agent.when("pending(o)", ["shipped(o)", "billed(o)"])
    agent.when("asked(o)", "thanked(o)")
    agent.every("0 * * * *", "backed_up", priority=1)
    return agent


def attend(folder, *, kill_at=None, after=False):
    """Attend for three hours, from where the last process ended; with `kill_at`, die at that write to the journal."""
    outside = Outside(folder)
    began = float((outside.read("clock") or [START.timestamp()])[-1])

    def clock():
        return began + asyncio.get_running_loop().time()

    agent = agent_of(outside, clock)
    if kill_at is not None:
        journal, writes = agent.executor.journal, iter(range(kill_at))

        def wrap(write):
            def killed(*args, **options):
                last = next(writes, None) is None
                if last:
                    outside.write("clock", clock())
                if last and not after:
                    os.kill(os.getpid(), signal.SIGKILL)
                found = write(*args, **options)
                if last:
                    os.kill(os.getpid(), signal.SIGKILL)
                return found

            return killed

        journal.append, journal.extend = wrap(journal.append), wrap(journal.extend)

    async def live():
        async with agent.attend(clock=clock, poll=600) as attending:
            if not outside.read("stated"):
                agent.at(START + timedelta(hours=1), "reported")
                outside.write("stated", "yes")
            if not outside.read("told"):
                agent.notify("asked(o3)")
                outside.write("told", "yes")
            await asyncio.sleep(max(START.timestamp() + SECONDS - clock(), 0))
            await attending.settled()

    run_virtual(live())


def in_child(work):
    """Do `work` in a child process; return its exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            work()
            code = 0
        except Exception:
            traceback.print_exc()
            raise
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder, block, blocks):
    unharmed = folder / "unharmed"
    unharmed.mkdir()
    attend(unharmed)  # the children find in memory what a first run imports
    for after in (False, True):
        for kill_at in range(block, 10_000, blocks):
            place = folder / f"{kill_at}-{after}"
            place.mkdir()
            code = in_child(lambda: attend(place, kill_at=kill_at, after=after))  # noqa: B023 - done at once
            if code == 0:
                break
            again = in_child(lambda: attend(place))  # noqa: B023 - as above
            acts = Counter(Outside(place).read("acts"))
            sys.stdout.write(
                json.dumps({"at": kill_at, "after": after, "killed": code, "resumed": again, "acts": acts}) + "\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
