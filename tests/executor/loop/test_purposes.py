"""An irreversible step is not done where all that it is for, through later steps, is seen to be so.

Somebody pays an order so that it can be closed. Somebody else may have settled it by hand.
"""

import asyncio

import pytest
from office import CLOSE, PAY, Office

from executor import Agent, PlannedCalls, RunStatus, StepStatus
from executor.testing import run_virtual
from planner import Outcome, sometime

MODELS = ("sequential", "parallel", "dag", "reactive", "policy")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seen", [("settled",), ("paid", "settled")], ids="+".join)
def test_where_the_goal_is_seen_from_the_start_nothing_is_done(model, seen):
    office = Office().watch(*seen)
    office.truth.add("settled(o7)")
    outcome = office.run(model=model)
    assert (outcome.status, office.calls) == (RunStatus.SUCCEEDED, [])
    assert not outcome.state.questions


def test_an_agent_does_nothing_where_the_goal_is_seen():
    office = Office().watch("settled")
    office.truth.add("settled(o7)")
    result = run_virtual(Agent(office.world, office.problem()).achieve(["settled(o7)"]))
    assert (result.outcome.status, office.calls) == (RunStatus.SUCCEEDED, [])


def test_planned_calls_offer_nothing_where_the_goal_is_seen():
    office = Office().watch("settled")
    office.truth.add("settled(o7)")
    calls = PlannedCalls(office.world, office.problem())
    report = asyncio.run(calls.call("pay", {"o": "o7"}))
    assert (report.status, report.goal, office.calls) == ("REFUSED", "reached", [])


def test_a_call_is_told_what_has_come_about_since_it_was_offered():
    office = Office(reserve={"provides": ["reserved(o)"]}, pay={**PAY, "requires": ["reserved(o)"]}, close=CLOSE)
    office.watch("reserved", "settled")
    calls = PlannedCalls(office.world, office.problem())
    asyncio.run(calls.call("reserve", {"o": "o7"}))
    office.truth.add("settled(o7)")
    report = asyncio.run(calls.call("pay", {"o": "o7"}))
    assert (report.goal, office.calls) == ("reached", ["reserve(o7)"])


@pytest.mark.parametrize("model", MODELS)
def test_who_asks_again_where_the_goal_is_seen_is_asked_nothing(tmp_path, model):
    """The payment leaves a fact that the next step ends: that it is missing says nothing."""
    office = Office(
        pay={"provides": ["in_transit(o)"], "tags": ["irreversible"]},
        book={"requires": ["in_transit(o)"], "provides": ["settled(o)", "not in_transit(o)"]},
    ).watch("in_transit", "settled")
    for _ in range(2):
        outcome = office.run(model=model, journal=tmp_path / "runs.db")
        assert (outcome.status, outcome.state.questions) == (RunStatus.SUCCEEDED, {})
    assert office.calls == ["pay(o7)", "book(o7)"]


@pytest.mark.parametrize("model", MODELS)
def test_one_way_is_not_tried_where_another_has_led_to_the_goal(tmp_path, model):
    """The card is refused, and the order is settled by a transfer; then somebody asks again."""
    office = Office(pay=PAY, close=CLOSE, transfer={"provides": ["settled(o)"], "tags": ["irreversible"], "cost": 10})
    office.watch("settled")
    office.results["pay"] = False
    for _ in range(2):
        assert office.run(model=model, journal=tmp_path / "runs.db").status is RunStatus.SUCCEEDED
    assert office.calls == ["pay(o7)", "transfer(o7)"]


@pytest.mark.parametrize("model", MODELS)
def test_a_plan_is_cut_short_by_what_its_later_steps_bring(model):
    office = Office(
        pay=PAY,
        book={"requires": ["paid(o)"], "provides": ["booked(o)"]},
        close={"requires": ["booked(o)"], "provides": ["settled(o)"]},
    ).watch("booked", "settled")
    office.truth.add("booked(o7)")
    assert office.run(model=model).status is RunStatus.SUCCEEDED
    assert office.calls == ["close(o7)"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("so", "done"), [("settled", ["reserve"]), ("booked", ["reserve", "close"])])
