"""Constraints that compare numbers: shortest plans are those of trying every plan, and what they mean is checked."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from constraint_twin import is_kept
from numeric_problems import random_numeric_problem

from planner import Domain, Status, always, before, never, never_after, solve, sometime
from planner.errors import ForethoughtError
from planner.model import Comparison, Constraint, ConstraintKind, Metric, Not
from planner.semantics.simulation import Simulation
from planner.solve import SolveOptions, answer
from planner.validation.validate import check_steps

LONGEST = 3
MOST_PATHS = 300


class TooManyPaths(Exception):
    """There are more plans than the caller wanted to look at."""


def paths(problem):
    """Yield the steps and the states of each path of up to `LONGEST` steps, shorter ones first."""
    queue = [((), (Simulation(problem),))]
    for steps, states in queue:
        yield steps, states
        if len(steps) < LONGEST:
            for step in list(states[-1].applicable()):
                after = states[-1].copy()
                after.apply(step)
                queue.append(((*steps, step), (*states, after)))
        if len(queue) > MOST_PATHS:
            raise TooManyPaths


def constrained(seed):
    """Return a random problem with one or two constraints that compare numbers."""
    rng, problem = random.Random(seed), random_numeric_problem(seed)
    terms = sorted(problem.values, key=str)

    def condition():
        found = Comparison(rng.choice(terms), rng.choice(["<", "<=", "=", ">=", ">"]), rng.randint(-1, 4))
        return Not(found) if rng.random() < 0.3 else found

    def constraint():
        kind = rng.choice(list(ConstraintKind))
        related = kind in (ConstraintKind.BEFORE, ConstraintKind.NEVER_AFTER)
        return Constraint(kind, condition(), condition() if related else None, times=rng.randint(0, 2))

    return replace(problem, metric=Metric.LENGTH, constraints=tuple([constraint() for _ in range(rng.randint(1, 2))]))


def test_shortest_plans_are_those_of_trying_all():
    solved = hindered = 0
    for seed in range(70):
        try:
            problem = constrained(seed)
            free, found = None, None
            for steps, states in paths(problem):
                reached = states[-1].holds(problem.goal.hard)
                free = len(steps) if reached and free is None else free
                kept = all(is_kept(each, steps, states) for each in problem.constraints)
                found = len(steps) if reached and kept and found is None else found
        except (TooManyPaths, ForethoughtError, IndexError):
            continue
        result = answer(problem, SolveOptions(time_limit=3))
        if result.plan is not None:
            assert check_steps(problem, result.plan).valid, seed
        if found is None:
            assert result.plan is None or len(result.plan) > LONGEST, seed
            hindered += free is not None
        elif result.status is not Status.UNSUPPORTED:
            assert (result.status, len(result.plan or ())) == (Status.OPTIMAL, found), seed
            solved += 1
            hindered += found != free
    assert solved > 5 < hindered


def tank(constraints, **more):
    """Return the problem to get 9 units into a tank that has 3, by 2 units or, at twice the cost, by 3."""
    domain = Domain("tank")
    domain.function("level", low=0, high=12)
    domain.action("add", modifies=["level += 2"])
    domain.action("pour", modifies=["level += 3"], cost=2)
    domain.action("drain", modifies=["level -= 1"])
    return domain.problem(initial=["level = 3"], goal=["level >= 9"], constraints=constraints, **more)


@pytest.mark.parametrize(
    ("constraint", "cost"),
    [
        (always("level <= 9"), 3),
        (always("level <= 8"), None),
        (sometime("level == 8"), 4),
        (never("level == 7"), 4),
        (never_after("level == 7", "level == 5"), 4),
        (before("level <= 2", "level >= 8"), 5),
    ],
)
def test_constraints_on_a_level(constraint, cost):
    found = solve(tank([constraint]))
    assert found.cost == cost
    assert found.status is (Status.UNSOLVABLE if cost is None else Status.OPTIMAL)
