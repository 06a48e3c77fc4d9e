"""A run belongs to its world: no other one, and none outside of a simulation, goes on with it."""

from __future__ import annotations

import asyncio

import pytest

from executor import Executor, RunStatus, World
from executor.errors import RunError
from executor.events.open_questions import post_answer
from executor.journal import Journal
from executor.testing import SimulatedWorld
from executor.workers.worker import Worker
from planner import Domain


def bank():
    """Return a domain in which a payment waits for its approval."""
    domain = Domain("bank")
    domain.action("pay", provides=["paid"], tags=["irreversible", "needs_approval", "trusted"])
    return domain


def account(domain, name, paid):
    """Return a world whose payments are listed in `paid`."""
    world = World(domain, name=name)
    world.handler("pay")(lambda: paid.append(name))
    return world


def begin(domain, kind, journal):
    """Begin a run in a world of this kind; it waits for its approval."""
    problem = domain.problem(goal=["paid"])
    world = SimulatedWorld(problem).world if kind == "simulated" else account(domain, "first", [])
    with Journal(journal) as opened:
        outcome = asyncio.run(Executor(world, opened).run(problem, run="r"))
    assert outcome.status is RunStatus.WAITING


@pytest.mark.parametrize("kind", ["simulated", "another"])
@pytest.mark.parametrize("door", ["resume", "hand over", "worker"])
def test_a_run_is_taken_up_in_its_own_world_only(tmp_path, kind, door):
    domain, journal, paid = bank(), tmp_path / "runs.db", []
    begin(domain, kind, journal)
    name = "bank" if kind == "simulated" else "second"
    answers = {"approve:s1": "yes"}
    with Journal(journal) as opened:
        executor = Executor(account(domain, name, paid), opened)
        if door == "worker":
            post_answer(executor.journal, "r", "approve:s1", "yes")
            asyncio.run(Worker(executor).work(once=True))
        else:
            with pytest.raises(RunError, match="belongs to the world"):
                asyncio.run((executor.resume if door == "resume" else executor.hand_over)("r", answers=answers))
        assert executor.runs()["r"].status is RunStatus.WAITING
    assert paid == []


def test_a_worker_of_its_world_goes_on_with_a_run(tmp_path):
    domain, journal, paid = bank(), tmp_path / "runs.db", []
    begin(domain, "another", journal)
    with Journal(journal) as opened:
        executor = Executor(account(domain, "first", paid), opened)
        asyncio.run(executor.hand_over("r", answers={"approve:s1": "yes"}))
        asyncio.run(Worker(executor).work(once=True))
        assert executor.runs()["r"].status is RunStatus.SUCCEEDED
    assert paid == ["first"]
