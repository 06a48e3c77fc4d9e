"""Runs that handlers begin: children of their steps, which the journal names, and which are joined and called off."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from joined_runs import Till

from executor import ExecutionPolicy, Executor, Journal, RunStatus, World
from executor.testing import run_virtual
from planner import Domain

PROGRAM = Path(__file__).parents[2] / "joined_runs.py"


class Bank:
    """Bills that are paid by runs of their own; a payment takes a second."""

    def __init__(self, journal=None):
        self.payments = []
        self.domain = Domain("bank", types=["bill"])
        self.domain.action("pay", {"bill": "bill"}, provides=["paid(bill)"])
        world = World(self.domain)

        @world.handler("pay")
        async def pay(bill):
            await asyncio.sleep(1)
            self.payments.append(bill)

        world.observer("paid(bill)", conclusive=True)(lambda bill: bill in self.payments)
        self.executor = Executor(world, journal)

    def problem(self, bill="b1"):
        return self.domain.problem(objects={"b1": "bill", "b2": "bill"}, goal=[f"paid({bill})"])


def office_of(handler, journal=None, **options):
    """Return an executor whose one step is done by `handler`, and the problem to do it."""
    domain = Domain("office")
    domain.action("settle", provides=["settled"], tags=["trusted", "idempotent"])
    world = World(domain)
    world.handler("settle", policy=ExecutionPolicy(**options))(handler)
    return Executor(world, journal), domain.problem(goal=["settled"])


def test_the_journal_of_the_outer_run_names_its_children(tmp_path):
    bank = Bank(tmp_path / "bank.db")

    async def settle():
        for bill in ("b1", "b2"):
            await bank.executor.run(bank.problem(bill))

    office, problem = office_of(settle, tmp_path / "office.db")
    outcome = run_virtual(office.run(problem, run="outer"))
    children = outcome.state.children
    assert [each.run for each in children] == list(bank.executor.runs())
    assert {(each.step, each.place) for each in children} == {("s1", str(tmp_path / "bank.db"))}
    assert all(each.run.startswith("outer/s1/") for each in children)
    assert office.state_of("outer").children == children
    assert bank.payments == ["b1", "b2"]


def test_plain_handlers_have_children_too():
    bank = Bank()
    office, problem = office_of(lambda: asyncio.run(bank.executor.run(bank.problem())).succeeded)
    outcome = asyncio.run(office.run(problem, run="outer"))
    assert outcome.status is RunStatus.SUCCEEDED
    assert [each.step for each in outcome.state.children] == ["s1"]


def test_another_attempt_joins_the_children_of_the_first():
    bank, attempts, runs = Bank(), [], []

    async def settle():
        attempts.append(1)
        for bill in ("b1", "b2") if len(attempts) == 1 else ("b2", "b1"):
            outcome = await bank.executor.run(bank.problem(bill))
            runs.append(outcome.run)
        if len(attempts) < 3:
            raise ConnectionError

    office, problem = office_of(settle, retries=3)
    outcome = run_virtual(office.run(problem))
    assert outcome.status is RunStatus.SUCCEEDED
    assert len(attempts) == 3
    assert bank.payments == ["b1", "b2"]
    assert len(set(runs)) == len(outcome.state.children) == 2


def test_what_a_handler_does_several_times_is_done_several_times():
    bank, attempts = Bank(), []

    async def settle():
        attempts.append(1)
        for _ in range(2):
            await bank.executor.run(bank.problem())
            bank.payments.append("again")
            bank.payments[:] = [each for each in bank.payments if each != "b1"]
        if len(attempts) == 1:
            raise ConnectionError

    office, problem = office_of(settle, retries=1)
    assert len(run_virtual(office.run(problem)).state.children) == 2


def test_equal_steps_of_two_runs_have_different_children(tmp_path):
    bank, names = Bank(tmp_path / "bank.db"), []

    async def settle():
        names.append((await bank.executor.run(bank.problem())).run)

    for _ in range(2):
        office, problem = office_of(settle)  # another process, without a journal, may take the same name again
        run_virtual(office.run(problem, run="outer"))
    assert len(set(names)) == 2


def test_children_are_called_off_with_the_outer_run():
    bank, inner = Bank(), []

    async def settle():
        inner.append(await bank.executor.run(bank.problem()))

    office, problem = office_of(settle)

    async def main():
        run = office.start(problem)
        await asyncio.sleep(0.5)
        run.cancel()
        return await run

    assert run_virtual(main()).status is RunStatus.CANCELLED
    assert [each.status for each in inner] == [RunStatus.CANCELLED]


def test_a_child_that_others_have_joined_goes_on_without_the_outer_run():
    bank = Bank()

    async def settle():
        await bank.executor.run(bank.problem())

    office, problem = office_of(settle)

    async def main():
        asked = bank.executor.start(bank.problem())
        run = office.start(problem)
        await asyncio.sleep(0.5)
        run.cancel()
        return await asked, await run

    asked, run = run_virtual(main())
    assert asked.status is RunStatus.SUCCEEDED
    assert [each.run for each in run.state.children] == [asked.run]
    assert bank.payments == ["b1"]


def call(*arguments):
    done = subprocess.run(
        [sys.executable, PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=False
    )
    return json.loads(done.stdout) if done.stdout else None


@pytest.mark.parametrize("times", [1, 2])
def test_a_resumed_outer_run_goes_on_with_the_child_that_was_killed(tmp_path, times):
    assert call(tmp_path, "outer", "outer", "paid(o7)", "dies") is None
    for _ in range(times):
        run, status, children = call(tmp_path, "resume", "outer", "paid(o7)", "pays")
        assert (run, status) == ("outer", "SUCCEEDED")
    assert Till(tmp_path).payments() == ["o7"]
    with Journal(tmp_path / "till.db") as journal:
        assert [each.run for each in journal.runs()] == children
