"""Patches within budgets, on random problems: they keep them, and where none is found, there is none."""

from __future__ import annotations

import random
from dataclasses import replace

from brute_force import TooManyStates
from budget_twins import cheapest_within, limited_problem
from effort import share
from random_plans import changes

from benchmarks.random_problems import STRIPS, Features
from planner.model import COST
from planner.plan import Status
from planner.repair.mending import mend
from planner.repair.patching import patch
from planner.semantics.simulation import Simulation
from planner.validation.validate import validate


def walk(problem, rng):
    """Return some steps that can be taken one after the other."""
    state, steps = Simulation(problem), []
    for _ in range(4):
        choices = [step for step in state.applicable() if changes(state, step)]
        if not choices:
            break
        steps.append(rng.choice(choices))
        state.apply(steps[-1])
    return steps


def test_patches_keep_the_budgets_or_there_is_no_plan():
    found, none, relaxed = 0, 0, 0
    for seed in share(range(160), 4):
        rng = random.Random(seed)
        problem = limited_problem(rng, rng.choice([STRIPS, Features(objects=3)]))
        remaining = walk(problem, rng)
        try:
            optimum = cheapest_within(problem)
        except TooManyStates:
            continue
        weight = rng.choice([0, 2])
        result = patch(problem, remaining, weight=weight, time_limit=None)
        if optimum is None:
            none += 1
            assert result.status is Status.UNSOLVABLE, seed
            continue
        found += 1
        assert validate(problem, result.steps, claimed_cost=result.cost).valid, seed
        assert result.kept + result.new == len(result.steps)
        assert result.objective == result.cost + weight * result.dropped
        assert result.lower_bound <= result.objective
        assert weight or (result.status is Status.OPTIMAL and result.cost == optimum), seed
        relaxed += patch(replace(problem, budgets={}), remaining, weight=weight).objective < result.objective
    assert found > 6
    assert none > 1
    assert relaxed


def test_what_is_at_work_is_paid_for():
    checked = 0
    for seed in share(range(300), 4):
        rng = random.Random(seed)
        problem = limited_problem(rng, STRIPS, resources=1)
        steps = walk(problem, rng)
        if not steps or set(problem.budgets) - {COST} == set():
            continue
        simulation = Simulation(problem)
        used = simulation.uses(steps[0])
        left = {name: budget - used.get(name, 0) for name, budget in problem.budgets.items() if name != COST}
        simulation.apply(steps[0])
        after = replace(problem, initial=tuple(simulation.facts), ran=tuple(simulation.history), budgets=left)
        within = replace(problem, budgets={name: problem.budgets[name] for name in left})
        try:
            optimum = None if min(left.values()) < 0 else cheapest_within(after)
        except TooManyStates:
            continue
        result = patch(within, [], fixed=steps[:1], time_limit=None)
        assert result.cost == optimum, seed
        checked += 1
    assert checked > 9


def test_what_is_mended_keeps_the_budgets():
    kept, others, none = 0, 0, 0
    for seed in share(range(180), 3):
        rng = random.Random(seed)
        problem = limited_problem(rng, STRIPS)
        steps = walk(problem, rng)
        free = mend(replace(problem, budgets={}), steps, time_limit=None)
        found = mend(problem, steps, time_limit=None)
        if free.steps is None or validate(problem, free.steps).valid:
            kept += free.steps is not None
            assert (found.status, found.steps) == (free.status, free.steps), seed
            continue
        try:
            optimum = cheapest_within(problem)
        except TooManyStates:
            continue
        if optimum is None:
            none += 1
            assert found.status is Status.UNSOLVABLE, seed
            continue
        others += 1
        assert found.status is Status.OPTIMAL, seed
        assert validate(problem, found.steps, claimed_cost=found.cost).valid, seed
        assert found.cost >= optimum, seed
        assert len(found.left_out) >= len(free.left_out), seed
    assert kept > 10
    assert others
    assert none
