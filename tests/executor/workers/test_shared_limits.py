"""Workers in two processes keep to one lock, one rate, one capacity and one number, on either kind of journal."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
import time

import pytest

from executor import Executor, World
from executor.journal import open_journal
from executor.plans.action_plan import ActionPlan, Goals
from planner.language.loading.load import open_source
from planner.plan import Plan, Step

YARD = '''
import asyncio, os, time
from pathlib import Path
from executor import ExecutionPolicy, Rate, World
from planner import Domain

ACTS = Path(__file__).with_name("acts")
yard = Domain("yard", types=["job"])
yard.function("coins", low=0)
yard.action("ring", {"job": "job"}, provides=["rung(job)"], tags=["trusted"])
yard.action("mail", {"job": "job"}, provides=["mailed(job)"], tags=["trusted"])
if TIMED:
    yard.action("cut", {"job": "job"}, provides=["cut(job)"], duration=0.3, holds="worker", tags=["trusted"])
yard.action("pay", {"job": "job"}, requires=["coins >= 1"], provides=["paid(job)"], modifies="coins -= 1",
            tags=["trusted", "irreversible"])
world = World(yard)


def acts():
    """Return what was done, as (action, process, beginning, end)."""
    lines = ACTS.read_text().splitlines() if ACTS.exists() else []
    return [(name, process, float(began), float(ended)) for name, process, began, ended in map(str.split, lines)]


def bind(name, **policy):
    @world.handler(name, policy=ExecutionPolicy(timeout=60, **policy))
    async def act(job):
        began = time.monotonic()
        await asyncio.sleep(0.3)
        with ACTS.open("a") as file:
            file.write(f"{name} {os.getpid()} {began} {time.monotonic()}\\n")


bind("ring", lock=())
bind("mail", rate=Rate(1, 1.0))
if TIMED:
    bind("cut")
bind("pay")


@world.observer("coins", conclusive=True)
def coins():
    return 3 - sum(each[0] == "pay" for each in acts())


def problem():
    jobs = {f"j{number}": "job" for number in range(6)}
    capacity = {"worker": 2} if TIMED else {}
    return yard.problem(objects=jobs, initial=["coins = 3"], goal=[], capacity=capacity)
'''
FACTS = {"ring": "rung", "mail": "mailed", "cut": "cut", "pay": "paid"}


def load(path):
    spec = importlib.util.spec_from_file_location("yard", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def enqueue(path, place, action):
    """Record six runs of one step each."""
    world = open_source(str(path)).values(World)[0]
    executor, made = Executor(world, place), load(path)

    async def main():
        for number in range(6):
            plan = Plan((Step(action, (f"j{number}",)),), made.problem())
            plan = ActionPlan.of(plan, model="timed" if action == "cut" else "sequential")
            await executor.enqueue(plan.model_copy(update={"goal": Goals(hard=(f"{FACTS[action]}(j{number})",))}))

    asyncio.run(main())
    executor.journal.close()


def start_worker(path, place):
    command = [sys.executable, "-m", "planner.cli", "worker", path, "--journal", place]
    options = ["--poll", "0.05", "--concurrency", "3"]
    worker = subprocess.Popen(list(map(str, [*command, *options])), stderr=subprocess.PIPE, text=True)
    assert "waiting for runs" in worker.stderr.readline()
    return worker


def statuses(place):
    with open_journal(place) as journal:
        return sorted(each.status for each in journal.runs())


def most_at_once(acts):
    return max(sum(other[2] <= each[2] < other[3] for other in acts) for each in acts)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("action", FACTS)
def test_two_processes_keep_to_what_is_shared(place, tmp_path, action):
    yard = tmp_path / "yard.py"
    yard.write_text(f"TIMED = {action == 'cut'}\n{YARD}")
    open_journal(place).close()
    workers = [start_worker(yard, place) for _ in range(2)]
    try:
        enqueue(yard, place, action)
        until = time.monotonic() + 120
        while {"PROPOSED", "ACTIVE"} & {*statuses(place)}:
            assert time.monotonic() < until
            time.sleep(0.1)
    finally:
        for worker in workers:
            worker.terminate()
            worker.communicate(timeout=60)
    acts = load(yard).acts()
    assert len(acts) == (3 if action == "pay" else 6)
    assert statuses(place).count("SUCCEEDED") == len(acts)
    if action in ("ring", "cut"):
        assert most_at_once(acts) <= {"ring": 1, "cut": 2}[action]
    if action == "mail":
        begun = [began for *_, began, _ in acts]
        assert max(begun) - min(begun) > 3, "the sixth begins five seconds after the first, which may have been late"
