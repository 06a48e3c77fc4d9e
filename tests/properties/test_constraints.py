"""Constraints are a filter over plans: compiled away, in the plan checker, and in search."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from planner import Status, solve, validate
from planner.model import OPEN, ConstraintKind, Done
from planner.normalise import without_constraints
from planner.testing import (
    ALL,
    TooManyStates,
    brute_force_plan,
    random_problem,
    with_random_constraints,
)
from planner.validate import Simulation

MOST_WALKS = 60
LONGEST = 4


def constrained(seed, features=ALL):
    rng = random.Random(seed)
    return with_random_constraints(random_problem(rng, features), rng, features)


def walks(problem, twins):
    """Yield the first sequences of steps, with the states that they go through, and where they lead in `twins`.

    A twin that does not take a step is None from there on.
    """
    start = (), [Simulation(problem)], [Simulation(twin) for twin in twins]
    queue = [start]
    for steps, states, others in queue:
        yield steps, states, others
        if len(steps) < LONGEST and len(queue) < MOST_WALKS:
            for step in states[-1].applicable():
                moved = [after(other, step) for other in others]
                queue.append(((*steps, step), [*states, after(states[-1], step)], moved))


def after(state, step):
    if state is None or state.objection(step):
        return None
    found = state.copy()
    found.apply(step)
    return found


def happenings(what, steps, states):
    """Return the times at which `what` happens: state i is at time 2 i, step k at 2 k - 1."""
    if isinstance(what, Done):
        return [2 * place + 1 for place, step in enumerate(steps) if is_covered(step, what.action)]
    return [2 * place for place, state in enumerate(states) if state.holds(what)]


def is_covered(step, pattern):
    return step.action == pattern.predicate and all(
        mine in (OPEN, other) for mine, other in zip(pattern.args, step.arguments, strict=True)
    )


def is_kept(constraint, steps, states):
    """Return whether the constraint is kept, as its definition says."""
    what = happenings(constraint.what, steps, states)
    other = happenings(constraint.other, steps, states) if constraint.other is not None else []
    match constraint.kind:
        case ConstraintKind.ALWAYS:
            return len(what) == len(states)
        case ConstraintKind.SOMETIME:
            return len(what) > 0
        case ConstraintKind.AT_MOST if isinstance(constraint.what, Done):
            return len(what) <= constraint.times
        case ConstraintKind.AT_MOST:
            return len([time for time in what if time - 2 not in what]) <= constraint.times
        case ConstraintKind.BEFORE:
            return all(any(early < late for early in what) for late in other)
        case ConstraintKind.NEVER_AFTER:
            return not any(late > early for late in what for early in other)


@pytest.mark.parametrize("block", range(5))
def test_a_compiled_constraint_and_the_plan_checker_filter_plans(block):
    kept = broken = 0
    for seed in range(60 * block, 60 * block + 60):
        problem = constrained(seed)
        compiled = [without_constraints(problem, plainly=plainly) for plainly in (False, True)]
        for steps, states, others in walks(problem, compiled):
            if states[-1].holds(problem.goal.hard):
                expected = all(is_kept(each, steps, states) for each in problem.constraints)
                kept, broken = kept + expected, broken + (not expected)
                assert validate(problem, steps).valid is expected, seed
                found = [
                    state is not None and state.holds(twin.goal.hard)
                    for state, twin in zip(others, compiled, strict=True)
                ]
                assert found == [expected, expected], seed
    assert kept > 50 < broken


@pytest.mark.parametrize("block", range(6))
def test_the_best_plan_is_the_cheapest_that_keeps_the_constraints(block):
    costs = []
    for seed in range(60 * block, 60 * block + 60):
        problem = constrained(seed)
        try:
            expected = brute_force_plan(problem, max_states=150)
        except TooManyStates:
            continue
        result = solve(problem, time_limit=None)
        if expected is None:
            assert result.status is Status.UNSOLVABLE, seed
        else:
            assert (result.status, result.cost) == (Status.OPTIMAL, expected.cost), seed
        free = solve(replace(problem, constraints=()), time_limit=None)
        costs.append((result.cost, free.cost))
    assert len(costs) > 50
    assert {dearer is None for dearer, free in costs if free is not None} == {True, False}
    assert any(dearer > free for dearer, free in costs if dearer is not None)
