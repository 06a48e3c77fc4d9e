"""Candidates of random problems with numbers, against all plans of a few steps that have no step to spare."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

import pytest
from numeric_problems import random_numeric_problem

from planner.errors import InputError, PlanError, UnsupportedError
from planner.model import Number, Problem
from planner.plan import Step
from planner.semantics.simulation import Simulation
from planner.topk.candidates import candidates

BLOCK = 30
"""Random problems of one test."""
STEPS = 4
"""Most steps of the plans that are compared."""
MOST_SEQUENCES = 1_500
"""Most sequences of steps that are simulated for one problem."""

Names = tuple[tuple[str, tuple[str, ...]], ...]


class TooManySequences(Exception):
    """There are more sequences of steps than the test looks at."""


def find_plans(problem: Problem) -> dict[Names, Number]:
    """Return the plans of few steps, none of which may be left out, with their costs."""
    plans: dict[Names, Number] = {}
    waiting: list[tuple[Simulation, tuple[Step, ...]]] = [(Simulation(problem), ())]
    for count, (simulation, steps) in enumerate(waiting):
        if count > MOST_SEQUENCES:
            raise TooManySequences
        if simulation.holds(problem.goal.hard):
            plans[names_of(steps)] = sum([step.cost for step in steps])
        elif len(steps) < STEPS:
            for step in list(simulation.applicable()):
                after = simulation.copy()
                after.apply(step)
                waiting.append((after, (*steps, step)))
    return {plan: cost for plan, cost in plans.items() if not any(part in plans for part in parts_of(plan))}


def names_of(steps: tuple[Step, ...]) -> Names:
    return tuple([(step.action, step.arguments) for step in steps])


def parts_of(plan: Names) -> Iterator[Names]:
    for length in range(len(plan)):
        yield from combinations(plan, length)


@pytest.mark.parametrize("block", range(15))
def test_candidates_are_all_plans_without_a_step_to_spare(block: int) -> None:
    compared = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        problem = random_numeric_problem(seed)
        try:
            found = candidates(problem, orders=True, time_limit=None)
        except InputError:  # effects that exclude each other, or a division by 0
            continue
        try:
            plans = list(islice(found, 200))
            expected = find_plans(problem)
        except (UnsupportedError, TooManySequences, PlanError):  # PlanError: a cost that is no decimal
            continue
        costs = {names_of(plan.steps): plan.cost for plan in plans}
        assert len(costs) == len(plans), seed
        limit = float("inf") if found.stopped_by is not None else plans[-1].cost
        assert list(costs.values()) == sorted(costs.values()), seed
        listed = {plan: cost for plan, cost in costs.items() if len(plan) <= STEPS and cost < limit}
        assert listed == {plan: cost for plan, cost in expected.items() if cost < limit}, seed
        compared += 1
    assert compared >= 2
