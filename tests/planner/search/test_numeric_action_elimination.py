"""Action elimination for plans with numbers: what is left of plans, and that it is a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from benchmarks.random_numeric import random_numeric_task
from planner import Domain, solve
from planner.errors import InputError, UnsupportedError
from planner.grounding.ground_numeric import ground_numeric
from planner.jit.arrays import words
from planner.jit.common_kernel import ENTRIES
from planner.language.pddl import parse_domain, parse_problem
from planner.limits import Limits
from planner.model import Problem
from planner.plan import Plan
from planner.search.numeric_action_elimination import shorten_plan
from planner.semantics.simulation import price_steps
from planner.task.numeric_task_compiled import NumericSpace, pack_numeric_task
from planner.task.packed_facts_kernel import holds
from planner.task.packed_states_kernel import apply
from planner.validation.validate import check_steps

ENOUGH = 60.0
"""Seconds, more than any plan here takes."""


def pack(problem: Problem) -> NumericSpace:
    space = pack_numeric_task(ground_numeric(problem, Limits()))
    assert space is not None
    return space


def shorten(space: NumericSpace, plan: Sequence[int], seconds: float = ENOUGH) -> list[int]:
    steps = shorten_plan(space, ENTRIES, plan, seconds)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            left: list[int] = stop.value
            return left


def is_plan(problem: Problem, space: NumericSpace, plan: Sequence[int]) -> bool:
    steps = price_steps(problem, [space.source.task.actions[each].step for each in plan])
    return check_steps(problem, Plan(steps, problem)).valid


def wander(space: NumericSpace, draw: Random) -> list[int] | None:
    """Return a random walk that ends where the goal holds; None if it takes too long."""
    row, plan = len(space.initial), list[int]()
    state = words([*space.initial, *space.initial])
    while not holds(space.space.goal, 0, state, 0):
        actions = range(len(space.source.task.actions))
        possible = [action for action in actions if holds(space.preconditions, action, state, 0)]
        draw.shuffle(possible)
        for action in possible:
            if not apply(space.space, action, state, 0, row, space.words):
                plan.append(action)
                state[:row] = state[row:]
                break
        else:
            return None
        if len(plan) > 60:
            return None
    return plan


@pytest.mark.parametrize("block", range(8))
def test_what_is_left_is_a_plan_and_a_part(block: int) -> None:
    compared, shorter = 0, 0
    for seed in range(70_000 + block * 40, 70_040 + block * 40):
        source = random_numeric_task(seed)
        try:
            problem = parse_problem(source.problem, parse_domain(source.domain))
            space = pack_numeric_task(ground_numeric(problem, Limits()))
        except (UnsupportedError, InputError):  # or a cost needs a value that nobody gives
            continue
        if space is None or space.source.task.unreachable_goal is not None:
            continue
        draw = Random(seed)
        for plan in [wander(space, draw) for _ in range(3)]:
            if not plan:
                continue
            left = shorten(space, plan)
            assert is_plan(problem, space, left), f"{seed}: {left}"
            assert Counter(left) <= Counter(plan)
            compared += 1
            shorter += len(left) < len(plan)
    assert compared > 10
    assert shorter > 3


def walk(goal: str, *, most: int = 9) -> tuple[Problem, NumericSpace, dict[str, int]]:
    """Return a problem of a carrier between a well at 0 and a plant at 5, and its actions by name."""
    domain = Domain("garden")
    domain.action("right", requires=["x <= 8"], modifies=["x += 1"])
    domain.action("left", requires=["x >= 1"], modifies=["x -= 1"])
    domain.action("load", requires=["x == 0", f"carried <= {most - 1}"], modifies=["carried += 1"])
    domain.action("pour", requires=["x == 5", "carried >= 1"], modifies=["carried -= 1", "poured += 1"])
    problem = domain.problem(values={"x": 0, "carried": 0, "poured": 0}, goal=[goal])
    space = pack(problem)
    return problem, space, {each.step.action: number for number, each in enumerate(space.source.task.actions)}


def test_ways_there_and_back_are_left_out() -> None:
    problem, space, number = walk("x == 5")
    detour = ["right"] * 8 + ["left"] * 6 + ["right"] * 3
    left = shorten(space, [number[each] for each in detour])
    assert left == [number["right"]] * 5
    assert is_plan(problem, space, left)


def test_trips_are_joined() -> None:
    problem, space, number = walk("poured >= 3")
    trip = ["load", *["right"] * 5, "pour", *["left"] * 5]
    left = shorten(space, [number[each] for each in trip * 3])
    assert Counter(left) == Counter({number["load"]: 3, number["right"]: 5, number["pour"]: 3})
    assert is_plan(problem, space, left)
    _, space, number = walk("poured >= 3", most=2)
    left = shorten(space, [number[each] for each in trip * 3])
    assert len(left) == 3 + 3 + 5 + 5 + 5


def test_more_than_is_needed_is_not_produced() -> None:
    _, space, number = walk("poured >= 3")
    given = ["load"] * 7 + ["right"] * 5 + ["pour"] * 6
    assert len(shorten(space, [number[each] for each in given])) == 3 + 5 + 3


def test_plans_stay_as_they_are_without_time() -> None:
    problem, space, number = walk("x == 5")
    given = [number[each] for each in (["right"] * 2 + ["left"]) * 5]
    assert is_plan(problem, space, shorten(space, given, 0.0))


def test_first_plans_are_shortened() -> None:
    problem, _, _ = walk("poured >= 8", most=1)
    result = solve(problem, mode="first")
    assert result.plan is not None
    assert len(result.plan.steps) == 8 + 8 + 5 + 7 * 10
