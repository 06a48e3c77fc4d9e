"""No payment is made where conclusive observers already see that what it is for is so, however the goal is said.

The goal, or what a later step needs, is judged as a whole over what is seen: it may be met in another way.
"""

import asyncio

import pytest
from office import CLOSE, PAY, Office

from executor import Agent, PlannedCalls, RunStatus, StepStatus
from executor.testing import run_virtual
from htn.language.declare import Methods
from planner import always, before, done, mandatory, sometime

MODELS = ("sequential", "parallel", "dag", "reactive", "policy")
RESERVE = {"provides": ["reserved(o)"]}
CARD = {"requires": ["reserved(o)"], "provides": ["by_card(o)"], "tags": ["irreversible"]}
CASH = {"provides": ["by_cash(o)"], "tags": ["irreversible"], "cost": 50}
GOALS = {
    "or": "(or (by_card o7) (by_cash o7))",
    "exists": "(exists (?o - order) (or (by_card ?o) (by_cash ?o)))",
    "imply": "(imply (not (by_cash o7)) (by_card o7))",
    "not and": "(not (and (not (by_card o7)) (not (by_cash o7))))",
    "and": "(and (reserved o7) (or (by_card o7) (by_cash o7)))",
    "derived": "(settled o7)",
    "forall": "(forall (?o - order) (or (by_card ?o) (by_cash ?o)))",
}


def till(*watched):
    """A till where an order is paid by card or in cash."""
    office = Office(reserve=RESERVE, card=CARD, cash=CASH)
    office.domain.derive("settled(o)", {"o": "order"}, "(or (by_card ?o) (by_cash ?o))")
    return office.watch(*(watched or ("reserved", "by_card", "by_cash")))


