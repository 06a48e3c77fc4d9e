"""Declared actions with durations keep their meaning: in validation, in search, and as sequences without durations."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import groupby, permutations, product

import pytest
from declared_time import Job, Placed, World, draw_world, enumerate_plans, follow, judge

from planner import Problem, Status, solve
from planner.plan import Plan, Step, StepTime
from planner.validation.timed_replay import TimedReplay

SCHEDULES = 40
"""Random schedules of each problem that are judged."""


def order(plan: Sequence[Placed]) -> list[Placed]:
    return sorted(plan, key=lambda each: each.start)


def accept(problem: Problem, plan: Sequence[Placed]) -> bool:
    """Return whether validation accepts `plan`."""
    steps = [Step(each.step.name, each.step.parameters) for each in order(plan)]
    times = [StepTime(Decimal(each.start) / 1000, Decimal(each.step.ticks) / 1000) for each in order(plan)]
    return TimedReplay(problem, steps, times).judge(None).valid


def is_sequence(world: World, plan: Sequence[Placed]) -> bool:
    """Return whether the steps of `plan` in the order of their starts are a plan of `world` without durations."""
    groups = [[each.step for each in same] for _, same in groupby(order(plan), key=lambda each: each.start)]
    orders = product(*[permutations(group) for group in groups])
    return any(follow(world, [step for group in one for step in group]) for one in orders)


def draw_schedule(rng: random.Random, world: World) -> list[Placed]:
    """Return up to three steps; no two happenings come at once, and no step overlaps itself."""
    plan: list[Placed] = []
    taken: set[int] = set()
    for _ in range(rng.randint(1, 3)):
        each = Placed(rng.choice(world.steps), rng.randint(0, 8))
        again = [x for x in plan if x.step == each.step and x.end >= each.start and each.end >= x.start]
        if not again and not {each.start, each.end} & taken:
            plan.append(each)
            taken |= {each.start, each.end}
    return plan


def draw_problems(block: int, size: int) -> Iterator[tuple[random.Random, World]]:
    for seed in range(size * block, size * (block + 1)):
        rng = random.Random(seed)
        yield rng, draw_world(rng, numbers=rng.random() < 0.5, when=rng.random() < 0.5)


def check_validation(block: int, size: int) -> None:
    judged: Counter[bool] = Counter()
    for rng, world in draw_problems(block, size):
        problem = world.declare()
        for _ in range(SCHEDULES):
            plan = draw_schedule(rng, world)
            valid = judge(world, plan) is None
            assert accept(problem, plan) is valid, (world, plan)
            assert not valid or is_sequence(world, plan), (world, plan)
            judged[valid and bool(plan)] += 1
    assert judged[True] >= size // 2
    assert judged[False] >= size // 2


def read_plan(world: World, plan: Plan) -> list[Placed]:
    jobs = {job.name: job for job in world.jobs}
    filled: list[Job] = [jobs[step.action].fill(step.arguments) for step in plan.steps]
    return [Placed(step, int(time.start * 1000)) for step, time in zip(filled, plan.times, strict=True)]


def check_search(block: int, size: int) -> None:
    found: Counter[Status] = Counter()
    for _, world in draw_problems(block, size):
        result = solve(world.declare(), time_limit=2)
        least = min((max((x.end for x in plan), default=0) for plan in enumerate_plans(world, 2, 8)), default=None)
        found[result.status] += 1
        if result.status is Status.UNSOLVABLE:
            assert least is None, world
        if result.plan is None:
            continue
        plan = read_plan(world, result.plan)
        assert is_sequence(world, plan), (world, result.plan)
        moments = [tick for each in plan for tick in {each.start, each.end}]
        if len(set(moments)) == len(moments):
            assert judge(world, plan) is None, (world, result.plan)
        if result.status is Status.OPTIMAL and least is not None:
            assert result.plan.makespan * 1000 <= least, (world, result.plan)
    assert size < 10 or found[Status.OPTIMAL]


@pytest.mark.parametrize("block", range(12))
def test_validation_judges_as_the_declarations_mean(block: int) -> None:
    check_validation(block, 10)


@pytest.mark.parametrize("block", range(12))
def test_searches_find_what_the_declarations_mean(block: int) -> None:
    check_search(block, 5)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_more_problems(part: int) -> None:
    check_validation(1000 + part, 60)
    check_search(2000 + part, 10)
