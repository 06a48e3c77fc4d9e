"""Lookahead: what it finds is a plan, of which no step can be left out."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from itertools import pairwise

import pytest
from brute_force import TooManyStates, brute_force

from benchmarks.random_problems import random_problem
from planner import Domain, Status, StoppedBy, solve
from planner.grounding.ground import ground
from planner.heuristics.relaxation import make_relaxed_planner, relax
from planner.limits import LimitReached, Limits
from planner.model import Problem
from planner.search import Ending, Run, Space
from planner.search.lookahead import cut_loops, leave_out_needless, look_ahead
from planner.search.search_run import Steps
from planner.task.ground_task import Task
from planner.validation.validate import validate


def unlimited() -> None:
    """Never stop."""


def finish(steps: Steps) -> Ending:
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            ending: Ending = stop.value
            return ending


def tasks(seeds: range) -> Iterator[tuple[Problem, Task, int | None]]:
    """Yield random problems with their ground tasks and least costs, None where there is no plan."""
    for seed in seeds:
        problem = random_problem(seed)
        if problem.unknown:
            continue
        try:
            least = brute_force(problem, max_states=500)
        except TooManyStates:
            continue
        task = ground(problem, Limits())
        if task.unreachable_goal is None:
            yield problem, task, least


@pytest.mark.parametrize("block", range(4))
def test_what_lookahead_finds_is_a_plan_without_needless_steps(block: int) -> None:
    found = 0
    for problem, task, least in tasks(range(100 * block, 100 * block + 40)):
        space, run = Space(task), Run()
        ending = finish(look_ahead(space, make_relaxed_planner(relax(task)), run, unlimited))
        assert (run.plan is not None) is (ending is Ending.FIRST_PLAN)
        if run.plan is None:
            continue
        assert least is not None
        assert validate(problem, [task.actions[number].step for number in run.plan]).valid
        assert run.limit == space.cost_of(run.plan)
        for place in range(len(run.plan)):
            shorter = run.plan[:place] + run.plan[place + 1 :]
            assert not validate(problem, [task.actions[number].step for number in shorter]).valid
        found += len(run.plan) > 1
    assert found


WALK = Domain("walk", types=["place"])
WALK.action("go", {"a": "place", "b": "place"}, requires=["at(a)", "road(a, b)"], provides=["not at(a)", "at(b)"])
WALK.action("look", {"a": "place"}, requires=["at(a)"], provides=["seen(a)"])


def walk(goal: list[str]) -> Problem:
    places = [f"p{number}" for number in range(5)]
    roads = [f"road({a}, {b})" for one in pairwise(places) for a, b in (one, one[::-1])]
    return WALK.problem(objects=dict.fromkeys(places, "place"), initial=["at(p0)", *roads], goal=goal)


def test_loops_and_needless_steps_are_taken_out() -> None:
    problem = walk(["seen(p1)", "at(p2)"])
    task = ground(problem, Limits(), whole=True)
    space = Space(task)
    number = {str(action.step): place for place, action in enumerate(task.actions)}
    there = ["go(p0, p1)", "look(p1)", "go(p1, p2)", "look(p2)", "go(p2, p3)", "go(p3, p2)"]
    plan = [number[each] for each in there]
    without_loops = cut_loops(space, plan)
    assert [str(task.actions[each].step) for each in without_loops] == there[:4]
    short = leave_out_needless(space, without_loops, unlimited)
    assert [str(task.actions[each].step) for each in short] == there[:3]


def test_a_limit_while_steps_are_left_out_loses_no_plan() -> None:
    task = ground(walk(["seen(p1)", "at(p2)"]), Limits())
    space, run = Space(task), Run()

    def check() -> None:
        if any(frame.name == "leave_out_needless" for frame in traceback.extract_stack()):
            raise LimitReached(StoppedBy.TIME)

    steps = look_ahead(space, make_relaxed_planner(relax(task)), run, check)
    with pytest.raises(LimitReached):
        finish(steps)
    assert run.plan is not None
    assert validate(walk(["seen(p1)", "at(p2)"]), [task.actions[number].step for number in run.plan]).valid


@pytest.mark.parametrize("mode", ["first", "anytime"])
def test_a_plan_of_many_steps_comes_from_few_relaxed_plans(mode: str) -> None:
    problem = walk([f"seen(p{number})" for number in range(5)])
    result = solve(problem, mode=mode, time_limit=60)
    assert result.status in (Status.SOLVED, Status.OPTIMAL)
    assert validate(problem, result.plan).valid
    assert mode != "first" or (result.statistics.search == "lookahead" and result.statistics.evaluated < 10)
