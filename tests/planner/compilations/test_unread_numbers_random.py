"""Solve random tasks with unknown numbers, and carry the plans out in every world, planning again as numbers are read.

No task has a trap: what an action does, another one undoes, so that the goal is reached exactly where it can be reached
by someone who knows all numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import pytest
from unread_tasks import VALUES, know, make_task

from planner import Status, solve
from planner.compilations.unlisted_objects import plan_to_find
from planner.model import Atom, Problem
from planner.model.unknown_numbers import find_unread
from planner.semantics.simulation import Simulation
from planner.validation.supposed_numbers import measured_by


def worlds_of(problem: Problem) -> Iterator[dict[Atom, int]]:
    unread = find_unread(problem)
    for values in product(VALUES, repeat=len(unread)):
        yield dict(zip(unread, values, strict=True))


def carry_out(problem: Problem, world: Mapping[Atom, int]) -> bool:
    """Return whether the goal is reached in `world` by someone who plans again when a number is read."""
    truth, state = Simulation(know(problem, world)), problem
    for _ in range(10):
        found = solve(state)
        plan = found.plan if found.plan is not None else getattr(plan_to_find(state, solve), "plan", None)
        if plan is None:
            return False
        for step in plan.steps:
            mine = Simulation(state)
            assert mine.find_objection(step) is None, (step, "in the believed state")
            assert truth.find_objection(step) is None, (step, "in the world")
            mine.apply(step)
            truth.apply(step)
            told = {t: world[t] for t in find_unread(state) if any(x.matches(t) for x in measured_by(state, step))}
            state = know(mine.problem_now, told)
            if told:
                break
        else:
            return truth.holds(problem.goal.hard)
    raise AssertionError("there is no end of planning")


@pytest.mark.parametrize(
    "seed", range(int(__import__("os").environ.get("N0", "0")), int(__import__("os").environ.get("N1", "60")))
)
def test_goal_is_reached_in_every_world_in_which_it_can_be(seed: int) -> None:
    problem = make_task(seed)
    found = solve(problem)
    assert found.status is not Status.OPTIMAL
    assert found.lower_bound is None or not find_unread(problem)
    for world in worlds_of(problem):
        can_be = solve(know(problem, world))
        assert can_be.status in (Status.OPTIMAL, Status.SOLVED, Status.UNSOLVABLE), can_be.reason
        if found.status is Status.UNSOLVABLE:
            assert not can_be.has_plan
        assert carry_out(problem, world) is can_be.has_plan, (world, can_be.plan)
