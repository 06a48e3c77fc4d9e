"""A flight that a process has left behind is settled by the events of its run, before anything else is decided."""

import asyncio
from itertools import product

import pytest

from executor import Executor, RunStatus, World
from executor.errors import NoRunError
from executor.events.events import StepEnded, StepReturned, StepStarted, StepStatus, StepWaiting
from executor.journal import Journal
from executor.journal.effects import GONE
from executor.ledger.records import Flight
from executor.loop.books import read_fate
from planner import Domain


def test_a_step_that_was_done_is_not_done_again_though_its_process_died_before_the_ledger_knew(tmp_path, monkeypatch):
    shop, bank = Domain("shop", types=["order"]), []
    shop.action("pay", {"order": "order"}, provides=["paid(order)"], tags=["irreversible"])
    world = World(shop)

    @world.handler("pay")
    def pay(order):
        bank.append(order)

    problem = shop.problem(objects={"o1": "order"}, goal=["paid(o1)"])
    with Journal(tmp_path / "runs.db") as journal:
        executor = Executor(world, journal)
        with monkeypatch.context() as dying:
            dying.setattr(executor.book, "end", lambda *_: None)
            first = asyncio.run(executor.run(problem))
        assert (first.status, len(journal.ledger.flights())) == (RunStatus.UNVERIFIED, 1)
        second = asyncio.run(executor.run(problem))
        assert (second.status, bank) == (RunStatus.WAITING, ["o1"])
        assert f"by run {first.run!r}" in second.questions[0].known[-1]


def test_a_run_without_events_leaves_doubt():
    flight = Flight("i", "pay(o1)", "r", "s1", "k", 1.0)

    def read_nothing(run):
        raise NoRunError("runs.db", f"there is no run {run!r}", "")

    for read in (read_nothing, lambda _: []):
        left, entry = read_fate(flight, read)
        assert (left.doubt, entry) == (GONE, None)


BEGUN = StepStarted("s1", 1, {}, "k")
ATTEMPTS = {
    "begun": (BEGUN,),
    "returned": (BEGUN, StepReturned("s1", {})),
    "waits": (BEGUN, StepWaiting("s1", {"signal": "come"}, 0.0)),
    "nothing was done": (BEGUN, StepEnded("s1", StepStatus.FAILED, "somebody says so")),
    "in doubt": (BEGUN, StepEnded("s1", StepStatus.FAILED, "the line broke", repeatable=False)),
    "done": (BEGUN, StepReturned("s1", {}), StepEnded("s1", StepStatus.SUCCEEDED, "seen")),
}


@pytest.mark.parametrize("last", ATTEMPTS)
def test_only_the_last_attempt_under_a_key_says_what_became_of_a_flight(last):
    flight = Flight("i", "pay(o1)", "r", "s1", "k", 1.0)
    alone = read_fate(flight, lambda _: [(event, 9.0) for event in ATTEMPTS[last]])
    assert (alone[1] is not None) is (last in {"nothing was done", "done"})
    for earlier in product(["nothing was done", "in doubt", "waits"], repeat=2):
        events = [event for name in (*earlier, last) for event in ATTEMPTS[name]]
        assert read_fate(flight, lambda _, told=events: [(event, 9.0) for event in told]) == alone
