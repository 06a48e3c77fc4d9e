"""List schedules, their improvement, and the precedence tree, against the disjunctive graph on random projects."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from benchmarks.scheduling_trials import draw_job_shop, draw_project
from planner import Domain, solve
from planner.lightweight import replace
from planner.scheduling import exact_schedule
from planner.scheduling.exact_schedule import find_least_schedule
from planner.scheduling.list_schedules import ListScheduler, ListSearch, Profile, find_makespan, improve, space_out
from planner.scheduling.precedence_tree import bound_lateness, can_be_ordered, find_bounding_resources
from planner.scheduling.project import Project, Resource, exceeds


def draw_any_project(rng: random.Random) -> Project:
    """Return a small project with everything that projects have: windows, alternatives, gaps, and steps of no time."""
    size = rng.randint(2, 7)
    durations = [rng.randint(0, 5) for _ in range(size)]
    pairs = [(one, other) for other in range(size) for one in range(other)]
    edges = [(one, other, rng.choice([0, durations[one], durations[one] + 2])) for one, other in pairs]
    edges = [each for each in edges if rng.random() < 0.2]
    if rng.random() < 0.2:
        edges += [(other, one, -rng.randint(0, 12)) for one, other in pairs if rng.random() < 0.1]
    least = rng.choice([-3, 1, 1])
    apart = [(one, other) for one, other in pairs if rng.random() < 0.1]
    either = [((a, b, rng.randint(least, 5)), (b, a, rng.randint(least, 5))) for a, b in apart]
    resources = []
    for _ in range(rng.randint(1, 3)):
        capacity = rng.randint(1, 5)
        demands = {task: rng.randint(1, capacity) for task in range(size) if rng.random() < 0.7}
        resources.append(Resource(capacity, demands, rng.randint(0, 2)))
    earliest = {task: rng.randint(0, 8) for task in range(size) if rng.random() < 0.2}
    most = rng.choice([0, 0.2])
    latest = {task: rng.randint(2, 20) for task in range(size) if rng.random() < most}
    return Project(tuple(durations), tuple(edges), tuple(either), tuple(resources), earliest, latest)


@pytest.mark.parametrize("part", range(4))
def test_orders_of_starts_and_alternatives_give_the_same_makespan(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    solved = ordered = 0
    for seed in range(part * 100, part * 100 + 100):
        project = draw_any_project(random.Random(seed))
        found = find_least_schedule(project)
        with monkeypatch.context() as patch:
            patch.setattr(exact_schedule, "can_be_ordered", lambda _: False)
            patch.setattr(ListSearch, "run", lambda *_: None)
            other = find_least_schedule(project)
        assert (found and found.makespan) == (other and other.makespan), project
        if found is not None:
            assert found.is_least
            assert not exceeds(project, found.starts), project
            assert not find_least_schedule(project, before=found.makespan)
        solved += found is not None
        ordered += can_be_ordered(project)
    assert solved > 50
    assert ordered > 50


@pytest.mark.parametrize("seed", range(8))
def test_lists_keep_the_project_and_improvement_does_no_harm(seed: int) -> None:
    rng = random.Random(seed)
    project = draw_job_shop(rng, 4, 3) if seed % 2 else draw_project(rng, 20, 3)
    starts = ListScheduler(project).schedule([rng.random() for _ in project.durations])
    assert starts is not None
    assert not exceeds(project, starts)
    better = improve(project, starts)
    assert not exceeds(project, better)
    assert find_makespan(project, better) <= find_makespan(project, starts)


def test_reversed_time_turns_back() -> None:
    project = Project((3, 4), ((0, 1, 5),), (((0, 1, 1), (1, 0, 2)),), earliest={0: 2}, latest={1: 9})
    again = project.reverse(20).reverse(20)
    assert again == project
    assert not exceeds(project, (2, 7))
    assert not exceeds(project.reverse(20), (20 - 3 - 2, 20 - 4 - 7))


def test_a_profile_finds_room_between_what_is_held() -> None:
    profile = Profile(3)
    profile.hold(2, 5, 2)
    profile.hold(4, 9, 1)
    found = [profile.find_room(tick, lasts, demand) for tick, lasts, demand in ((0, 2, 3), (0, 3, 2), (0, 9, 1))]
    assert found == [0, 5, 5]
    assert profile.find_room(3, 1, 3) == 9


def test_preempted_work_is_late_by_what_is_due_first() -> None:
    assert bound_lateness([(0, 9, 4), (1, 3, 2)]) == 0  # the second one, at once from 1 to 3
    assert bound_lateness([(0, 5, 4), (1, 3, 2)]) == 1
    assert bound_lateness([(0, 9, 4), (1, 2, 2)]) == 1


def test_tasks_that_exclude_each_other_on_different_resources_follow_each_other() -> None:
    project = Project(
        (5, 5, 5), resources=(Resource(3, {0: 2, 1: 2}), Resource(3, {1: 2, 2: 2}), Resource(3, {0: 2, 2: 2}))
    )
    assert Resource(1, {0: 1, 1: 1, 2: 1}) in find_bounding_resources(project)
    found = find_least_schedule(project)
    assert found is not None
    assert found.makespan == 15


def test_a_large_project_has_a_schedule_at_once() -> None:
    project = draw_project(random.Random(8), 24, 3)
    turns = iter([True] * 30)
    found = find_least_schedule(project, may_go_on=lambda: next(turns, False))
    assert found is not None
    assert not exceeds(project, found.starts)
    assert found.makespan <= 50_000  # 1.11 of the least makespan


def test_large_projects_are_proved() -> None:
    makespans = [find_least_schedule(draw_project(random.Random(seed), 24, 3)) for seed in (1, 3, 6)]
    assert [(each.makespan, each.is_least) for each in makespans if each] == [
        (46008, True),
        (79012, True),
        (63013, True),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_spaced_starts_keep_their_distance(seed: int) -> None:
    project = draw_project(random.Random(seed), 16, 2, ticks=7)
    found = find_least_schedule(project, may_go_on=lambda: True)
    assert found is not None
    starts = space_out(project, found.starts)
    assert starts is not None
    assert not exceeds(project, starts)
    assert find_makespan(project, starts) <= found.makespan + 16
    close = Project((50, 50), resources=(Resource(3, {0: 1, 1: 1}, 10),), earliest={1: 4})
    assert space_out(close, (0, 4)) == [0, 10]
    assert space_out(replace(close, earliest={0: 4, 1: 4}), (4, 4)) == [4, 4]


def test_a_step_may_take_over_what_another_one_has_just_left() -> None:
    domain = Domain("calls")
    seconds = {"a": "0.3", "b": "0.3004", "c": "0.4", "d": "0.4", "e": "0.4"}
    for name, lasts in seconds.items():
        domain.action(name, {}, provides=f"{name}_done", duration=Decimal(lasts), holds={"line": 1})
    problem = domain.problem(goal=[f"{name}_done" for name in seconds], capacity={"line": 3}, objective="makespan")
    result = solve(problem, time_limit=20)
    assert result.cost is not None
    assert result.cost <= Decimal("0.704")
