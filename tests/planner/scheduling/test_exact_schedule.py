"""Exact schedules of projects: against all orders, against CP-SAT where it is installed, and of the steps of plans."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from benchmarks.scheduling_trials import draw_job_shop, draw_project
from planner import Plan, validate
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.plan_files import read_plan
from planner.model import Problem
from planner.scheduling.exact_schedule import find_least_schedule, find_least_schedule_by_cp_sat
from planner.scheduling.project import Project, Resource, exceeds
from planner.scheduling.rescheduling import find_shared, reschedule
from planner.semantics.snap_actions import make_snap_problem


def least_by_orders(project: Project) -> int:
    """Return the least makespan over all orders in which tasks are put as early as those before them allow."""
    best = project.horizon
    size = len(project.durations)
    for order in permutations(range(size)):
        starts: dict[int, int] = {}
        for task in order:
            needed = [one for one, other, _ in project.edges if other == task]
            if any(one not in starts for one in needed):
                break
            earliest = max([starts[one] + least for one, other, least in project.edges if other == task], default=0)
            ends = [starts[one] + project.durations[one] + gap for one in starts for gap in (0, 1)]
            fits = (
                tick
                for tick in sorted({earliest, *[end for end in ends if end >= earliest]})
                if not exceeds(part(project, [*starts, task]), renumber({**starts, task: tick}))
            )
            starts[task] = next(fits)
        else:
            best = min(best, max(start + project.durations[task] for task, start in starts.items()))
    return best


def part(project: Project, tasks: list[int]) -> Project:
    """Return the project of these tasks alone, renumbered in their order, without edges."""
    place = {task: number for number, task in enumerate(sorted(tasks))}
    resources = tuple(
        [
            Resource(
                each.capacity, {place[task]: much for task, much in each.demands.items() if task in place}, each.gap
            )
            for each in project.resources
        ]
    )
    return Project(tuple([project.durations[task] for task in sorted(tasks)]), resources=resources)


def renumber(starts: dict[int, int]) -> list[int]:
    return [starts[task] for task in sorted(starts)]


@pytest.mark.parametrize("seed", range(12))
def test_branch_and_bound_finds_the_least_makespan(seed: int) -> None:
    rng = random.Random(seed)
    project = draw_job_shop(rng, 3, 2, ticks=3) if seed % 2 else draw_project(rng, 6, 2, ticks=3)
    found = find_least_schedule(project)
    assert found is not None
    assert found.is_least
    assert not exceeds(project, found.starts)
    assert found.makespan == least_by_orders(project)
    assert find_least_schedule(project, before=found.makespan) is None


@pytest.mark.parametrize("seed", range(6))
def test_cp_sat_agrees(seed: int) -> None:
    pytest.importorskip("ortools")
    project = draw_job_shop(random.Random(seed), 5, 4) if seed % 2 else draw_project(random.Random(seed), 12, 2)
    ours, theirs = find_least_schedule(project), find_least_schedule_by_cp_sat(project, 10)
    assert ours is not None
    assert theirs is not None
    assert not exceeds(project, theirs.starts)
    assert (ours.makespan, ours.is_least) == (theirs.makespan, theirs.is_least)


def test_windows_and_alternatives_hold() -> None:
    project = Project((3, 4), either=(((0, 1, 5), (1, 0, 6)),), earliest={0: 2}, latest={1: 6})
    found = find_least_schedule(project)
    assert found is not None
    assert (found.starts, found.makespan) == ((6, 0), 9)
    assert find_least_schedule(Project((3,), earliest={0: 4}, latest={0: 3})) is None


def test_a_search_that_has_to_stop_says_so() -> None:
    turns = iter([True] * 40)
    found = find_least_schedule(draw_project(random.Random(5), 16, 3), may_go_on=lambda: next(turns, False))
    assert found is None or not found.is_least


SHOP = """
(define (domain shop)
  (:requirements :typing :durative-actions :numeric-fluents)
  (:types job machine)
  (:predicates (raw ?j - job) (cut ?j - job) (done ?j - job) (free ?m - machine))
  (:functions (workers) (length ?j - job ?m - machine))
  (:durative-action cut
    :parameters (?j - job ?m - machine) :duration (= ?duration (length ?j ?m))
    :condition (and (at start (raw ?j)) (at start (free ?m)) (at start (>= (workers) 1)))
    :effect (and (at start (not (free ?m))) (at start (decrease (workers) 1)) (at end (free ?m))
      (at end (increase (workers) 1)) (at start (not (raw ?j))) (at end (cut ?j))))
  (:durative-action polish
    :parameters (?j - job ?m - machine) :duration (= ?duration (length ?j ?m))
    :condition (and (at start (cut ?j)) (at start (free ?m)) (at start (>= (workers) 1)))
    :effect (and (at start (not (free ?m))) (at start (decrease (workers) 1)) (at end (free ?m))
      (at end (increase (workers) 1)) (at start (not (cut ?j))) (at end (done ?j)))))
"""
PLAN = """
0.000: (cut long saw) [9.000]
9.001: (cut short saw) [2.000]
11.002: (polish short wheel) [9.000]
20.003: (polish long wheel) [2.000]
"""


def shop(workers: int) -> Problem:
    text = f"""
    (define (problem two-jobs) (:domain shop) (:objects long short - job saw wheel - machine)
      (:init (raw long) (raw short) (free saw) (free wheel) (= (workers) {workers})
        (= (length long saw) 9) (= (length short saw) 2) (= (length long wheel) 2) (= (length short wheel) 9))
      (:goal (and (done long) (done short))) (:metric minimize (total-time)))
    """
    return parse_problem(text, parse_domain(SHOP))


def improve(workers: int) -> tuple[Problem, Plan | None]:
    problem = shop(workers)
    return problem, reschedule(problem, make_snap_problem(problem), read_plan(PLAN, problem))


def test_steps_of_a_plan_take_machines_in_the_best_order() -> None:
    problem, better = improve(2)
    assert better is not None
    assert validate(problem, better).valid
    assert str(better.makespan) == "13.003"  # starts compare the workers that are left, so two starts lie 0.001 s apart
    shared = find_shared(problem, make_snap_problem(problem), better.steps)
    assert sorted(map(str, shared)) == ["free(saw)", "free(wheel)", "workers"]


def test_one_worker_keeps_the_steps_apart() -> None:
    _, better = improve(1)
    assert better is None


def test_cp_sat_schedules_what_branch_and_bound_gives_up() -> None:
    pytest.importorskip("ortools")
    problem = shop(2)
    plan = read_plan(PLAN, problem)
    better = reschedule(problem, make_snap_problem(problem), plan, lambda: False, more_seconds=5)
    assert better is not None
    assert str(better.makespan) == "13.003"
