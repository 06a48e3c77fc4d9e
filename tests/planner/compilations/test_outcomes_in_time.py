"""Actions with several outcomes in time: plans are on the intended ones, and prove nothing unsolvable."""

from __future__ import annotations

import pytest

from planner import Domain, Outcome, Problem, Status, UnsupportedError, solve, validate
from planner.language.pddl.export import export


def kitchen(*goal: str) -> Problem:
    domain = Domain("kitchen")
    outcomes = [Outcome("0.9", ["done"]), Outcome("0.1", ["burnt"])]
    domain.action("bake", provides=["done"], duration=5, outcomes=outcomes)
    domain.action("stir", provides=["stirred"], duration=3, risk="0.2")
    return domain.problem(goal=list(goal), objective="makespan")


def test_a_plan_is_on_the_intended_outcomes_and_that_is_said() -> None:
    problem = kitchen("done", "stirred")
    found = solve(problem)
    assert (found.status, found.cost) == (Status.OPTIMAL, 5)
    assert "planned on the intended outcomes (of bake)" in found.reason
    assert validate(problem, found.expect_plan()).valid


def test_what_another_outcome_may_bring_is_not_proved_unsolvable() -> None:
    assert solve(kitchen("burnt")).status is Status.UNKNOWN


@pytest.mark.parametrize("level", [None, "adl"])
def test_pddl_in_time_says_no_outcomes(level) -> None:
    with pytest.raises(UnsupportedError, match="the outcomes or the risk of 'bake' beside time"):
        export(kitchen("done"), level)
