"""What waits, or is in doubt, holds up only what needs it in plans in time, too: other orders go on."""

import asyncio
import time
from pathlib import Path

import pytest

from executor import Executor, RunOutcome, RunStatus, StepStatus, Wait, World
from executor.events.answers import HAPPENED, NOTHING
from executor.plans.action_plan import ActionPlan, PlanStep
from executor.plans.goals_served import find_goals_served_in_time, serves_others
from executor.testing import VirtualClock, run_virtual
from planner import Domain
from planner.plan import Plan, Step


class Shop:
    """Orders that are picked, paid and sent; the payment of o7 raises, or waits for an event."""

    def __init__(self, fault: str, tills: int = 2) -> None:
        self.domain = Domain("shop", types=["order"])
        order, own = {"o": "order"}, ["irreversible"]
        self.domain.action("pick", order, provides=["picked(o)"], duration=30, tags=["trusted"])
        self.domain.action(
            "pay", order, requires=["picked(o)"], provides=["paid(o)"], duration=5, holds={"till": 1}, tags=own
        )
        self.domain.action("send", order, requires=["paid(o)"], provides=["sent(o)"], duration=10)
        self.fault, self.tills, self.acts = fault, tills, list[str]()
        self.world = World(self.domain)
        for name in ("pick", "pay", "send"):
            self.world.handler(name)(self.make(name))

    def make(self, name: str):
        async def act(o: str) -> Wait | None:
            self.acts.append(f"{name} {o}")
            if (name, o) == ("pay", "o7") and self.acts.count("pay o7") == 1:
                if self.fault == "raises":
                    raise ConnectionError("lost")
                return Wait(event="cleared")
            await asyncio.sleep({"pick": 30, "pay": 5, "send": 10}[name])
            return None

        return act

    def plan(self, goal: tuple[str, ...] = ("sent(o7)", "sent(o8)")) -> ActionPlan:
        problem = self.domain.problem(
            objects={"o7": "order", "o8": "order"},
            initial=["picked(o7)"],
            goal=list(goal),
            capacity={"till": self.tills},
        )
        texts = ["pay o7", "send o7", "pick o8", "pay o8", "send o8"]
        steps = [Step(name, (order,)) for name, order in map(str.split, texts)]
        return ActionPlan.of(Plan(tuple(steps), problem), model="timed")

    def live(self, place: Path, act):
        async def main() -> RunOutcome:
            executor = Executor(self.world, place, clock=VirtualClock())
            try:
                return await asyncio.wait_for(act(executor), 3600)
            finally:
                executor.journal.close()

        return run_virtual(main(), start=time.time())


@pytest.mark.parametrize(("fault", "status"), [("raises", RunStatus.IN_DOUBT), ("waits", RunStatus.WAITING)])
def test_other_orders_go_on(fault, status, tmp_path):
    shop = Shop(fault)
    outcome = shop.live(tmp_path / "runs.db", lambda executor: executor.run(shop.plan(), run="r"))
    assert outcome.status is status
    assert sorted(shop.acts[:2]) == ["pay o7", "pick o8"]
    assert shop.acts[2:] == ["pay o8", "send o8"]
    by_name = {str(each.step): each.status for each in outcome.steps}
    assert by_name["send(o8)"] is StepStatus.UNVERIFIED
    assert by_name["send(o7)"] is StepStatus.PENDING


@pytest.mark.parametrize(("said", "times"), [(HAPPENED, 1), (NOTHING, 2)])
def test_the_doubt_is_answered_afterwards(said, times, tmp_path):
    shop = Shop("raises")

    async def go_on(executor: Executor) -> RunOutcome:
        outcome = await executor.run(shop.plan(), run="r")
        (question,) = outcome.questions
        return await executor.resume("r", answers={question.question: said})

    outcome = shop.live(tmp_path / "runs.db", go_on)
    assert outcome.status is RunStatus.UNVERIFIED, outcome.reason
    assert (shop.acts.count("pay o7"), shop.acts.count("pay o8"), shop.acts[-1]) == (times, 1, "send o7")


def test_an_order_that_needs_what_a_step_in_doubt_holds_waits(tmp_path):
    shop = Shop("raises", tills=1)
    outcome = shop.live(tmp_path / "runs.db", lambda executor: executor.run(shop.plan(), run="r"))
    assert outcome.status is RunStatus.IN_DOUBT
    assert sorted(shop.acts) == ["pay o7", "pick o8"]


def test_steps_for_one_part_of_the_goal_wait(tmp_path):
    shop = Shop("raises")
    together = "(or (and (sent o7) (sent o8)) (and (picked o7) (sent o8) (sent o7)))"
    outcome = shop.live(tmp_path / "runs.db", lambda executor: executor.run(shop.plan((together,)), run="r"))
    assert outcome.status is RunStatus.IN_DOUBT
    assert "pay o8" not in shop.acts


def test_steps_in_time_that_change_what_others_read_serve_what_these_do():
    domain = Domain("mine", types=["fuse"])
    domain.action("light", {}, provides=["light"], duration=9)
    domain.action("mend", {"f": "fuse"}, throughout=["light"], provides=["mended(f)"], duration=5)
    domain.action("test", {"f": "fuse"}, requires=["mended(f)"], provides=["tested(f)"], duration=1)
    problem = domain.problem(objects={"f1": "fuse", "f2": "fuse"}, goal=["tested(f1)", "mended(f2)"])
    steps = [
        PlanStep(id=f"{action}-{fuse}", action=action, arguments={"f": fuse} if fuse else {})
        for action, fuse in (("mend", "f1"), ("test", "f1"), ("mend", "f2"), ("light", ""))
    ]
    served = find_goals_served_in_time(problem, steps)
    assert set(served) == {each.id for each in steps}
    assert not serves_others(served, "mend-f1", "test-f1")
    assert not serves_others(served, "light-", "mend-f2")
