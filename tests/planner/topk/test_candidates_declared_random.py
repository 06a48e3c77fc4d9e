"""Candidates of declared problems, constraints, wishes and budgets included, against sequences of declared steps."""

from __future__ import annotations

import heapq
import random
from dataclasses import replace
from itertools import combinations, count, islice

import pytest
from budget_twins import limited_problem
from effort import share
from random_tasks import with_random_constraints, with_random_wishes

from benchmarks.random_problems import ALL, random_problem
from planner import candidates
from planner.compilations.driver import value_plan
from planner.plan import Plan
from planner.semantics.simulation import Simulation
from planner.validation.validate import make_checker

SEQUENCES = 80
PLAIN = replace(ALL, axioms=False)


def wishful(rng):
    problem = with_random_constraints(random_problem(rng, PLAIN), rng, PLAIN, soft=0.5)
    return with_random_wishes(problem, rng, PLAIN)


KINDS = {
    "plain": random_problem,
    "constraints": lambda rng: with_random_constraints(random_problem(rng, PLAIN), rng, PLAIN),
    "constraints on derived facts": lambda rng: with_random_constraints(random_problem(rng, ALL), rng, ALL),
    "wishes": wishful,
    "budgets": lambda rng: limited_problem(rng, ALL, 2),
}


def sequences(problem):
    """Yield sequences of steps by cost, with their costs."""
    ticket = count()
    heap = [(0, next(ticket), Simulation(problem), ())]
    while heap:
        cost, _, state, steps = heapq.heappop(heap)
        yield cost, steps
        for step in state.applicable():
            after = state.copy()
            after.apply(step)
            heapq.heappush(heap, (cost + step.cost, next(ticket), after, (*steps, step)))


def is_wasteful(plan, check):
    """Whether some steps can be left out, and the rest is a plan that does without no more."""
    forgone = set(check(plan).forgone)
    rests = (rest for size in range(len(plan)) for rest in combinations(plan.steps, size))
    verdicts = (check(replace(plan, steps=rest)) for rest in rests)
    return any(verdict.valid and forgone.issuperset(verdict.forgone) for verdict in verdicts)


def expected(problem):
    """All plans, and what they charge, that charge less than the last sequence costs."""
    found, bound, check = [], 0, make_checker(problem)
    for bound, steps in islice(sequences(problem), SEQUENCES):  # noqa: B007 - the last one counts
        plan = Plan(steps, problem)
        verdict = check(plan)
        if verdict.valid and not is_wasteful(plan, check):
            found.append((value_plan(plan, verdict).charge, steps))
    return [each for each in found if each[0] < bound]


@pytest.mark.parametrize("kind", KINDS)
def test_candidates_are_the_sequences_that_are_plans(kind):
    several = 0
    for seed in range(20):
        problem = KINDS[kind](random.Random(seed))
        wanted = expected(problem)
        found = [*islice(candidates(problem, orders=True, time_limit=None), len(wanted))]
        assert [plan.charge for plan in found] == sorted(charge for charge, _ in wanted), seed
        assert {plan.steps for plan in found} == {steps for _, steps in wanted}, seed
        assert all(plan.problem is problem for plan in found)
        several += len(found) > 1
    assert several > 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_factor_counts_from_the_cheapest_that_keeps_all(kind):
    for seed in share(range(12), 4):
        problem = KINDS[kind](random.Random(seed))
        wanted = expected(problem)
        if not wanted:
            continue
        most = 1.5 * float(min(charge for charge, _ in wanted))
        near = {steps for charge, steps in wanted if charge <= most}
        found = [*islice(candidates(problem, within=1.5, orders=True, time_limit=None), len(near))]
        assert {plan.steps for plan in found} == near, seed


@pytest.mark.parametrize("kind", KINDS)
def test_one_order_stands_for_all_that_neighbours_who_commute_give(kind):
    for seed in share(range(12), 4):
        problem = KINDS[kind](random.Random(seed))
        every = {steps for _, steps in expected(problem)}
        found, plans = set(), candidates(problem, time_limit=None)
        while closure(found, every) < every:
            found.add(next(plans).steps)
            assert found <= every


def closure(found, every):
    """What `found` becomes when neighbours change places, as long as that gives one of `every`."""
    reached, waiting = set(found), list(found)
    while waiting:
        steps = waiting.pop()
        for place in range(len(steps) - 1):
            other = (*steps[:place], steps[place + 1], steps[place], *steps[place + 2 :])
            if other in every and other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached
