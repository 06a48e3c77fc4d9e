"""Policies under constraints against the slow twin: value iteration over states with what has happened so far."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace

import pytest
from random_tasks import with_random_constraints, with_random_wishes
from uncertain_twin import most

from benchmarks.random_problems import Features, key_of, random_problem
from planner import Objective, Status, decide, evaluate, executions
from planner.model import Goal
from planner.policies.evaluation import Declared
from planner.semantics.constraint_monitors import ConstraintMonitors

UNCERTAIN = Features(uncertain=True, objects=3, actions=3)
LIMIT = 250


def constrained(seed, *, soft=0.0):
    rng = random.Random(seed)
    problem = with_random_constraints(random_problem(seed, UNCERTAIN), rng, UNCERTAIN, soft=soft)
    return (
        with_random_wishes(problem, rng, UNCERTAIN, most=2) if soft else replace(problem, goal=Goal(problem.goal.hard))
    )


def best(problem, objective):
    """Return the greatest success, or utility where that comes with all success; None for too many states."""
    declared = Declared(problem)
    first = declared.initial, ConstraintMonitors(declared.initial)
    numbers, queue, options = {(key_of(first[0]), first[1].key): 0}, [first], []
    for state, watches in queue:
        here = []
        options.append(here)
        if watches.broken:
            continue
        for step in state.applicable():
            shares = defaultdict(float)
            for share, after, changes in declared.ways(state, step):
                seen = watches.copy()
                if changes is not None:
                    seen.look(state, step)
                    seen.look(after)
                key = key_of(after), seen.key
                if key not in numbers:
                    numbers[key] = len(numbers)
                    queue.append((after.copy(), seen))
                shares[numbers[key]] += share
            here.append((step.cost, shares))
        if len(queue) > LIMIT:
            return None
    ends = [_worth(problem, state, watches, objective) for state, watches in queue]
    return most(options, ends)[0]


def _worth(problem, state, watches, objective):
    if watches.broken or any(watches.unmet) or not state.holds(problem.goal.hard):
        return 0.0
    if objective is Objective.SUCCESS:
        return 1.0
    lost = [wish.utility for wish in watches.forgone]
    lost += [wish.utility for wish in problem.goal.soft if not state.holds(wish.condition)]
    return float(sum(wish.utility for wish in problem.wishes) - sum(lost))


SEARCHES = [None, "vi", "lao", "mcts"]


def test_success_within_constraints_is_the_most():
    seen = partly = hopeless = 0
    for seed in range(60):
        problem = constrained(seed)
        expected = best(problem, Objective.SUCCESS)
        if expected is None:
            continue
        seen += 1
        found = decide(problem, search=SEARCHES[seed % len(SEARCHES)], time_limit=20)
        if expected == 0:
            hopeless += 1
            assert found.status is Status.UNSOLVABLE, seed
            continue
        assert found.status is Status.OPTIMAL, seed
        assert found.validated
        assert found.policy.success == pytest.approx(expected, abs=1e-6), seed
        partly += expected < 0.999
    assert seen > 30
    assert hopeless > 5
    assert partly


def test_utility_counts_constraints_that_are_wished_for():
    gained = 0
    for seed in range(200, 225):
        problem = constrained(seed, soft=0.8)
        problem = replace(problem, goal=Goal(soft=problem.goal.soft))
        hard = tuple([each for each in problem.constraints if each.utility is not None])
        problem = replace(problem, constraints=hard)
        expected = best(problem, Objective.UTILITY)
        if expected is None or not problem.wishes:
            continue
        found = decide(problem, objective=Objective.UTILITY, time_limit=20)
        assert found.policy.utility == pytest.approx(expected, abs=1e-6), seed
        assert found.validated
        gained += expected > 0
    assert gained > 3


def test_executions_are_told_how_far_constraints_are_kept():
    runs = 0
    for seed in range(40):
        problem = constrained(seed)
        found = decide(problem, search="vi", time_limit=20)
        if found.policy is None or len(found.policy) < 3:
            continue
        assert evaluate(problem, found.policy).success == pytest.approx(found.policy.success)
        reached = [run.success for run in executions(problem, found.policy, 60, seed=1)]
        assert abs(sum(reached) / 60 - found.policy.success) < 0.3
        runs += 1
    assert runs > 2
