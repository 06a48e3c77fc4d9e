"""A payment that serves its goal under a condition only is not made where that is seen not to hold."""

from __future__ import annotations

import pytest

from executor import Executor, World
from executor.testing import run_virtual
from planner import Domain, When


@pytest.mark.parametrize("is_member", [True, False])
@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive"])
def test_the_condition_of_an_effect_is_looked_at_before_a_payment(model, is_member):
    domain = Domain("desk", types=["order"])
    domain.predicate("member", "order")
    by_card = When(requires=["member(o)"], provides=["paid(o)"])
    domain.action("card", {"o": "order"}, provides=["charged(o)"], when=[by_card], tags=["irreversible"])
    domain.action("wire", {"o": "order"}, provides=["paid(o)"], tags=["irreversible"], cost=3)
    world, bank = World(domain), list[str]()
    world.handler("card")(lambda **_: bank.append("card"))
    world.handler("wire")(lambda **_: bank.append("wire"))
    world.observer("member(_)", conclusive=True, settle_within=0)(lambda: ["o7"] if is_member else [])
    world.observer("charged(_)", conclusive=True, settle_within=0)(lambda: ["o7"] if "card" in bank else [])
    paid = ["wire", *["card"] * is_member]
    world.observer("paid(_)", conclusive=True, settle_within=0)(lambda: ["o7"] if {*paid} & {*bank} else [])
    problem = domain.problem(objects={"o7": "order"}, initial=["member(o7)"], goal=["paid(o7)"])
    assert run_virtual(Executor(world, model=model).run(problem)).succeeded
    assert bank == (["card"] if is_member else ["wire"])