@pytest.mark.parametrize("when", ["before", "meanwhile"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("goal", GOALS)
def test_what_is_paid_in_another_way_is_not_paid(goal, model, when):
    office, paid = till(), {"by_cash(o7)", "by_cash(o8)"}
    if when == "before":
        office.truth |= paid
    office.does["reserve"] = lambda: office.truth.update(paid)
    assert office.run(text=GOALS[goal], model=model).status is RunStatus.SUCCEEDED
    assert office.payments == []


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("goal", GOALS)
def test_what_is_not_paid_is_paid_once(goal, model):
    office = till()
    assert office.run(text=GOALS[goal], model=model).status is RunStatus.SUCCEEDED
    orders = ["card(o7)", "card(o8)"] if goal == "forall" else ["card(o7)"]
    assert sorted(office.payments) == orders


@pytest.mark.parametrize("model", MODELS)
def test_each_order_of_a_goal_about_all_is_judged_for_itself(model):
    office = till()
    office.does["reserve"] = lambda: office.truth.add("by_cash(o7)")
    assert office.run(text=GOALS["forall"], model=model).status is RunStatus.SUCCEEDED
    assert office.payments == ["card(o8)"]


@pytest.mark.parametrize("model", MODELS)
def test_what_a_later_step_needs_is_judged_as_a_whole(model):
    """An order is closed when it is paid by card or in cash; the closing itself is still to come."""
    office = Office(
        reserve=RESERVE,
        card=CARD,
        cash=CASH,
        close={"requires": "(or (by_card ?o) (by_cash ?o))", "provides": ["settled(o)"]},
    ).watch("reserved", "by_card", "by_cash", "settled")
    office.does["reserve"] = lambda: office.truth.add("by_cash(o7)")
    assert office.run("settled(o7)", model=model).status is RunStatus.SUCCEEDED
    assert office.calls == ["reserve(o7)", "close(o7)"]


@pytest.mark.parametrize("model", MODELS)
def test_a_goal_that_follows_from_several_facts_is_judged_by_what_is_seen_of_them(model):
    """Nobody sees whether an order is settled, but who sees that it was waived and is booked knows it."""
    office = Office(reserve=RESERVE, card=CARD, book={"requires": ["by_card(o)"], "provides": ["booked(o)"]})
    office.domain.predicate("waived", "order")
    office.domain.derive("settled(o)", {"o": "order"}, "(and (booked ?o) (or (by_card ?o) (waived ?o)))")
    office.watch("reserved", "booked", "waived")
    office.does["reserve"] = lambda: office.truth.update({"booked(o7)", "waived(o7)"})
    assert office.run("settled(o7)", model=model).status is RunStatus.SUCCEEDED
    assert office.payments == []


def chain(axiom="(and (paid ?o) (closed ?o))"):
    """Pay and close an order, which so is settled, and finish it then; nobody sees the payment, nor the closing."""
    office = Office(
        reserve=RESERVE,
        pay={**PAY, "requires": ["reserved(o)"]},
        close={"requires": ["paid(o)"], "provides": ["closed(o)"]},
        finish={"requires": ["settled(o)"], "provides": ["finished(o)"]},
    )
    office.domain.predicate("waived", "order")
    office.domain.derive("settled(o)", {"o": "order"}, axiom)
    office.watch("reserved", "settled", "finished")
    office.does["reserve"] = lambda: office.truth.add("settled(o7)")
    return office


@pytest.mark.parametrize("when", ["before", "meanwhile"])
@pytest.mark.parametrize("model", MODELS)
def test_what_a_later_step_needs_and_is_seen_to_follow_is_not_paid_for(model, when):
    office = chain()
    office.truth |= {"settled(o7)"} if when == "before" else set()
    outcome = office.run("finished(o7)", model=model)
    assert (outcome.status, office.payments) == (RunStatus.SUCCEEDED, [])


@pytest.mark.parametrize("model", [each for each in MODELS if each != "policy"])
def test_what_may_follow_from_something_else_is_not_paid_for(model):
    """An order may be settled as it was waived: nothing follows of the payment, and the plan goes on without it."""
    office = chain("(or (waived ?o) (and (paid ?o) (closed ?o)))")
    outcome = office.run("finished(o7)", model=model)
    assert (outcome.status, office.payments) == (RunStatus.SUCCEEDED, [])


@pytest.mark.parametrize("make", [till, chain])
def test_an_agent_does_not_pay_what_is_paid_in_another_way(make):
    office = make()
    if make is till:
        office.does["reserve"] = lambda: office.truth.add("by_cash(o7)")
    goal = ["finished(o7)"] if make is chain else [GOALS["or"]]
    result = run_virtual(Agent(office.world, office.problem()).achieve(goal))
    assert (result.outcome.status, office.payments) == (RunStatus.SUCCEEDED, [])


@pytest.mark.parametrize("make", [till, chain])
def test_planned_calls_do_not_pay_what_is_paid_in_another_way(make):
    office = make()
    problem = office.problem("finished(o7)") if make is chain else office.problem(text=GOALS["or"])
    if make is till:
        office.does["reserve"] = lambda: office.truth.add("by_cash(o7)")

    async def call():
        calls = PlannedCalls(office.world, problem)
        for _ in range(9):
            if steps := await calls.next_steps():
                await calls.call(steps[0].action, {"o": "o7"})
        return calls.is_reached

    assert asyncio.run(call())
    assert office.payments == []


def test_what_is_only_believed_makes_no_payment_needless():
    """The order is said to be booked, which nobody has looked at."""
    office = Office(reserve=RESERVE, card=CARD, book={"provides": ["booked(o)"], "cost": 90})
    office.domain.predicate("waived", "order")
    office.domain.derive("settled(o)", {"o": "order"}, "(or (by_card ?o) (and (booked ?o) (waived ?o)))")
    office.watch("reserved", "waived")
    office.does["reserve"] = lambda: office.truth.add("waived(o7)")
    office.run("settled(o7)", initial=["booked(o7)"])
    assert office.payments == ["card(o7)"]


def test_an_inconclusive_look_makes_no_payment_needless():
    office = till("reserved", "by_card").watch("by_cash", conclusive=False, settle_within=None)
    office.does["reserve"] = lambda: office.truth.add("by_cash(o7)")
    office.run(text=GOALS["or"])
    assert office.payments == ["card(o7)"]


@pytest.mark.parametrize("so", ["waived", "other"])
@pytest.mark.parametrize("model", [each for each in MODELS if each != "policy"])
def test_a_goal_about_a_number_is_met_by_what_is_seen_instead(model, so):
    """An order is waived meanwhile, or something else is so that does not count."""
    office = Office(reserve=RESERVE)
    office.actions["pay"] = {
        "requires": ["reserved(o)"],
        "modifies": ["debt(o) := 0"],
        "provides": [],
        "tags": ["irreversible"],
    }
    office.domain.function("debt", "order")
    office.domain.action("pay", {"o": "order"}, **office.actions["pay"])
    office.domain.predicate("waived", "order")
    office.watch("reserved", "waived")
    office.does["reserve"] = lambda: office.truth.add(f"{so}(o7)")
    office.run(text="(or (= (debt o7) 0) (waived o7))", initial=["debt(o7) = 30"], model=model)
    assert office.payments == ([] if so == "waived" else ["pay(o7)"])


@pytest.mark.parametrize("watched", [("finished",), ("finished", "paid")], ids="+".join)
@pytest.mark.parametrize("model", MODELS)
def test_a_constraint_that_is_seen_to_be_met_makes_a_payment_needless(model, watched):
    office = Office(
        reserve=RESERVE,
        pay={**PAY, "requires": ["reserved(o)"]},
        close={"requires": ["paid(o)"], "provides": ["finished(o)"]},
    ).watch("reserved", *watched)
    office.does["reserve"] = lambda: office.truth.add("finished(o7)")
    outcome = office.run("finished(o7)", constraints=[sometime("finished(o7)")], model=model)
    assert (outcome.status, office.payments) == (RunStatus.SUCCEEDED, [])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "constraint",
    [
        before(done("pay(o7)"), done("send(o7)")),
        before("paid(o7)", "sent(o7)"),
        always("(imply (sent o7) (paid o7))"),
    ],
    ids=["before a step", "before a fact", "always"],
)
def test_who_may_send_only_what_is_paid_pays_though_it_is_settled(model, constraint):
    office = Office(
        reserve=RESERVE,
        pay={**PAY, "requires": ["reserved(o)"]},
        close=CLOSE,
        send={"requires": ["reserved(o)"], "provides": ["sent(o)"]},
    ).watch("reserved", "settled", "sent")
    office.does["reserve"] = lambda: office.truth.add("settled(o7)")
    outcome = office.run("settled(o7)", "sent(o7)", constraints=[constraint], model=model)
    assert (outcome.status, office.payments) == (RunStatus.UNVERIFIED, ["pay(o7)"])  # nobody sees that it was paid


@pytest.mark.parametrize("model", MODELS)
def test_a_constraint_that_is_met_by_a_payment_alone_is_met_where_it_was_made(model):
    office = Office(pay=PAY).watch("paid")
    office.truth.add("paid(o7)")
    outcome = office.run("paid(o7)", constraints=[mandatory("pay(o7)")], model=model)
    assert (outcome.status, office.payments) == (RunStatus.SUCCEEDED, [])
    [pay] = outcome.steps
    assert (pay.status, pay.reason) == (StepStatus.SKIPPED, "already so")


@pytest.mark.parametrize("model", MODELS)
def test_who_must_pay_where_nobody_sees_the_payment_pays_once(model):
    """The order is settled in another way, and the payment itself is demanded."""
    office = Office(pay=PAY, close=CLOSE).watch("settled")
    office.truth.add("settled(o7)")
    office.run("settled(o7)", constraints=[mandatory("pay(o7)")], model=model)
    assert office.payments == ["pay(o7)"]


def tasks(**actions):
    """An office with a task for each order."""
    office = Office(**actions)
    office.methods = Methods(office.domain)
    office.methods.task("settle", o="order")
    steps = [f"{name}(o)" for name in actions]
    office.methods.method("as_usual", {"o": "order"}, task="settle(o)", subtasks=steps)
    return office


@pytest.mark.parametrize("seen", ["before", "meanwhile"])
@pytest.mark.parametrize("watched", [("settled",), ("paid", "settled")], ids="+".join)
def test_a_task_whose_end_is_seen_makes_its_payment_needless(watched, seen):
    office = tasks(reserve=RESERVE, pay={**PAY, "requires": ["reserved(o)"]}, close=CLOSE).watch("reserved", *watched)
    if seen == "before":
        office.truth.add("settled(o7)")
    office.does["reserve"] = lambda: office.truth.add("settled(o7)")
    outcome = office.run(tasks=["settle(o7)"])
    assert (outcome.status, office.payments) == (RunStatus.SUCCEEDED, [])


def test_a_task_whose_payment_is_seen_goes_on_without_it():
    office = tasks(pay=PAY, close=CLOSE).watch("paid", "settled")
    office.truth.add("paid(o7)")
    outcome = office.run(tasks=["settle(o7)"])
    assert (outcome.status, office.calls) == (RunStatus.SUCCEEDED, ["close(o7)"])


def test_a_task_of_which_only_a_part_is_seen_pays():
    office = tasks(pay=PAY, close=CLOSE, send={"requires": ["paid(o)"], "provides": ["sent(o)"]})
    office.watch("settled", "sent")
    office.truth.add("settled(o7)")
    outcome = office.run(tasks=["settle(o7)"])
    assert (outcome.status, office.payments) == (RunStatus.UNVERIFIED, ["pay(o7)"])
    assert "send(o7)" in office.calls


@pytest.mark.parametrize("so", ["paid", "settled"])
def test_what_is_so_already_is_not_done_in_another_way_where_a_later_step_fails(so):
    office = tasks(pay=PAY, close=CLOSE)
    office.actions |= {
        "transfer": {"provides": ["settled(o)"], "tags": ["irreversible"], "cost": 5},
        "ship": {"requires": ["settled(o)"], "provides": ["sent(o)"]},
        "mail": {"requires": ["settled(o)"], "provides": ["sent(o)"], "cost": 9},
    }
    how = office.methods
    for name in ("transfer", "ship", "mail"):
        office.domain.action(name, {"o": "order"}, **office.actions[name])
    for task, *ways in (("pay_somehow", "pay", "transfer"), ("send", "ship", "mail")):
        how.task(task, o="order")
        for way in ways:
            steps = ["pay(o)", "close(o)"] if way == "pay" else [f"{way}(o)"]
            how.method(f"{task}_by_{way}", {"o": "order"}, task=f"{task}(o)", subtasks=steps)
    how.task("all", o="order")
    how.method("whole", {"o": "order"}, task="all(o)", subtasks=["pay_somehow(o)", "send(o)"])
    office.watch("paid", "settled", "sent")
    office.truth.add(f"{so}(o7)")
    office.does["ship"], office.results["ship"] = lambda: office.truth.discard("sent(o7)"), False
    outcome = office.run(tasks=["all(o7)"])
    assert (outcome.status, office.payments) == (RunStatus.SUCCEEDED, [])
    assert office.calls[-2:] == ["ship(o7)", "mail(o7)"]
    assert [each.step.action for each in outcome.steps].count("pay") == 1
