"""The shipped domain of outings: what wishes, constraints, the purse and the clock come to there."""

from __future__ import annotations

import pytest
from brute_force import brute_force_plan

from domains.outing import HOUR, afternoon, problems
from planner import (
    Result,
    Status,
    makespan,
    read_documents,
    solve,
    validate,
    write_yaml,
)
from planner.lightweight import replace
from planner.model import Goal


def best(**changes: object) -> Result:
    return solve(replace(afternoon(), **changes), time_limit=None)


def test_an_afternoon_goes_without_what_is_not_worth_it() -> None:
    result = best()
    assert (result.status, result.net_benefit, result.utility) == (Status.SOLVED, 4, 16)
    assert [str(wish) for wish in result.plan.forgone] == ["seen(tower)", "sometime at(market)"]
    assert makespan(result.plan) <= 5 * HOUR


WISHES = tuple([each for each in afternoon().constraints if each.utility is not None])


@pytest.mark.parametrize(
    ("changes", "benefit"),
    [
        ({"budgets": {"money": 26}}, "4.5"),
        ({"budgets": {"money": 9}}, "1"),
        ({"deadline": 8 * HOUR}, "4.5"),
        ({"deadline": 4 * HOUR}, "3"),
        ({"constraints": WISHES}, "7.5"),
        ({"constraints": WISHES, "budgets": {}, "deadline": None}, "9.5"),
    ],
)
def test_what_the_purse_the_clock_and_the_rules_are_worth(changes: dict[str, object], benefit: str) -> None:
    result = best(**changes)
    assert str(result.net_benefit) == benefit
    assert result.most_net_benefit >= result.net_benefit
    assert validate(replace(afternoon(), **changes), result.plan).valid


def test_brute_force_finds_nothing_better() -> None:
    free = replace(afternoon(), budgets={}, deadline=None)
    plan = brute_force_plan(free)
    forgone = validate(free, plan.steps).forgone
    assert solve(free, time_limit=None).plan.charge == plan.cost + sum(each.utility for each in forgone)


@pytest.mark.parametrize("name", ["day", "weekend", "long-weekend"])
def test_generated_days_are_spent_well_enough(name: str) -> None:
    problem = problems()[name]
    result = solve(problem, mode="first", time_limit=None)
    assert validate(problem, result.plan).valid
    plain = solve(replace(problem, goal=Goal(problem.goal.hard), constraints=()), mode="first", time_limit=None)
    assert plain.has_plan


def test_outings_are_written_with_all_that_is_asked_of_them() -> None:
    assert read_documents(write_yaml(afternoon())).problems == (afternoon(),)
