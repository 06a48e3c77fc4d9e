"""Created objects beside numbers: what is proved for any number of objects."""

from __future__ import annotations

import pytest

from planner import Domain, Status, solve, validate
from planner.model import Atom, NumericMetric, Problem


def make_shop(money: int, *, price: int = 3) -> Problem:
    """Return a problem in which two things have to be bought, each at this price."""
    domain = Domain("shop", types=["thing"])
    domain.function("money", low=0)
    spends = {"requires": [f"money >= {price}"], "modifies": [f"money -= {price}"]}
    domain.action("buy", creates={"k": "thing"}, provides=["have(k)"], **spends)
    pair = ["have(a)", "have(b)", "a != b"]
    domain.action("pair", {"a": "thing", "b": "thing"}, requires=pair, provides=["done"])
    return domain.problem(initial=[f"money = {money}"], goal=["done"])


@pytest.mark.parametrize(("money", "cost"), [(0, None), (5, None), (6, 3), (9, 3)])
def test_what_money_buys_is_proved_for_any_number_of_objects(money: int, cost: int | None) -> None:
    problem = make_shop(money)
    found = solve(problem, time_limit=20)
    assert (found.status, found.cost) == (Status.UNSOLVABLE if cost is None else Status.OPTIMAL, cost)
    assert found.plan is None or validate(problem, found.plan).valid


def test_without_a_bound_on_what_is_created_no_metric_is_proved() -> None:
    """Each thing that is bought for nothing makes the metric better: no number of objects is the last."""
    domain = Domain("gift", types=["thing"])
    domain.function("joy")
    domain.action("take", creates={"k": "thing"}, provides=["have(k)"], modifies=["joy += 1"])
    problem = domain.problem(
        initial=["joy = 0"], goal=["(exists (?k - thing) (have ?k))"], metric=NumericMetric(Atom("joy"), maximize=True)
    )
    found = solve(problem, time_limit=3)
    assert found.status is Status.SOLVED
    assert validate(problem, found.expect_plan()).valid
