"""A plan that holds an irreversible step twice does it twice, one after the other, in every execution model."""

import asyncio

import pytest

from executor import ActionPlan, ActionResult, Executor, RunStatus, StepStatus, World
from executor.plans.partial_order import order_of
from planner import Domain

MODELS = ("sequential", "parallel", "dag", "reactive", "timed")


class Till:
    """A world in which money is paid; it counts the payments, and those that were made at once."""

    def __init__(self, model="dag", fault=0, observed=False):
        self.domain, self.bank, self.fault, self.at_work, self.at_once = Domain("till"), [], fault, 0, 0
        times = {"duration": 1} if model == "timed" else {}
        self.domain.action("pay", provides=["paid"], tags=["irreversible", "trusted"], **times)
        self.world = World(self.domain)
        self.world.handler("pay")(self.pay)
        if observed:
            self.world.observer("paid", conclusive=True, settle_within=0)(lambda: bool(self.bank))

    async def pay(self):
        self.at_work += 1
        self.at_once = max(self.at_once, self.at_work)
        await asyncio.sleep(0.02)
        self.at_work -= 1
        self.bank.append("pay")
        if len(self.bank) == self.fault:
            raise RuntimeError("reset")

    def plan(self, model, steps):
        made = [{"id": id_, "action": "pay", **more} for id_, more in steps.items()]
        return ActionPlan.model_validate({"model": model, "goal": ["paid"], "steps": made})

    def run(self, model, steps):
        return asyncio.run(asyncio.wait_for(Executor(self.world).run(self.plan(model, steps), join=False), 30))


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("model", MODELS)
def test_a_plan_may_hold_a_payment_more_than_once(model, times):
    till = Till(model)
    outcome = till.run(model, {f"s{number}": {} for number in range(times)})
    assert outcome.status is RunStatus.SUCCEEDED
    assert {each.status for each in outcome.steps} == {StepStatus.SUCCEEDED}
    assert (len(till.bank), till.at_once) == (times, 1)
    again = till.run(model, {f"s{number}": {} for number in range(times)})
    assert again.status is RunStatus.WAITING
    assert len(till.bank) == times


@pytest.mark.parametrize("fault", [1, 2])
@pytest.mark.parametrize("model", MODELS)
def test_a_doubt_about_one_of_them_holds_the_others_back(model, fault):
    till = Till(model, fault)
    outcome = till.run(model, {"a": {}, "b": {}, "c": {}})
    assert outcome.status is RunStatus.IN_DOUBT
    assert len(till.bank) == fault


@pytest.mark.parametrize("model", MODELS)
def test_an_effect_that_both_bring_is_no_evidence_for_the_second(model):
    till = Till(model, observed=True)
    assert till.run(model, {"a": {}, "b": {}}).status is RunStatus.SUCCEEDED
    assert (len(till.bank), till.at_once) == (2, 1)


def test_the_order_says_why_the_second_comes_after_the_first():
    till = Till()
    made = till.plan("dag", {"a": {}, "b": {"depends_on": ["a"]}, "c": {}})
    edges = order_of(made.problem(till.world.model), made.steps).edges
    assert {(each.earlier, each.later, each.reason) for each in edges} == {
        ("a", "b", "declared"),
        ("a", "b", "twice"),
        ("b", "c", "twice"),
    }


@pytest.mark.parametrize("model", ["sequential", "parallel", "dag"])
def test_two_objects_of_one_kind_are_ordered_one_after_the_other(model):
    shop, made = Domain("shop", types=["Box"]), []
    shop.action("order", provides=["ordered(b)"], creates={"b": "Box"}, tags=["irreversible"])
    world = World(shop)

    @world.handler("order")
    async def order():
        made.append(f"box{len(made)}")
        await asyncio.sleep(0.01)
        return ActionResult(created={"b": made[-1]})

    steps = [{"id": id_, "action": "order", "creates": {"b": f"new_{id_}"}} for id_ in ("x", "y")]
    plan = ActionPlan.model_validate({"model": model, "steps": steps})
    outcome = asyncio.run(Executor(world).run(plan))
    assert [each.status.is_done for each in outcome.steps] == [True, True], outcome.reason
    assert made == ["box0", "box1"]
