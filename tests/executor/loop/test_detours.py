"""What waits holds up only what needs it: steps for other parts of the goal go on, in each execution model."""

import asyncio
from itertools import product

import pytest

from executor import CANNOT_SAY, Executor, InDoubt, RunStatus, Wait, World
from executor.loop.dispatch import Agenda
from executor.plans.action_plan import PlanStep
from executor.plans.goals_served import find_goals_served, serves_others
from planner import Domain
from planner.plan import Plan, Step

MODELS = ("sequential", "parallel", "dag", "reactive")


def make_domain(numbers=False, asks=()):
    shop, order = Domain("shop", types=["order"]), {"order": "order"}
    if numbers:
        shop.function("balance", low=0)
    modifies = ["balance -= 10"] if numbers else []
    shop.action("check", order, provides="checked(order)")
    tags = ["irreversible", *(["needs_approval"] if asks else [])]
    shop.action("pay", order, requires="checked(order)", provides="paid(order)", modifies=modifies, tags=tags)
    shop.action("mail", order, requires="paid(order)", provides="mailed(order)", tags=["irreversible"])
    return shop


def make_problem(domain, goal, numbers=False):
    values = {"values": {"balance": 100}} if numbers else {}
    return domain.problem(objects=dict.fromkeys(["r1", "r2", "r3"], "order"), goal=goal, **values)


def make_steps(*texts):
    """Return steps of a plan: "pay r1"."""
    named = [each.split() for each in texts]
    return [PlanStep(id=f"{action}-{order}", action=action, arguments={"order": order}) for action, order in named]


def make_plan(problem, *texts):
    return Plan(tuple(Step(*[each.split()[0], tuple(each.split()[1:])], 1) for each in texts), problem)


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize(
    "goal", [["paid(r1)", "mailed(r3)"], "(forall (?o - order) (and (paid ?o) (or (= ?o r1) (mailed ?o))))"]
)
def test_a_step_serves_the_parts_of_the_goal_that_its_effects_lead_to(goal, numbers):
    problem = make_problem(make_domain(numbers), goal, numbers)
    texts = ["check r1", "check r3", "pay r1", "pay r3", "mail r3"]
    if isinstance(goal, str):
        texts += ["check r2", "pay r2", "mail r2"]
    served = find_goals_served(problem, make_steps(*texts))
    assert served["check-r1"] == served["pay-r1"]
    assert served["check-r3"] == served["pay-r3"] == served["mail-r3"]
    assert serves_others(served, "pay-r1", "check-r3")
    assert not serves_others(served, "pay-r3", "mail-r3")


def test_steps_for_one_disjunction_serve_one_part():
    problem = make_problem(make_domain(), ["(or (paid r1) (paid r3))", "paid(r2)"])
    served = find_goals_served(problem, make_steps("check r1", "pay r1", "check r2", "pay r2"))
    assert serves_others(served, "pay-r1", "pay-r2")


def test_a_step_for_two_parts_serves_both():
    problem = make_problem(make_domain(), ["paid(r1)", "mailed(r1)"])
    served = find_goals_served(problem, make_steps("check r1", "pay r1", "mail r1"))
    assert not serves_others(served, "pay-r1", "mail-r1")


def test_nothing_is_known_of_steps_without_purpose_and_of_plans_that_do_not_work():
    problem = make_problem(make_domain(), ["paid(r1)"])
    served = find_goals_served(problem, make_steps("check r1", "pay r1", "check r2"))
    assert "check-r2" not in served
    assert not serves_others(served, "pay-r1", "check-r2")
    assert find_goals_served(problem, make_steps("pay r1")) == {}


class Shop:
    """A world whose acts are listed: the checks of some orders wait, payments for others are asked, or in doubt."""

    def __init__(self, *, waits=(), asks=(), doubts=(), numbers=False):
        self.domain, self.acts, self.numbers = make_domain(numbers, asks), [], numbers
        self.asks, self.world = asks, World(self.domain)
        self.world.handler("check")(lambda order: self.check(str(order), waits))
        self.world.handler("pay")(lambda order: self.pay(str(order), doubts))
        self.world.handler("mail")(lambda order: self.acts.append(f"mail {order}"))
        self.see("check", "checked", ())
        self.see("pay", "paid", doubts)
        self.see("mail", "mailed", ())

    def see(self, action, fact, unseen):
        @self.world.observer(f"{fact}(order)", conclusive=True)
        def look(order):
            return CANNOT_SAY if str(order) in unseen else f"{action} {order}" in self.acts

    def check(self, order, waits):
        if order in waits:
            return Wait(event=f"checked {order}")
        self.acts.append(f"check {order}")
        return None

    def pay(self, order, doubts):
        self.acts.append(f"pay {order}")
        if order in doubts:
            raise InDoubt("the bank does not answer")

    def approve(self, request):
        return None if request.arguments["order"] in self.asks else True

    def executor(self, journal=None, model="sequential"):
        return Executor(self.world, journal, model=model, approve=self.approve)

    def run(self, goal, *texts, **options):
        problem = make_problem(self.domain, goal, self.numbers)
        return asyncio.run(self.executor(**options).run(make_plan(problem, *texts), run="r"))


