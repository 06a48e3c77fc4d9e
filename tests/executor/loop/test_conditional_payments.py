"""A payment that serves its goal under a condition only is not made where that is seen not to hold."""

from __future__ import annotations

import pytest

from executor import Executor, RunStatus, World
from executor.testing import run_virtual
from htn.language.declare import Methods
from planner import Domain, Outcome, When, decide


@pytest.mark.parametrize("is_member", [True, False, "until it is signed"])
@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive", "policy"])
def test_the_condition_of_an_effect_is_looked_at_before_a_payment(model, is_member):
    domain = Domain("desk", types=["order"])
    domain.predicate("member", "order")
    by_card = When(requires=["member(o)"], provides=["paid(o)"])
    signed = {"provides": ["signed(o)"]}
    if model == "policy":
        signed = {"outcomes": [Outcome("0.5", ["signed(o)"]), Outcome("0.5", ["signed(o)", "stamped(o)"])]}
    domain.action("sign", {"o": "order"}, **signed, tags=["trusted"])
    late = {"requires": ["signed(o)"], "tags": ["irreversible"]}
    domain.action("card", {"o": "order"}, provides=["charged(o)"], when=[by_card], **late)
    domain.action("wire", {"o": "order"}, provides=["paid(o)"], cost=3, **late)
    world, bank, book, members = World(domain), list[str](), list[str](), ["o7"] * bool(is_member)
    world.handler("sign")(lambda **_: book.append("o7") or (members.clear() if is_member is not True else None))
    world.observer("signed(_)", conclusive=True)(lambda: book)
    if model == "policy":
        world.observer("stamped(_)", conclusive=True)(list)
    world.handler("card")(lambda **_: bank.append("card"))
    world.handler("wire")(lambda **_: bank.append("wire"))
    world.observer("member(_)", conclusive=True, settle_within=0)(lambda: [*members])
    world.observer("charged(_)", conclusive=True, settle_within=0)(lambda: ["o7"] if "card" in bank else [])
    paid = ["wire", *["card"] * (is_member is True)]
    world.observer("paid(_)", conclusive=True, settle_within=0)(lambda: ["o7"] if {*paid} & {*bank} else [])
    problem = domain.problem(objects={"o7": "order"}, initial=["member(o7)"], goal=["paid(o7)"])
    executor = Executor(world, model=None if model == "policy" else model)
    assert run_virtual(executor.run(decide(problem) if model == "policy" else problem)).succeeded
    assert bank == (["card"] if is_member is True else ["wire"])


def run_by_tasks(domain, ways, is_member, brings, in_vain=()):
    """Do the task `deal` in one of several `ways`; return the status, and what was done.

    It is stated that there is a member. `is_member`: True, or False, or "until it is signed". `brings`: the facts that
    show what was done, some of them `in_vain` without a member.
    """
    methods, done, members = Methods(domain), list[str](), [1] * bool(is_member)
    methods.task("deal")
    for name, steps in ways.items():
        methods.method(name, {}, task="deal()", subtasks=steps)
    world = World(methods.model)

    def bind(name):
        @world.handler(name)
        def act():
            done.append(name)
            if name == "sign" and is_member is not True:
                members.clear()

    for name in ("sign", *brings):
        bind(name)
    world.observer("member", conclusive=True, settle_within=0)(lambda: bool(members))
    world.observer("signed", conclusive=True, settle_within=0)(lambda: "sign" in done)
    for fact in brings.values():
        makers = {name for name in brings if brings[name] == fact and (is_member is True or name not in in_vain)}
        world.observer(fact, conclusive=True, settle_within=0)(lambda makers=makers: not makers.isdisjoint(done))
    outcome = run_virtual(Executor(world).run(methods.problem(initial=["member"], tasks=["deal()"])))
    return outcome.status, done


BY_CARD, BY_WIRE = ["sign()", "card()", "seal()"], ["sign()", "wire()", "seal()"]


@pytest.mark.parametrize("is_member", [True, False, "until it is signed"])
@pytest.mark.parametrize("has_wire", [True, False])
def test_a_task_is_done_in_another_way_where_a_payment_would_not_bring_what_a_later_step_needs(has_wire, is_member):
    domain = Domain("desk")
    domain.predicate("member")
    domain.predicate("charged", tags=["trusted"])
    domain.action("sign", provides=["signed"], tags=["idempotent"])
    late = {"requires": ["signed"], "tags": ["irreversible"]}
    domain.action("card", provides=["charged"], when=[When(requires=["member"], provides=["paid"])], **late)
    domain.action("wire", provides=["paid"], cost=9, **late)
    domain.action("seal", requires=["paid"], provides=["sealed"], tags=["trusted"])
    ways = {"by_card": BY_CARD} | ({"by_wire": BY_WIRE} if has_wire else {})
    brings = {"card": "paid", "wire": "paid", "seal": "sealed"}
    status, done = run_by_tasks(domain, ways, is_member, brings, in_vain=("card",))
    if is_member is True:
        assert (status, done) == (RunStatus.SUCCEEDED, ["sign", "card", "seal"])
        return
    assert "card" not in done
    assert (status, done[-1]) == ((RunStatus.SUCCEEDED, "seal") if has_wire else (RunStatus.FAILED, "sign"))


@pytest.mark.parametrize("later", ["seal", "pay_duty"])
@pytest.mark.parametrize("is_member", [True, False])
@pytest.mark.parametrize("has_wire", [True, False])
def test_nothing_is_paid_by_tasks_whose_later_step_is_seen_to_be_impossible(has_wire, is_member, later):
    domain = Domain("desk")
    domain.predicate("member")
    domain.action("sign", provides=["signed"], tags=["idempotent"])
    late = {"requires": ["signed"], "tags": ["irreversible"]}
    domain.action("card", provides=["paid"], **late)
    domain.action("wire", provides=["wired"], cost=9, **late)
    domain.action("seal", requires=["paid", "member"], provides=["sealed"], tags=["trusted"])
    domain.action("pay_duty", requires=["paid", "member"], provides=["cleared"], tags=["irreversible"])
    domain.action("stamp", requires=["wired"], provides=["stamped"], tags=["trusted"])
    ways = {"by_card": ["sign()", "card()", f"{later}()"]}
    ways |= {"by_wire": ["sign()", "wire()", "stamp()"]} if has_wire else {}
    brings = {"card": "paid", "wire": "wired", "seal": "sealed", "pay_duty": "cleared", "stamp": "stamped"}
    status, done = run_by_tasks(domain, ways, is_member, brings)
    if is_member:
        assert (status, done) == (RunStatus.SUCCEEDED, ["sign", "card", later])
        return
    assert "card" not in done
    assert status is (RunStatus.SUCCEEDED if has_wire else RunStatus.FAILED)
