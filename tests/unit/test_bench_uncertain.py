"""The problems with uncertain outcomes: what they are about, and what is best in them."""

from __future__ import annotations

import pytest

from benchmarks.uncertain.cases import CASES
from planner import Status, decide

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
