"""A payment that serves its goal under a condition only is not made where that is seen not to hold."""

from __future__ import annotations

import pytest

from executor import Executor, World
from executor.testing import run_virtual
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
