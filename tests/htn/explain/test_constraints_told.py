"""What is said where tasks cannot be done within constraints and budgets."""

from __future__ import annotations

import pytest
from htn_party import party

from htn import problem_kind
from planner import Status, at_most, done, never, sometime
from planner.limits import Limits
from planner.solve import solve


@pytest.mark.parametrize(
    ("demands", "reason"),
    [
        ({"constraints": [never("have(cake)")]}, "cannot hold: constraint never have(cake)"),
        (
            {"constraints": [never(done("order")), at_most(1, done("bake"))]},
            "cannot hold together: constraint never done order(_); constraint at most 1 times done bake(_)",
        ),
        (
            {"constraints": [never(done("order"))], "budgets": {"money": 4}, "goal": "(not (have cake))"},
            "the furthest way ends after 2 steps: the goal requires not have(cake), which",
        ),
    ],
)
def test_what_cannot_be_kept_together_is_said(demands, reason):
    problem = party(**demands)
    result = solve(problem)
    assert result.status is Status.UNSOLVABLE
    assert result.reason.startswith(reason)


def test_explanations_speak_of_constraints_and_not_of_what_watches_them():
    problem = party(constraints=[at_most(1, done("order")), never(done("bake"))])
    found = problem_kind.explain_unsolvable(problem, Limits(10))
    assert found.proved
    assert [str(each) for each in found.conflicts] == [
        "cannot hold together: constraint at most 1 times done order(_); constraint never done bake(_)"
    ]
    assert "needs the constraint 'at most 1 times done order(_)' to be kept, which it would break" in str(found)
    assert "@" not in str(found)
    assert found.to_dict()["conflicts"][0]["smallest"]


def test_what_the_goal_lacks_is_the_constraint():
    found = problem_kind.explain_unsolvable(
        party(constraints=[sometime("have(cake)"), never("have(bread)")]), Limits(10)
    )
    assert "@" not in str(found)
    assert "never have(bread)" in found.summary


def test_budgets_are_no_reason_to_say_that_there_is_a_plan():
    found = problem_kind.explain_unsolvable(party(budgets={"money": 3}), Limits(10))
    assert found.summary == "cannot hold: money at most 3"
    assert not found.solvable
    assert "there is a plan" not in str(found)


def test_a_problem_with_a_plan_is_said_to_have_one():
    assert str(
        problem_kind.explain_unsolvable(
            party(budgets={"money": 7}, constraints=[at_most(1, done("order"))]), Limits(10)
        )
    ) == ("there is a plan")
