"""Mending impossible problems: what `solve` proves, `mend` says too, and nothing more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pairs.services import Case

from planner import Domain, Outcome, Status, Step, mend, solve, validate
from planner.model import Not
from planner.model.formulas import conjunction, conjuncts
from planner.problem_kinds import classical_of, with_sealed_classical

FEATURES = (
    "negative",
    "numbers",
    "outcomes",
    "unknown_numbers",
    "listings",
    "ranges",
    "windows",
    "deadline",
    "unknown",
)
KINDS = [*FEATURES, "soft_goals", "durations", "tasks_total", "tasks_partial"]


@pytest.mark.parametrize("name", KINDS)
def test_an_impossible_problem_is_as_impossible_as_to_solve(name: str) -> None:
    case = Case((name,), 5)
    classical = classical_of(case.problem)
    parts = [*conjuncts(classical.goal.hard)]
    goal = replace(classical.goal, hard=conjunction([*parts, Not(conjunction(parts))]))
    problem = with_sealed_classical(case.problem, replace(classical, goal=goal))
    known = solve(problem, time_limit=10)
    assert known.status is (Status.UNKNOWN if name == "listings" else Status.UNSOLVABLE)
    found = mend(problem, case.plan.steps, time_limit=10)
    assert (found.status, found.steps) == (known.status, None)
    assert "intended" not in found.reason
    assert "values" not in found.reason


def test_a_plan_with_more_created_objects_than_are_tried_at_once_is_found() -> None:
    domain = Domain("labels")
    label = domain.type("label")
    domain.action("write", provides=["written(new)"], creates={"new": label})
    domain.action("bind", parameters={"some": label}, requires=["written(some)"], provides=["bound(some)"])
    distinct = "(exists (?a ?b ?c - label) (and (not (= ?a ?b)) (not (= ?a ?c)) (not (= ?b ?c)) " + " ".join(
        f"(bound ?{each})" for each in "abc"
    )
    problem = domain.problem(goal=f"{distinct}))")
    found = mend(problem, [], time_limit=20)
    assert found.status in (Status.SOLVED, Status.OPTIMAL)
    assert validate(problem, found.plan).valid
    assert [step.action for step in found.steps].count("write") == 3


def test_steps_that_are_forbidden_are_no_way_to_the_goal() -> None:
    domain = Domain("office")
    domain.action("wrap", provides=["wrapped"], outcomes=[Outcome(0.5, ["wrapped"]), Outcome(0.5, ["torn"])])
    problem = domain.problem(goal=["wrapped"])
    found = mend(problem, [Step("wrap")], forbidden=[Step("wrap")], time_limit=10)
    assert (found.status, found.steps) == (Status.UNSOLVABLE, None)
