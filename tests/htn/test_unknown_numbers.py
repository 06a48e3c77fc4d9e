"""Hierarchies where numbers are unknown: methods and derived tasks read a number before they rely on it."""

from __future__ import annotations

import pytest

from htn.compilations.methods_from_actions import as_htn
from htn.language.declare import Methods
from planner import Domain, Status, solve


def shop() -> Domain:
    domain = Domain("shop", types=["receipt"])
    domain.function("amount", ["receipt"], low=0)
    domain.action("read", {"r": "receipt"}, senses=["amount(r)"])
    domain.action("approve", {"r": "receipt"}, requires=["amount(r) <= 100"], provides=["approved(r)"])
    domain.action("pay", {"r": "receipt"}, requires=["approved(r)"], modifies="spent += amount(r)", provides="paid(r)")
    return domain


@pytest.mark.parametrize("supposed", [30, 142])
def test_derived_methods_read_first(supposed: int) -> None:
    values = {"spent": 0, "amount(r1)": supposed}
    problem = shop().problem(objects={"r1": "receipt"}, values=values, unknown=["amount(_)"], goal=["paid(r1)"])
    found = solve(as_htn(problem))
    if supposed > 100:
        assert found.status is not Status.UNSOLVABLE
        return
    assert found.status is Status.SOLVED
    assert found.plan is not None
    assert [step.action for step in found.plan.steps] == ["read", "approve", "pay"]
    assert "it supposes amount(r1) = 30" in found.reason


def test_preconditions_of_methods_need_known_numbers() -> None:
    how = Methods(shop())
    how.task("settle", r="receipt")
    fields = {"task": "settle(r)", "requires": ["amount(r) <= 100"], "subtasks": ["approve(r)", "pay(r)"]}
    how.method("little", {"r": "receipt"}, **fields)
    (method,) = how.model.methods.values()
    assert str(method.precondition) == "known_amount(?r) and amount(?r) <= 100"
