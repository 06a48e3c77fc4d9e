"""The end of a candidate that is taken, against all ends of all candidates, each gone through.

It may cost less than these: steps of it that are not needed any more are left out.
"""

from __future__ import annotations

import random

import pytest

from benchmarks.random_problems import ALL, random_problem
from executor.events.run_state import RunState
from executor.plans.action_plan import ActionPlan, texts_of
from executor.recovery.options import Options
from executor.recovery.replanning import Candidates
from planner import k_best
from planner.lightweight import replace
from planner.plan import exact_sum
from planner.semantics.simulation import Simulation
from planner.validation.validate import validate

SEEDS = 60


def wandered(problem, dice):
    """Return the facts after some random steps, and one fact more or less."""
    simulation = Simulation(problem)
    for _ in range(dice.randrange(3)):
        steps = list(simulation.applicable())
        if steps:
            simulation.apply(dice.choice(steps))
    return tuple(simulation.facts)


def brute(now, plans, left, weight):
    """Return the least objective of all ends of `plans` that lead from `now` to the goal; None where none does."""
    found = []
    for steps in plans:
        for place in range(len(steps) + 1):
            end = steps[place:]
            if validate(now, end).valid:
                kept = 0
                while kept < min(len(end), len(left)) and _key(end[-1 - kept]) == _key(left[-1 - kept]):
                    kept += 1
                cost = exact_sum(Simulation(now).cost(each) for each in end)
                found.append(cost + weight * (len(left) - kept))
    return min(found, default=None)


def without(steps, place):
    return (*steps[:place], *steps[place + 1 :])


def _key(step):
    return step.action, step.arguments


@pytest.mark.parametrize("weight", [0, 2])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_best_end_is_taken(seed, weight):
    problem, dice = random_problem(seed, ALL), random.Random(seed)
    plans = [each.steps for each in k_best(problem, 4, time_limit=2.0).plans]
    if not plans:
        pytest.skip("there is no plan")
    now = replace(problem, initial=wandered(problem, dice))
    left = plans[0][dice.randrange(len(plans[0]) + 1) :]
    plan = ActionPlan.of(k_best(problem, 4, time_limit=2.0))
    assert plan.alternatives == texts_of(plans)
    state = RunState(problem.domain, plan, problem)
    found = Candidates(Options(state, frozenset()), weight).patch(now, left)
    least = brute(now, plans, left, weight)
    assert (found.objective is None) is (least is None)
    if found.steps is not None:
        assert found.objective <= least
        assert found.objective == found.cost + weight * found.dropped
        assert not [place for place in range(found.new) if validate(now, without(found.steps, place)).valid]
        assert validate(now, found.steps).valid
        kept = found.steps[len(found.steps) - found.kept :]
        assert list(map(_key, kept)) == list(map(_key, left[len(left) - found.kept :]))
        assert (found.new, found.dropped) == (len(found.steps) - found.kept, len(left) - found.kept)
