"""h² by kernels against its twin in plain Python: the same pairs and actions after each round."""

from __future__ import annotations

from dataclasses import replace

import h2_twin
import pytest
from search_twins import action, fact_names, random_task

from planner.heuristics import REGISTRY
from planner.jit import library
from planner.pruning.h2 import Pairs, prune
from planner.search import Run, Space
from planner.search.astar import astar
from planner.search.astar_compiled import CompiledAstar
from planner.search.task_compiled import Board
from planner.task.finite_domain import translate_task
from planner.task.ground_task import Task

PLAIN = library.ENTRIES
OFTEN = 100
"""Steps of inner loops after which kernels pause: they go on where they were."""


def finished(steps):
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value


def assert_same_rounds(task: Task, entries, work: int) -> None:
    values = translate_task(task, lambda: None)
    plain, fast = h2_twin.Pairs(values), Pairs(values, entries, work=work)
    for turn in range(6):
        assert list(map(plain.copy(), range(values.size))) == list(map(fast.copy(), range(values.size)))
        may_be = finished(plain.sharpen())
        assert finished(fast.sharpen()) is may_be
        assert plain.actions() == fast.actions()
        if not may_be:
            return
        for pairs in (plain, fast):
            finished(pairs.backwards() if turn % 2 else pairs.forwards())


@pytest.mark.parametrize("seed", range(60))
def test_kernels_do_what_their_twin_does(seed):
    assert_same_rounds(random_task(seed), PLAIN, OFTEN)


def test_machine_code_does_what_its_twin_does():
    entries = library.load()
    if entries is None:
        pytest.skip("there is no machine code")
    for seed in range(200):
        assert_same_rounds(random_task(seed), entries, OFTEN * (1 + 100 * (seed % 2)))


HERE, THERE, PLUGGED, LIT = range(4)


def lamp(*goal: int) -> Task:
    """A lamp that is plugged in and lit where it is, or carried away for good, which takes the plug out."""
    actions = [
        action(0, precondition=[HERE], adds=[THERE], deletes=[HERE, PLUGGED, LIT]),
        action(1, precondition=[HERE], adds=[PLUGGED]),
        action(2, precondition=[PLUGGED], adds=[LIT]),
        action(3, precondition=[THERE, PLUGGED], adds=[LIT]),
    ]
    return Task(fact_names(4), ((HERE, THERE), (PLUGGED,), (LIT,)), (HERE,), goal, tuple(actions))


@pytest.mark.parametrize("entries", [None, PLAIN])
def test_what_no_plan_needs_is_dropped(entries):
    """What needs a plug elsewhere is never possible, and what has been carried away is never lit."""
    found = prune(lamp(LIT), entries=entries)
    assert found.solvable
    assert found.actions == [1, 2]
    assert found.facts == [HERE, PLUGGED, LIT]
    assert found.task.variables == ((0,), (1,), (2,))
    assert [found.excluded[fact] for fact in range(3)] == [0, 0, 0]


@pytest.mark.parametrize("entries", [None, PLAIN])
def test_pairs_are_of_facts(entries):
    found = prune(lamp(THERE), entries=entries)
    assert found.facts == [HERE, THERE, PLUGGED, LIT]
    there = 1 << THERE
    assert [found.unreachable[fact] for fact in found.facts] == [there, 0b1101, there, there]


@pytest.mark.parametrize("entries", [None, PLAIN])
def test_goals_that_exclude_each_other_are_proved_so(entries):
    found = prune(lamp(THERE, LIT), entries=entries)
    assert not found.solvable
    assert not found.actions


def halves() -> Task:
    """Two halves are painted; a picture is finished, and wiped, with one of them blank."""
    left, no_left, right, no_right, done = range(5)
    actions = [
        action(0, precondition=[no_left], adds=[left], deletes=[no_left]),
        action(1, precondition=[no_right], adds=[right], deletes=[no_right]),
        action(2, precondition=[left, no_right], adds=[done, no_left], deletes=[left], cost=5),
        action(3, precondition=[right, no_left], adds=[done, no_right], deletes=[right], cost=5),
    ]
    variables = ((left, no_left), (right, no_right), (done,))
    return Task(fact_names(5), variables, (no_left, no_right), (no_left, no_right, done), tuple(actions))


@pytest.mark.parametrize("entries", [None, PLAIN])
def test_states_that_lead_nowhere_are_left_out(entries):
    task = prune(halves()).task
    assert task.conflicts == ((0, 2),)
    free = replace(task, conflicts=())
    cut, whole = (explored(each, entries) for each in (task, free))
    assert cut.limit == whole.limit == 6
    assert cut.expanded < whole.expanded


def explored(task: Task, entries) -> Run:
    run = Run()
    if entries is None:
        steps = astar(Space(task), REGISTRY["blind"].build(task, [], lambda: None), run)
    else:
        steps = CompiledAstar(Board(task, entries), "blind").steps(run)
    finished(steps)
    return run


def test_work_is_stopped_in_time():
    found = prune(lamp(THERE, LIT), seconds=-1.0)
    assert found.solvable
    assert found.actions == [0, 1, 2, 3]
