"""A number whose change is all that a payment brings about tells nothing of an attempt: others change it, too.

A deposit hides that somebody paid, and what another person or run pays looks like the payment that was lost.
"""

import asyncio

import pytest

from executor import ActionResult, ExecutionPolicy, Executor, Journal, RunStatus, World
from executor.events.answers import HAPPENED, NOTHING
from executor.testing import Crash, run_virtual
from executor.testing.virtual_time import die
from planner import Domain

FAULTS = ("raises", "hangs", "dies")
OTHERS = {"nobody": 0, "a deposit": 10, "a withdrawal": -10}


class Bank:
    """An account from which 10 are paid, seen by its balance alone; `other` is what somebody else changes meanwhile."""

    def __init__(self, fault, other, *, acts, tags=("irreversible",)):
        self.fault, self.other, self.acts, self.paid, self.balance = fault, other, acts, 0, 100
        self.domain = Domain("bank")
        self.domain.function("balance")
        self.domain.action("pay", {}, modifies=["balance -= 10"], tags=list(tags))
        self.world = World(self.domain)
        self.world.handler("pay", policy=ExecutionPolicy(timeout=5.0, retries=2))(self.pay)
        self.world.observer("balance", conclusive=True, settle_within=0)(lambda: self.balance)

    async def pay(self):
        fault, self.fault = self.fault, ""
        if self.acts or not fault:
            self.paid += 1
            self.balance -= 10
        if fault:
            self.balance += self.other
        match fault:
            case "raises":
                raise ConnectionError("reset")
            case "hangs":
                await asyncio.sleep(60)
            case "dies":
                await die("killed")
            case "says no":
                return ActionResult.failed("declined")
        return True

    def problem(self):
        return self.domain.problem(initial=["balance = 100"], goal=["balance <= 90"])

    def live(self, place, do):
        """Let a process live; return what it tells of its run, or None if it is killed."""

        async def main():
            with Journal(place) as journal:
                return await do(Executor(self.world, journal))

        try:
            return run_virtual(main())
        except Crash as crash:
            crash.bury()
            return None


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("acts", [True, False], ids=["paid", "not paid"])
@pytest.mark.parametrize("fault", FAULTS)
def test_whether_it_was_paid_is_asked(fault, acts, other, tmp_path):
    bank, place = Bank(fault, OTHERS[other], acts=acts), tmp_path / "runs.db"
    told = bank.live(place, lambda executor: executor.run(bank.problem(), run="r1"))
    told = told or bank.live(place, lambda executor: executor.resume("r1"))
    assert (told.status, bank.paid) == (RunStatus.IN_DOUBT, int(acts))
    [question] = told.questions
    answer = {question.question: HAPPENED if acts else NOTHING}
    told = bank.live(place, lambda executor: executor.resume("r1", answers=answer))
    assert bank.paid == 1 or other == "a withdrawal"
    assert told.succeeded or other == "a deposit"


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("fault", FAULTS)
def test_another_run_that_wants_it_is_asked(fault, other, tmp_path):
    bank, place = Bank(fault, OTHERS[other], acts=True), tmp_path / "runs.db"
    bank.live(place, lambda executor: executor.run(bank.problem(), run="r1"))
    bank.balance = 100
    told = bank.live(place, lambda executor: executor.run(bank.problem(), run="r2"))
    assert (told.status, bank.paid) == (RunStatus.WAITING, 1)


def test_what_a_handler_reports_while_the_balance_says_otherwise_is_asked(tmp_path):
    hidden, lost = Bank("reports", 10, acts=True), Bank("says no", -10, acts=False)
    for bank, name in ((hidden, "hidden"), (lost, "lost")):
        told = bank.live(tmp_path / f"{name}.db", lambda executor, bank=bank: executor.run(bank.problem()))
        assert (told.status, bank.paid, len(told.questions)) == (RunStatus.IN_DOUBT, int(bank is hidden), 1)


def test_a_step_that_can_be_taken_back_is_judged_by_its_number(tmp_path):
    bank = Bank("raises", 0, acts=False, tags=())
    told = bank.live(tmp_path / "runs.db", lambda executor: executor.run(bank.problem()))
    assert (told.status, bank.paid) == (RunStatus.SUCCEEDED, 1)