def test_what_has_come_about_meanwhile_makes_a_step_needless(model, so, done):
    office = Office(
        reserve={"provides": ["reserved(o)"]},
        pay={**PAY, "requires": ["reserved(o)"]},
        book={"requires": ["paid(o)"], "provides": ["booked(o)"]},
        close={"requires": ["booked(o)"], "provides": ["settled(o)"]},
    ).watch("reserved", "booked", "settled")
    office.does["reserve"] = lambda: office.truth.add(f"{so}(o7)")
    outcome = office.run(model=model)
    assert outcome.status is RunStatus.SUCCEEDED
    assert office.calls == [f"{each}(o7)" for each in done]
    [pay] = [each for each in outcome.steps if each.step.action == "pay"]
    assert (pay.status, pay.reason) == (StepStatus.SKIPPED, f"it is not needed: {so}(o7) is so already")


def test_what_has_come_about_while_a_person_approves_makes_a_step_needless():
    office = Office(pay={**PAY, "tags": ["irreversible", "needs_approval"]}, close=CLOSE).watch("settled")

    def approve(_):
        office.truth.add("settled(o7)")
        return True

    assert office.run(approve=approve).status is RunStatus.SUCCEEDED
    assert office.calls == []


def test_nobody_approves_a_needless_step():
    office = Office(
        reserve={"provides": ["reserved(o)"]},
        pay={**PAY, "requires": ["reserved(o)"], "tags": ["irreversible", "needs_approval"]},
        close=CLOSE,
    ).watch("reserved", "settled")
    office.does["reserve"] = lambda: office.truth.add("settled(o7)")
    outcome = office.run()
    assert (outcome.status, outcome.state.questions) == (RunStatus.SUCCEEDED, {})
    assert office.calls == ["reserve(o7)"]


@pytest.mark.parametrize("model", MODELS)
def test_a_step_is_needed_for_the_rest_of_what_it_is_for(model):
    office = Office(pay=PAY, close=CLOSE, send={"requires": ["paid(o)"], "provides": ["sent(o)"]})
    office.watch("settled", "sent")
    office.truth.add("settled(o7)")
    assert office.run("settled(o7)", "sent(o7)", model=model).status is RunStatus.SUCCEEDED
    assert office.calls == ["pay(o7)", "send(o7)"]


@pytest.mark.parametrize("model", MODELS)
def test_each_order_is_judged_for_itself(model):
    office = Office().watch("settled")
    office.truth.add("settled(o7)")
    assert office.run("settled(o7)", "settled(o8)", model=model).status is RunStatus.SUCCEEDED
    assert office.calls == ["pay(o8)", "close(o8)"]


@pytest.mark.parametrize("model", MODELS)
def test_a_step_is_needed_for_what_may_only_come_after_it(model):
    office = Office(pay=PAY, close=CLOSE, audit={"after": ["pay(o)"], "provides": ["audited(o)"]})
    office.watch("settled", "audited")
    office.truth.add("settled(o7)")
    assert office.run("settled(o7)", "audited(o7)", model=model).status is RunStatus.SUCCEEDED
    assert office.calls == ["pay(o7)", "audit(o7)"]


def test_what_a_later_step_ends_does_not_make_a_step_needless():
    """The order is settled now, and is to be opened for the sending before it is closed again."""
    office = Office(
        pay=PAY,
        open={"requires": ["paid(o)"], "provides": ["open(o)", "not settled(o)"]},
        close={"requires": ["open(o)"], "provides": ["settled(o)", "sent(o)"]},
    ).watch("settled", "sent")
    office.truth.add("settled(o7)")
    assert office.run("settled(o7)", "sent(o7)", model="sequential").status is RunStatus.SUCCEEDED
    assert office.calls == ["pay(o7)", "open(o7)", "close(o7)"]


