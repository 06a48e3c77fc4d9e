"""Fact landmarks against all plans of small random tasks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from search_twins import action, closed, is_goal, random_task, successors

from planner.heuristics import landmarks as module
from planner.heuristics.landmarks import Landmarks, _Interference
from planner.heuristics.relaxation import relax
from planner.model import Atom
from planner.task.ground_task import Task


def landmarks(task: Task) -> Landmarks:
    return module.find_landmarks(task, relax(task), lambda: None)


def reachable_without(task: Task, facts: tuple[int, ...]) -> set[frozenset[int]]:
    """Return the states that can be reached without ever making any of `facts` true."""
    initial = frozenset(task.initial)
    seen = {initial} if closed(task, initial).isdisjoint(facts) else set()
    waiting = list(seen)
    while waiting:
        for _, child in successors(task, waiting.pop()):
            state = frozenset(child)
            if closed(task, state).isdisjoint(facts) and state not in seen:
                seen.add(state)
                waiting.append(state)
    return seen


def one_predicate(task: Task) -> Task:
    """Return `task` with facts that may be in one disjunction."""
    return replace(task, facts=tuple(Atom("f", (str(number),)) for number in range(len(task.facts))))


TASKS = [one_predicate(random_task(seed)) for seed in range(80)]


@pytest.mark.parametrize("task", TASKS)
def test_no_plan_avoids_a_landmark(task):
    for facts in landmarks(task).facts:
        assert not any(is_goal(task, state) for state in reachable_without(task, facts))


def test_some_landmarks_are_neither_initial_nor_goals():
    assert any(not {*facts} & {*task.initial, *task.goal} for task in TASKS for facts in landmarks(task).facts)


def test_one_of_few_facts_is_needed():
    here, first, second, there = range(4)
    task = Task(
        (Atom("at", ("here",)), Atom("in", ("van",)), Atom("in", ("train",)), Atom("at", ("there",))),
        ((here, first, second, there),),
        (here,),
        (there,),
        (
            action(0, precondition=[here], adds=[first], deletes=[here]),
            action(1, precondition=[here], adds=[second], deletes=[here]),
            action(2, precondition=[first], adds=[there], deletes=[first]),
            action(3, precondition=[second], adds=[there], deletes=[second]),
        ),
    )
    found = landmarks(task)
    assert found.facts == [(here,), (there,), (first, second)]
    assert found.before == [[], [0, 2], [0]]
    assert found.needed_for == [[], [], [1]]


@pytest.mark.parametrize("task", TASKS)
def test_the_goal_is_among_the_landmarks(task):
    found = landmarks(task)
    goals = {fact for (fact, *_), goal in zip(found.facts, found.goals, strict=True) if goal}
    assert goals == (set(task.goal) if found.facts else set())


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


def test_goals_are_ordered_as_if_all_pairs_were_tried(monkeypatch):
    few = [landmarks(task) for task in TASKS]
    monkeypatch.setattr(
        _Interference, "find_pairs", lambda _, places: [(early, late) for late in places for early in places]
    )
    assert [landmarks(task) for task in TASKS] == few
    monkeypatch.setattr(_Interference, "find_pairs", lambda *_: [])
    assert [landmarks(task) for task in TASKS] != few
