"""Fact landmarks against all plans of small random tasks."""

from __future__ import annotations

import pytest
from search_twins import is_goal, random_task, successors

from planner.heuristics.landmarks import FactLandmarks, fact_landmarks
from planner.heuristics.relaxed import relax
from planner.task import Task


def landmarks(task: Task) -> FactLandmarks:
    return fact_landmarks(task, relax(task), lambda: None)


def reachable_without(task: Task, fact: int) -> set[frozenset[int]]:
    """Return the states that can be reached without ever making `fact` true."""
    initial = frozenset(task.initial)
    seen = set() if fact in initial else {initial}
    waiting = list(seen)
    while waiting:
        for _, child in successors(task, waiting.pop()):
            state = frozenset(child)
            if fact not in state and state not in seen:
                seen.add(state)
                waiting.append(state)
    return seen


TASKS = [random_task(seed) for seed in range(120)]


@pytest.mark.parametrize("task", TASKS)
def test_no_plan_avoids_a_landmark(task):
    for fact in landmarks(task).facts:
        assert not any(is_goal(task, state) for state in reachable_without(task, fact))


def test_some_landmarks_are_neither_initial_nor_goals():
    found = [set(landmarks(task).facts) - set(task.initial) - set(task.goal) for task in TASKS]
    assert any(found)


@pytest.mark.parametrize("task", TASKS)
def test_the_goal_is_among_the_landmarks(task):
    found = landmarks(task)
    goals = {fact for fact, goal in zip(found.facts, found.goals, strict=True) if goal}
    assert goals == (set(task.goal) - task.derived if found.facts else set())


@pytest.mark.parametrize("task", TASKS)
def test_what_is_needed_right_before_comes_before(task):
    found = landmarks(task)
    for early, late in ((early, late) for early, many in enumerate(found.needed_for) for late in many):
        assert early in found.before[late]


@pytest.mark.parametrize("task", TASKS)
def test_orders_are_not_circular(task):
    before, done = landmarks(task).before, set[int]()
    while len(done) < len(before):
        ready = {place for place, many in enumerate(before) if place not in done and done.issuperset(many)}
        assert ready
        done |= ready
