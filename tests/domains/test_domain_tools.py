"""The shipped domain of tools that fail: what budgets, deadlines, unknown facts and policies come to there."""

from __future__ import annotations

import pytest

from domains.tools import hurry, one_question, outage, problems
from planner import Status, decide, evaluate, makespan, resources, solve, validate
from planner.lightweight import replace


def test_less_money_is_more_trouble() -> None:
    costs = {money: solve(one_question(money=money)).cost for money in (8, 7, 2, 0)}
    assert costs == {8: 5, 7: 6, 2: 6, 0: 7}
    for money in costs:
        plan = solve(one_question(money=money)).expect_plan()
        assert resources(plan)["money"] <= money


def test_more_money_is_more_success() -> None:
    found = [decide(one_question(money=money), time_limit=None) for money in (0, 2, 7, 10)]
    assert all(each.status is Status.OPTIMAL for each in found)
    worth = [each.policy.success for each in found]
    assert worth == pytest.approx([0.778660714, 0.807985714, 0.963248475, 0.972348086])
    assert worth == sorted(worth)


def test_a_policy_knows_what_to_do_when_a_page_is_blocked() -> None:
    problem = one_question(money=7)
    policy = decide(problem, time_limit=None).expect_policy()
    assert evaluate(problem, policy).success == pytest.approx(policy.success)
    text = str(policy)
    assert "blocked(forum)" in text
    assert "buy_key(bank)" in text


def test_deadlines_rule_out_what_takes_long() -> None:
    quick, slow = solve(hurry()).expect_plan(), solve(replace(hurry(), deadline=None)).expect_plan()
    assert makespan(quick) <= 60 < makespan(slow)
    assert quick.cost > slow.cost
    assert "buy_key" not in {step.action for step in quick.steps}
    assert validate(hurry(), quick).valid
    assert not validate(hurry(), slow).valid


def test_nothing_is_bought_before_somebody_has_looked() -> None:
    plan = solve(outage()).expect_plan()
    (supposed,) = plan.suppositions
    steps = [str(step) for step in plan.steps]
    assert str(supposed.fact) == "up(bank)"
    assert steps.index("ping(bank)") < steps.index("buy_key(bank)")


@pytest.mark.parametrize("name", ["morning", "day", "night"])
def test_budgets_of_generated_problems_can_be_kept(name: str) -> None:
    problem = problems()[name]
    result = solve(problem, mode="first", time_limit=None)
    assert all(used <= problem.budgets[each] for each, used in resources(result.expect_plan()).items())
