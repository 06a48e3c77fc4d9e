"""Workers that are killed, stopped and cut off while they drive runs; a program of its own, as it forks and kills.

    python tests/killed_workers.py FOLDER PLACE BLOCK BLOCKS

Enqueues a run of twenty steps for each write to its journal BLOCK, BLOCK + BLOCKS, … and lets a worker drive it, which
is killed at that write; another worker takes it up. Prints, as JSON, one line for each run: how the workers ended, the
status of the run, and how often each step was done.
"""

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path

from killed_runs import Ledger, kill_at_write, plan_of, world_of

from executor import Executor
from executor.journal import open_journal
from executor.workers.worker import Worker


def drive_as_worker(ledger, place, *, enqueued=None, kill_at=None, after=False):
    """Drive what is due, as a worker; with `kill_at`, this process is killed at that write to the journal."""
    executor = Executor(world_of(ledger), journal=place, model="dag")
    if enqueued is not None:
        asyncio.run(executor.enqueue(plan_of(executor.world.domain), run=enqueued))
    if kill_at is not None:
        kill_at_write(executor.journal, kill_at, after=after)
    asyncio.run(Worker(executor, poll=0.02).work(once=True))
    executor.journal.close()


def in_child(work):
    """Do `work` in a child process; return its exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder, place, block, blocks):
    drive_as_worker(Ledger(folder / "unharmed"), place, enqueued="unharmed")  # the children find what it imports
    for after in (False, True):
        for kill_at in range(block, 10_000, blocks):
            run = f"{kill_at}-{after}"
            ledger = Ledger(folder / run)
            codes = [
                in_child(lambda: drive_as_worker(ledger, place, enqueued=run, kill_at=kill_at, after=after)),  # noqa: B023
                in_child(lambda: drive_as_worker(ledger, place)),  # noqa: B023 - done at once, as above
            ]
            if codes[0] == 0:
                break
            with open_journal(place) as journal:
                (status,) = [each.status for each in journal.runs() if each.run == run]
            acts = Counter(ledger.acts())
            sys.stdout.write(json.dumps({"run": run, "codes": codes, "status": status, "acts": acts}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
