"""The bound by landmarks: steps that every plan takes share machines and capacities."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from timed_domains import letters

from planner import Domain, Plan, Problem, Status, Step, solve, validate
from planner.grounding.ground_temporal import ground_temporal
from planner.heuristics.critical_path_in_time import bound_makespan
from planner.language.pddl.plan_files import read_plan
from planner.limits import Limits
from planner.plan import StepTime
from planner.scheduling.landmark_steps import schedule_landmarks
from planner.semantics.snap_actions import make_snap_problem
from planner.validation.timed_replay import price_plan


def kiosk(cups: int, machines: int, *, pots: bool = False, window: str = "5..90", **rest: Any) -> Problem:
    """Return a task whose cups are brewed by so many machines, and served while it is open."""
    domain = Domain("kiosk", types=["cup"])
    domain.action("brew", {"c": "cup"}, provides="full(c)", duration=4, holds={"machine": 1})
    if pots:
        domain.action("pour", {"c": "cup"}, provides="full(c)", duration=5)
    domain.action("serve", {"c": "cup"}, requires="full(c)", throughout="open", provides="served(c)", duration=2)
    names = [f"c{number}" for number in range(cups)]
    return domain.problem(
        objects=dict.fromkeys(names, "cup"),
        windows={"open": window},
        capacity={"machine": machines},
        goal=[f"served({name})" for name in names],
        objective="makespan",
        **rest,
    )


def bounds(problem: Problem) -> tuple[int, int]:
    """Return the bounds by the critical path and by landmarks, in ticks."""
    snap = make_snap_problem(problem)
    task = ground_temporal(problem, snap, Limits())
    path = bound_makespan(task, task.resolution // 1000, ())
    return path.ticks, schedule_landmarks(problem, snap, task, task.resolution // 1000, path.begun).ticks


@pytest.mark.parametrize(("cups", "machines", "makespan"), [(2, 1, "10.002"), (2, 2, "7"), (3, 1, "14.003")])
def test_what_shares_a_machine_is_proved_to_take_its_time(cups: int, machines: int, makespan: str) -> None:
    problem = kiosk(cups, machines)
    result = solve(problem, time_limit=5)
    assert (result.status, str(result.cost)) == (Status.OPTIMAL, makespan)
    assert validate(problem, result.expect_plan()).valid
    path, landmarks = bounds(problem)
    assert path == 7000
    assert landmarks <= float(makespan) * 1000


def test_steps_that_have_another_way_are_no_landmarks() -> None:
    assert bounds(kiosk(3, 1, pots=True))[1] <= 7000
    assert bounds(kiosk(3, 1))[1] == 14003


def test_two_machines_halve_the_time() -> None:
    result = solve(kiosk(4, 2), time_limit=5)
    assert bounds(kiosk(4, 2)) == (7000, 10002)
    assert (result.status, str(result.cost)) == (Status.OPTIMAL, "10.002")
    assert [each.start for each in result.expect_plan().times[:2]] == [0, 0], "what holds machines starts at once"


def test_a_plan_that_holds_too_much_is_told_so() -> None:
    verdict = validate(kiosk(2, 1), read_plan("0: (brew c0) [4]\n1: (brew c1) [4]", kiosk(2, 1)))
    assert "step 2 brew(c1) starts at 1: holds 1 of machine, but 0 of machine is free since step 1" in verdict.reason


def test_a_machine_may_be_a_fact() -> None:
    problem = letters((9, 9, 9))
    path, landmarks = bounds(problem)
    result = solve(problem, time_limit=5)
    assert result.plan is not None
    assert max(path, landmarks) <= result.plan.makespan * 1000


@pytest.mark.parametrize(
    ("cups", "machines", "closes", "least"), [(3, 1, "14", "14.003"), (4, 2, "10", "10.002"), (6, 2, "14", "14.003")]
)
def test_a_window_that_closes_too_early_is_proved_to(cups: int, machines: int, closes: str, least: str) -> None:
    result = solve(kiosk(cups, machines, window=f"5..{closes}"), time_limit=5)
    assert result.status is Status.UNSOLVABLE
    assert "no schedule of the steps that every plan takes" in result.reason
    assert "brew(c0)" in result.reason
    opened = solve(kiosk(cups, machines, window=f"5..{least}"), time_limit=5)
    assert opened.plan is not None
    assert validate(opened.plan.problem, opened.plan).valid


def test_many_customers_do_not_fit_in_one_window() -> None:
    domain = Domain("counter", types=["customer"])
    domain.action("serve", {"c": "customer"}, throughout="open", provides="served(c)", duration=3, holds={"clerk": 1})
    names = [f"c{number}" for number in range(12)]
    facts = {"objects": dict.fromkeys(names, "customer"), "goal": [f"served({name})" for name in names]}
    for clerks, closes in ((1, 45), (3, 21)):
        problem = domain.problem(
            **facts, windows={"open": f"10..{closes}"}, capacity={"clerk": clerks}, objective="makespan"
        )
        assert solve(problem, time_limit=5).status is Status.UNSOLVABLE


def test_deadlines_of_goals_do_not_leave_time_for_all() -> None:
    due = {"served(c0)": 9, "served(c1)": 9}
    assert solve(kiosk(2, 1, due=due), time_limit=5).status is Status.UNSOLVABLE
    result = solve(kiosk(2, 1, due={"served(c0)": 9, "served(c1)": "10.002"}), time_limit=5)
    assert result.status is Status.OPTIMAL


def test_many_steps_that_hold_a_capacity_start_at_once() -> None:
    domain = Domain("calls")
    names = [f"call{number}" for number in range(25)]
    for name in names:
        domain.action(name, {}, provides=f"answered_{name}", duration=2, holds={"line": 1})
    goal = [f"answered_{name}" for name in names]
    problem = domain.problem(goal=goal, capacity={"line": 5}, objective="makespan")
    times = [StepTime(Decimal("2.001") * (number // 5), 2) for number in range(25)]
    plan = price_plan(Plan(tuple([Step(name, ()) for name in names]), problem, times=tuple(times)))
    verdict = validate(problem, plan)
    assert verdict.valid, verdict.reason
    result = solve(problem, time_limit=10)
    assert (result.status, str(result.cost)) == (Status.OPTIMAL, "10.004")
