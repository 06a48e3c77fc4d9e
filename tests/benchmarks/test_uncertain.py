"""The problems with uncertain outcomes: what they are about, and what is best in them."""

from __future__ import annotations

import pytest

from benchmarks.uncertain.uncertain_campaign import (
    CASES,
    carry_out_strategies,
    executions_table,
    optima_table,
    replan_as_intended,
    replan_as_wished,
    solve_exactly,
)
from planner import Objective, Status, decide, evaluate

SMALL = {
    "tires": 3,
    "river": 3,
    "navigation": 3,
    "grid": 4,
    "blocks": 3,
    "gripper": 1,
    "tools": 2,
    "asking": 1,
    "courier": 1,
    "tour": 2,
}


@pytest.mark.parametrize("name", CASES)
def test_all_searches_find_the_same_optimum(name):
    case = CASES[name]
    problem = case.make(SMALL[name])
    found = [decide(problem, search=search, time_limit=None, **case.options()) for search in ("vi", "lao")]
    assert all(decision.status is Status.OPTIMAL and decision.validated for decision in found)
    for one, other in zip(*[worth(decision) for decision in found], strict=True):
        assert one == pytest.approx(other)


def worth(decision):
    return decision.policy.success, decision.policy.utility, decision.expected_cost


def test_tires_has_a_safe_way_round():
    assert decide(CASES["tires"].make(4)).policy.success == 1.0


def test_in_the_river_one_starts_upstream():
    policy = decide(CASES["river"].make(4)).policy
    assert str(policy.nodes[0].step).startswith("walk(")


def test_there_are_ten_kinds_with_chances_in_all_of_them():
    assert len(CASES) == 10
    for case in CASES.values():
        actions = case.make(case.size).domain.actions.values()
        assert any(action.is_uncertain for action in actions)


def test_replanning_does_worse_than_the_policy_where_harm_is_possible():
    problem = CASES["tires"].make(4)
    best = decide(problem).policy.success
    for way in (replan_as_intended, replan_as_wished):
        strategy = way(problem, 10.0)
        assert evaluate(problem, strategy).success < best
        assert strategy.plans > 1


def test_replanning_keeps_budgets_and_goes_for_utility():
    problem = CASES["tour"].make(3)
    best = decide(problem, objective=Objective.UTILITY).policy
    for way in (replan_as_intended, replan_as_wished):
        worth = evaluate(problem, way(problem, 10.0))
        assert 0 < worth.utility <= best.utility + 1e-9
        assert worth.success == 1.0


def test_tables_of_optima_and_executions():
    found = solve_exactly("asking", CASES["asking"], 1, 10.0)
    assert "| asking | cost |" in optima_table([found])
    carried = carry_out_strategies(found, 20, 0, 10.0)
    assert [each.way for each in carried] == ["policy", "replanning as intended", "replanning as wished"]
    lines = executions_table(carried).splitlines()
    assert lines[2].startswith("| asking | policy |")
    again = carry_out_strategies(found, 20, 0, 10.0)
    assert [each.runs for each in again] == [each.runs for each in carried]