def test_an_inconclusive_observer_does_not_make_a_step_needless_that_is_about_to_begin():
    office = Office(reserve={"provides": ["reserved(o)"]}, pay={**PAY, "requires": ["reserved(o)"]}, close=CLOSE)
    office.watch("reserved").watch("settled", conclusive=False, settle_within=None)
    office.does["reserve"] = lambda: office.truth.add("settled(o7)")
    office.run()
    assert "pay(o7)" in office.calls


def test_a_step_that_a_constraint_wants_is_needed_though_the_goal_holds():
    office = Office().watch("settled")
    office.truth.add("settled(o7)")
    office.run(constraints=[sometime("paid(o7)")])
    assert "pay(o7)" in office.calls


def test_who_never_looks_first_pays():
    office = Office().watch("settled")
    office.truth.add("settled(o7)")
    office.run(look="never")
    assert "pay(o7)" in office.calls


def test_a_goal_that_only_follows_is_seen_from_the_start():
    office = Office(pay=PAY, close={"requires": ["paid(o)"], "provides": ["closed(o)"]})
    office.domain.derive("settled(o)", {"o": "order"}, ["paid(o)", "closed(o)"])
    office.watch("settled")
    office.truth.add("settled(o7)")
    assert office.run().status is RunStatus.SUCCEEDED
    assert office.calls == []


def test_a_goal_that_only_follows_and_has_come_about_meanwhile_makes_a_step_needless():
    office = Office(
        reserve={"provides": ["reserved(o)"]},
        pay={**PAY, "requires": ["reserved(o)"]},
        close={"requires": ["paid(o)"], "provides": ["closed(o)"]},
    )
    office.domain.derive("settled(o)", {"o": "order"}, ["paid(o)", "closed(o)"])
    office.watch("reserved", "settled")
    office.does["reserve"] = lambda: office.truth.add("settled(o7)")
    assert office.run().status is RunStatus.SUCCEEDED
    assert office.calls == ["reserve(o7)"]


def test_a_step_whose_own_effect_is_all_that_it_is_for_is_looked_at_no_more_often():
    office = Office(pay=PAY).watch("paid")
    office.run("paid(o7)")
    assert len(office.looks) == 4  # before the first step, with its flight, after it, and for the goal


def test_what_a_step_is_for_is_looked_at_before_the_first_step_and_before_itself():
    office = Office().watch("settled")
    office.run()
    assert office.looks.count("settled(o7)") == 4  # and after the step that settles it, and for the goal


def test_looks_grow_with_the_steps_of_a_plan_and_not_with_their_square():
    names, late = [f"a{number}" for number in range(30)], {"tags": ["irreversible"]}
    row = {f"do_{each}": {"provides": [f"{each}(o)"], **late} for each in names}
    for name, needed in zip(names[1:], names, strict=False):
        row[f"do_{name}"] = {"requires": [f"{needed}(o)"], **row[f"do_{name}"]}
    office = Office(**row).watch(*names)
    assert office.run("a29(o7)").status is RunStatus.SUCCEEDED
    assert len(office.looks) < 8 * len(names)


def test_the_steps_of_a_policy_are_foreseen_in_all_branches():
    """A payment by card may be declined: then the order is paid in cash."""
    office = Office(
        pay={
            "provides": [],
            "tags": ["irreversible"],
            "outcomes": [Outcome("0.8", ["paid(o)"]), Outcome("0.2", ["declined(o)"], name="declined")],
        },
        collect={"requires": ["declined(o)"], "provides": ["paid(o)"], "tags": ["irreversible"]},
        close=CLOSE,
    ).watch("declined", "settled")
    office.truth.add("settled(o7)")
    outcome = office.run(model="policy")
    assert (outcome.status, office.calls) == (RunStatus.SUCCEEDED, [])
