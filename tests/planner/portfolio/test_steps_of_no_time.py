"""Steps that take no time: with a duration of 0 they are instants; else their starts and ends do not come at once."""

from __future__ import annotations

import pytest

from planner import Domain, Plan, Problem, Status, Step, solve, validate
from planner.plan import StepTime


def rooms(duration: int | str, **fields: object) -> Problem:
    domain = Domain("rooms")
    domain.type("room")
    domain.action(
        "move",
        {"a": "room", "b": "room"},
        requires="at(a)",
        provides="at(b)",
        modifies="at(_)",
        duration=duration,
    )
    objects = {"hall": "room", "lab": "room"}
    return domain.problem(objects=objects, initial="at(hall)", goal="at(lab)", **fields)


def moved(problem: Problem, seconds: float) -> bool:
    """Return whether a move that lasts so long is a valid plan."""
    time = StepTime(0, seconds)
    return validate(problem, Plan((Step("move", ("hall", "lab"), 0),), problem, times=(time,))).valid


@pytest.mark.parametrize("fields", [{"objective": "makespan"}, {"timed": {"5": "at(lab)"}, "objective": "makespan"}])
def test_a_duration_of_nothing_is_an_instant(fields: dict[str, object]) -> None:
    problem = rooms(0, **fields)
    result = solve(problem, time_limit=10)
    assert (result.status, result.expect_plan().makespan) == (Status.OPTIMAL, 0)
    assert validate(problem, result.expect_plan()).valid
    assert moved(problem, 0)


def test_a_start_and_an_end_that_write_one_item_do_not_come_at_once() -> None:
    problem = rooms("0..5", objective="makespan")
    result = solve(problem, time_limit=10)
    assert result.status is Status.OPTIMAL
    assert str(result.expect_plan().makespan) == "0.001"
    assert validate(problem, result.expect_plan()).valid
    assert not moved(problem, 0)