TEXTS = ("check r3", "pay r3", "mail r3", "check r1", "pay r1")
GOAL = ["mailed(r3)", "paid(r1)"]


@pytest.mark.parametrize("model", MODELS)
def test_what_is_asked_about_one_order_holds_up_no_other(model):
    shop = Shop(asks=["r3"])
    outcome = shop.run(GOAL, *TEXTS, model=model)
    assert outcome.status is RunStatus.WAITING
    assert sorted(shop.acts) == ["check r1", "check r3", "pay r1"]
    assert [each.step for each in outcome.questions] == ["s2"]


@pytest.mark.parametrize("model", MODELS)
def test_a_doubt_about_one_order_holds_up_no_other(model):
    shop = Shop(doubts=["r3"])
    outcome = shop.run(GOAL, *TEXTS, model=model)
    assert outcome.status is RunStatus.IN_DOUBT
    assert outcome.reason == "pay(r3): the bank does not answer"
    assert sorted(shop.acts) == ["check r1", "check r3", "pay r1", "pay r3"]


@pytest.mark.parametrize("model", MODELS)
def test_a_wait_for_one_order_holds_up_no_other(model):
    shop = Shop(waits=["r3"])
    outcome = shop.run(GOAL, *TEXTS, model=model)
    assert outcome.status is RunStatus.WAITING
    assert shop.acts == ["check r1", "pay r1"]


@pytest.mark.parametrize(
    ("kind", "model"), [*product(["waits", "asks"], MODELS), ("doubts", "sequential")]
)  # in the other models, both payments begin at once
def test_what_waits_holds_up_the_irreversible_steps_for_the_same_goal(kind, model):
    shop = Shop(**{kind: ["r3"]})
    goal = "(or (and (paid r3) (paid r1)) (mailed r2))"
    outcome = shop.run([goal], "check r1", "check r3", "pay r3", "pay r1", model=model)
    assert outcome.status in {RunStatus.WAITING, RunStatus.IN_DOUBT}
    assert "pay r1" not in shop.acts


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_after_the_answer_to_a_doubt_the_rest_is_done_once(answer, model, tmp_path):
    shop, place = Shop(doubts=["r3"]), tmp_path / "runs.db"
    outcome = shop.run(GOAL, *TEXTS, model=model, journal=place)
    before = list(shop.acts)
    (asked,) = outcome.questions
    again = Shop()
    again.acts = [each for each in before if answer == "yes" or each != "pay r3"]
    outcome = asyncio.run(again.executor(place, model).resume("r", answers={asked.question: answer}))
    assert outcome.succeeded, outcome.reason
    assert sorted(again.acts) == sorted(["check r1", "check r3", "pay r1", "pay r3", "mail r3"])


@pytest.mark.parametrize("model", MODELS)
def test_after_an_approval_the_rest_is_done_in_order(model, tmp_path):
    shop, place = Shop(asks=["r3"]), tmp_path / "runs.db"
    (asked,) = shop.run(GOAL, *TEXTS, model=model, journal=place).questions
    outcome = asyncio.run(shop.executor(place, model).resume("r", answers={asked.question: "yes"}))
    assert outcome.succeeded, outcome.reason
    assert sorted(shop.acts) == ["check r1", "check r3", "mail r3", "pay r1", "pay r3"]
    assert shop.acts.index("mail r3") > shop.acts.index("pay r3") > shop.acts.index("pay r1")


def test_a_sequential_run_carries_out_one_step_at_a_time_while_another_waits():
    shop, at_work = Shop(waits=["r3"]), []

    async def mail(order):
        at_work.append(str(order))
        await asyncio.sleep(0)
        assert at_work == [str(order)]
        await asyncio.sleep(0.01)
        at_work.remove(str(order))
        shop.acts.append(f"mail {order}")

    shop.world.handler("mail")(mail)

    async def go():
        problem = make_problem(shop.domain, ["mailed(r1)", "mailed(r2)", "mailed(r3)"])
        texts = [f"{action} {order}" for order in ("r3", "r1", "r2") for action in ("check", "pay", "mail")]
        run = Executor(shop.world, stay=True).start(make_plan(problem, *texts))
        while "mail r2" not in shop.acts:
            await asyncio.sleep(0)
            assert len(at_work) <= 1
        shop.acts.append("check r3")
        run.complete("s1")
        return await run

    outcome = asyncio.run(go())
    assert outcome.succeeded, outcome.reason
    assert shop.acts[-2:] == ["pay r3", "mail r3"]


def test_a_line_from_which_a_step_is_taken_keeps_its_order():
    agenda = Agenda("sequential", ["a", "b", "c", "d"], {}, begun=["a"])
    assert agenda.take_ready(0, None, lambda _: False) == []
    agenda.note_done("c")
    agenda.note_begun("b")
    agenda.note_done("a")
    assert agenda.take_ready(0, None, lambda _: False) == [], "b has begun"
    agenda.note_done("b")
    assert agenda.take_ready(0, None, lambda _: False) == ["d"]
