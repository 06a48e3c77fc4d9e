"""The furthest point of a plan, found by regression, against trying each point."""

from __future__ import annotations

import random

import pytest
from brute_force import TooManyStates, brute_force_plan
from effort import share

from benchmarks.random_problems import random_problem
from planner import Domain
from planner.model import Problem
from planner.plan import Step
from planner.repair.regression import Unclear, find_furthest_reentry
from planner.semantics.simulation import Simulation

SEEDS = range(120)


def by_trying(problem: Problem, steps: list[Step]) -> int | None:
    for start in range(len(steps), -1, -1):
        simulation = Simulation(problem)
        for step in steps[start:]:
            if simulation.find_objection(step) is not None:
                break
            simulation.apply(step)
        else:
            if simulation.holds(problem.goal.hard):
                return start
    return None


def random_domain(dice: random.Random) -> Problem:
    """Return facts that actions ask for, give and end, some of them with open arguments."""
    domain = Domain("facts", types=["thing"])
    names = ["p", "q", "r"]
    for name in names:
        domain.predicate(name, "thing")
    for number in range(4):
        wanted = [f"{dice.choice(['', 'not '])}{name}(a)" for name in dice.sample(names, dice.randint(0, 2))]
        given = [f"{name}({dice.choice('ab')})" for name in dice.sample(names, dice.randint(1, 2))]
        ended = [f"not {name}(b)" for name in dice.sample(names, dice.randint(0, 1)) if f"{name}(b)" not in given]
        changed = [f"{name}({dice.choice(['_', 'a'])})" for name in dice.sample(names, dice.randint(0, 1))]
        parameters = {"a": "thing", "b": "thing"}
        domain.action(f"act{number}", parameters, requires=wanted, provides=[*given, *ended], modifies=changed)
    facts = [f"{name}({thing})" for name in names for thing in "xyz"]
    goal = [f"{dice.choice(['', '', 'not '])}{fact}" for fact in dice.sample(facts, dice.randint(1, 3))]
    initial = dice.sample(facts, dice.randint(0, 6))
    return domain.problem(objects=dict.fromkeys("xyz", "thing"), initial=initial, goal=goal)


@pytest.mark.parametrize("block", range(10))
def test_regression_finds_what_trying_finds(block: int) -> None:
    found = []
    for seed in range(100 * block, 100 * block + 100):
        dice = random.Random(seed)
        problem = random_domain(dice)
        actions = list(problem.domain.actions)
        steps = [Step(dice.choice(actions), tuple(dice.choices("xyz", k=2))) for _ in range(dice.randint(0, 5))]
        start = find_furthest_reentry(Simulation(problem), steps, problem.goal.hard)
        assert start == by_trying(problem, steps), (seed, steps)
        found.append(start)
    assert {0, None} < set(found), "plans of which everything, something, and nothing is needed"


def test_plans_of_all_kinds_of_problems() -> None:
    clear = unclear = 0
    for seed in share(SEEDS, 4):
        problem = random_problem(seed)
        try:
            plan = None if problem.unknown else brute_force_plan(problem, 500)
        except TooManyStates:
            plan = None
        if plan is None:
            continue
        try:
            start = find_furthest_reentry(Simulation(problem), list(plan.steps), problem.goal.hard)
        except Unclear:
            unclear += 1
        else:
            clear += 1
            assert start == by_trying(problem, list(plan.steps)), seed
    assert clear
    assert unclear
