"""A policy that was accepted with a loop over a payment pays once, and asks before it pays again."""

from __future__ import annotations

import pytest

from executor import Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Domain, Outcome, decide


class Till:
    """A till whose payments bounce so many `times`; who has bounced gets ready again."""

    def __init__(self, times: int) -> None:
        self.domain, self.bank, self.times = Domain("till"), [], times
        outcomes = [Outcome("0.5", ["paid"]), Outcome("0.5", ["bounced"])]
        fields = {"requires": ["not bounced"], "provides": ["paid"], "outcomes": outcomes}
        self.domain.action("pay", {}, **fields, tags=["irreversible"])
        self.domain.action("reset", {}, requires=["bounced"], provides=["not bounced"])
        self.world, self.has_bounced = World(self.domain), False
        self.world.handler("pay")(self.pay)
        self.world.handler("reset")(self.reset)
        self.world.observer("paid", conclusive=True, settle_within=0)(lambda: len(self.bank) > self.times)
        self.world.observer("bounced", conclusive=True, settle_within=0)(lambda: self.has_bounced)
        self.problem = self.domain.problem(goal=["paid"])

    def pay(self):
        self.bank.append("pay")
        self.has_bounced = len(self.bank) <= self.times

    def reset(self):
        self.has_bounced = False

    def run(self, tmp_path, *, is_decided=True, **terms):
        executor = Executor(self.world, tmp_path / "runs.db", model="policy")
        return run_virtual(executor.run(decide(self.problem) if is_decided else self.problem, **terms))


@pytest.mark.parametrize("is_decided", [True, False])
def test_the_second_payment_is_asked(is_decided, tmp_path):
    till = Till(3)
    outcome = till.run(tmp_path, is_decided=is_decided)
    assert (outcome.status, till.bank) == (RunStatus.WAITING, ["pay"])
    assert "pay() was done" in str(outcome.questions[0].known)


@pytest.mark.parametrize("allowed", [1, 2])
def test_what_the_request_allows_again_is_done_as_often(allowed, tmp_path):
    till = Till(2)
    outcome = till.run(tmp_path, again=("pay()",) * allowed)
    assert len(till.bank) == allowed + 1
    assert outcome.status is (RunStatus.SUCCEEDED if allowed == 2 else RunStatus.WAITING)


def test_the_first_payment_is_asked_nothing(tmp_path):
    till = Till(0)
    assert till.run(tmp_path).status is RunStatus.SUCCEEDED
    assert till.bank == ["pay"]
