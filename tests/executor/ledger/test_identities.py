"""What tells two irreversible steps apart: what the request or the plan gives, and nothing that may vary by itself."""

import asyncio
from decimal import Decimal
from typing import Annotated

import pytest
from pydantic import Field

from executor import ActionResult, Executor, RunStatus, World
from executor.journal import Journal
from planner import Domain, From

QUOTED = {"amount": Annotated[float, From("quoted", "data.amount")]}
FIVE, SIX = ({"amount": Annotated[int, Field(default=each)]} for each in (5, 6))
EXACT = {"amount": Decimal}
NOTED = {"amount": int, "note": Annotated[str, Field(default="")]}
SAME = {
    "another result": ((QUOTED, {}, 5.0), (QUOTED, {}, 5.01)),
    "a new parameter": (({"amount": int}, {"amount": 5}), (NOTED, {"amount": 5})),
    "another default": ((FIVE, {}), (SIX, {})),
    "another scale": ((EXACT, {"amount": Decimal(5)}), (EXACT, {"amount": Decimal("5.00")})),
    "another type": (({"amount": int}, {"amount": 5}), (EXACT, {"amount": Decimal("5.0")})),
    "a fraction": (({"amount": float}, {"amount": 5.5}), (EXACT, {"amount": Decimal("5.50")})),
}
"""Two versions of a world, as parameters, memory and what a tool quotes, in which a payment is the same."""


def ask(path, bank, parameters, memory, quoted=None, *, fails=False):
    """Ask for the payment in a world of its own; nobody observes it."""
    domain = Domain("shop")
    if quoted is not None:
        domain.action("quote", {}, provides=["quoted"], tags=["trusted"])
    needs = [] if quoted is None else ["quoted"]
    domain.action("pay", parameters, requires=needs, provides=["paid"], tags=["irreversible"])
    world = World(domain)
    if quoted is not None:
        world.handler("quote")(lambda: ActionResult(data={"amount": quoted}))

    def pay(amount, note=""):
        bank.append((amount, note))
        if fails:
            raise ConnectionError("reset")

    def pay_plainly(amount):
        pay(amount)

    world.handler("pay")(pay if "note" in parameters else pay_plainly)
    with Journal(path) as journal:
        return asyncio.run(Executor(world, journal).run(domain.problem(goal=["paid"]), memory=memory))


@pytest.mark.parametrize("is_doubtful", [False, True], ids=["done", "in doubt"])
@pytest.mark.parametrize("case", SAME.values(), ids=SAME.keys())
def test_it_is_the_same_payment(case, is_doubtful, tmp_path):
    (first, second), bank = case, []
    ask(tmp_path / "runs.db", bank, *first, fails=is_doubtful)
    asked = ask(tmp_path / "runs.db", bank, *second)
    assert asked.status is RunStatus.WAITING
    assert any("amount = " in each for each in asked.questions[0].known), "who is asked sees with which values"
    assert len(bank) == 1


def test_what_the_request_gives_tells_payments_apart(tmp_path):
    bank = []
    for amount in (5, 6):
        assert ask(tmp_path / "runs.db", bank, {"amount": int}, {"amount": amount}).status is RunStatus.UNVERIFIED
    assert bank == [(5, ""), (6, "")]
