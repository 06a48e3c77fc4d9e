"""A new plan has no irreversible step that nothing needs, not even to get out of the state in which one has failed."""

import asyncio

import pytest

from executor import ActionResult, Agent, Executor, PlannedCalls, RunStatus, World
from planner import Domain


class Till:
    """Orders are paid and sent; the first payment is declined, which everybody sees."""

    def __init__(self):
        self.domain, self.bank, self.calls = Domain("till", types=["order"]), [], []
        self.domain.action("pay", {"o": "order"}, provides=["paid(o)"], tags=["irreversible"])
        self.domain.action("send", {"o": "order"}, requires=["paid(o)"], provides=["sent(o)"])
        self.world = World(self.domain)
        self.world.handler("pay")(self.pay)
        self.world.handler("send")(lambda o: None)  # noqa: ARG005 - handlers take the action's parameters
        self.world.observer("paid(o)", conclusive=True, settle_within=0)(lambda o: str(o) in self.bank)

    def pay(self, o):
        self.calls.append(str(o))
        if len(self.calls) == 1:
            return ActionResult.failed("declined")
        self.bank.append(str(o))
        return None

    def problem(self, *goal):
        return self.domain.problem(objects={"o1": "order", "o2": "order"}, goal=goal)


@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive"])
def test_an_order_that_nobody_asked_for_is_not_paid(model):
    till = Till()
    outcome = asyncio.run(Executor(till.world, model=model).run(till.problem("sent(o1)")))
    assert till.calls == ["o1"]
    assert outcome.status is RunStatus.FAILED
    assert "declined" in outcome.reason


def test_nor_at_other_doors():
    till = Till()
    asyncio.run(Agent(till.world, till.problem()).achieve(["sent(o1)"]))
    assert till.calls == ["o1"]
    till = Till()
    asyncio.run(PlannedCalls(till.world, till.problem("sent(o1)")).call("pay", {"o": "o1"}))
    assert "o2" not in till.calls


def test_what_a_goal_needs_is_paid_all_the_same():
    till = Till()
    asyncio.run(Executor(till.world).run(till.problem("sent(o1)", "sent(o2)")))
    assert "o2" in till.bank
