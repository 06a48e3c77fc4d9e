"""Created objects beside numbers: what is proved for any number of objects."""

from __future__ import annotations

import pytest

from planner import Domain, Status, solve, validate
from planner.compilations.creation_in_time import solve_with_creation_beside_numbers
from planner.model import Atom, NumericMetric, Problem
from planner.options import SolveOptions
from planner.plan import Result
from planner.solve import answer


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


def test_statistics_count_all_rounds() -> None:
    """With one ticket, search has to look for the second ride before it ends without a plan."""
    domain = Domain("fair", types=["ticket"])
    domain.function("money", low=0)
    domain.function("rides")
    domain.action(
        "buy", creates={"k": "ticket"}, provides=["have(k)"], requires=["money >= 1"], modifies=["money -= 1"]
    )
    domain.action("ride", {"k": "ticket"}, requires=["have(k)"], provides=["not have(k)"], modifies=["rides += 1"])
    problem = domain.problem(initial=["money = 9", "rides = 0"], goal=["rides >= 2"])
    rounds: list[Result] = []

    def count(problem: Problem, options: SolveOptions) -> Result:
        found = answer(problem, options)
        rounds.extend([found] if options.on_progress is not None else [])  # else it is a proof between two rounds
        return found

    result = solve_with_creation_beside_numbers(problem, SolveOptions(time_limit=20), count)
    expanded = [each.statistics.expanded for each in rounds]
    assert validate(problem, result.expect_plan()).valid
    assert sum(map(bool, expanded)) > 1
    assert result.statistics.expanded == sum(expanded)


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
