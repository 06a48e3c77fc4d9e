"""The shipped domains in time: machines and clamps that steps share, and a day with windows."""

from __future__ import annotations

from itertools import pairwise

import pytest

from domains import errands, workshop
from planner import Plan, Status, solve, validate
from planner.plan import StepTime


def times_of(plan: Plan, action: str, last: str = "") -> list[StepTime]:
    """Return the times of the steps of `action`, of those with the last argument `last`, in their order."""
    pairs = zip(plan.steps, plan.times, strict=True)
    found = [time for step, time in pairs if step.action == action and last in ("", step.arguments[-1])]
    return sorted(found, key=lambda each: each.start)


@pytest.mark.parametrize("name", ["stool", "two-stools", "morning", "day"])
def test_machines_and_people_do_one_thing_at_a_time(name: str) -> None:
    problem = workshop.problems()[name]
    plan = solve(problem, mode="first", time_limit=None).expect_plan()
    assert validate(problem, plan).valid
    for machine in (each.name for each in problem.objects if "Saw" in each.types or "Booth" in each.types):
        for action in ("saw", "paint"):
            assert all(one.end < other.start for one, other in pairwise(times_of(plan, action, machine)))
    busy = [*times_of(plan, "saw"), *times_of(plan, "paint")]
    starts = [each.start for each in busy]
    assert all(sum(each.start <= start < each.end for each in busy) <= problem.capacity["worker"] for start in starts)
    drying = times_of(plan, "glue")
    assert all(
        sum(each.start <= one.start < each.end for each in drying) <= problem.capacity["clamp"] for one in drying
    )


def test_the_fan_runs_while_the_stool_is_painted() -> None:
    result = solve(workshop.stool(), time_limit=None)
    plan = result.expect_plan()
    (fan,), (paint,) = times_of(plan, "run_fan"), times_of(plan, "paint")
    assert fan.start <= paint.start
    assert paint.end <= fan.end
    assert (result.status, int(result.cost or 0)) == (Status.OPTIMAL, 90)


def test_the_washing_runs_while_one_is_out_and_one_calls_on_the_way() -> None:
    problem = errands.saturday()
    plan = solve(problem, time_limit=3).expect_plan()
    assert validate(problem, plan).valid
    (meeting,) = times_of(plan, "attend")
    assert meeting.start >= 2 * 3600
    hands = [time for name in ("go", "buy", "attend", "hang_up") for time in times_of(plan, name)]
    assert all(one.end < other.start for one, other in pairwise(sorted(hands, key=lambda each: each.start)))


def test_a_bakery_that_closes_too_early_is_out_of_reach() -> None:
    assert solve(errands.saturday(closes="9:10"), time_limit=2).plan is None


@pytest.mark.parametrize("seed", range(3))
def test_generated_days_are_solved_and_replayed(seed: int) -> None:
    problem = errands.generate(seed, 4)
    assert errands.generate(seed, 4) == problem
    result = solve(problem, mode="first", time_limit=5)
    if result.plan is not None:
        assert validate(problem, result.plan).valid
