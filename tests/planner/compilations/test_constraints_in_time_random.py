"""Constraints in time against the enumeration of all schedules, whose states remember what the constraints ask for."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import pytest
from constraints_in_time import draw_watches, read_watch

from benchmarks.random_temporal import FINE, SEPARATION, random_temporal_task
from benchmarks.temporal_brute import TooManyStates, find_fewest_steps, find_least_makespan
from benchmarks.temporal_constraints import MonitoredSemantics, Watch
from planner import Result, Status, solve, validate
from planner.language.pddl import parse_domain, parse_problem
from planner.lightweight import replace
from planner.model import Problem
from planner.model.problem import Metric

MOST_STATES = 1500


def draw(seed: int) -> tuple[Problem, tuple[str, str], list[Watch]]:
    """Return a random problem, its text with a unit of one tick, and constraints for it."""
    task = random_temporal_task(seed, FINE)
    units = task.write(Fraction(1))
    watches = draw_watches(random.Random(seed), MonitoredSemantics(*units, 1, []))
    domain, text = task.write()
    return parse_problem(text, parse_domain(domain)), units, watches


def compare(problem: Problem, result: Result, truth: Fraction | None, seed: int) -> str:
    """Return what was found; fail where it is wrong."""
    assert result.status is not Status.UNSUPPORTED, (seed, result.reason)
    if result.plan is not None:
        verdict = validate(problem, result.plan)
        assert verdict.valid, (seed, verdict.reason)
        assert truth is not None, seed
        assert Fraction(result.plan.charge) >= truth, seed
    if result.status is Status.OPTIMAL:
        assert Fraction(result.expect_plan().charge) == truth, seed
    if truth is not None:
        assert result.status is not Status.UNSOLVABLE, seed
        assert result.lower_bound is None or Fraction(result.lower_bound) <= truth, seed
    return result.status.name


def compare_hard(seed: int, *, by_length: bool) -> str:
    problem, units, watches = draw(seed)
    problem = replace(problem, constraints=tuple(map(read_watch, watches)))
    problem = replace(problem, metric=Metric.LENGTH) if by_length else problem
    semantics = MonitoredSemantics(*units, 1, watches)
    try:
        truth = (find_fewest_steps if by_length else find_least_makespan)(semantics, MOST_STATES)
    except TooManyStates:
        return "too many"
    exact = None if truth is None else truth * (Fraction(1) if by_length else SEPARATION)
    return compare(problem, solve(problem, mode="optimal", time_limit=2), exact, seed)


def subsets(watches: Sequence[Watch]) -> Iterable[tuple[Watch, ...]]:
    return [each for count in range(len(watches) + 1) for each in combinations(watches, count)]


def compare_soft(seed: int) -> str:
    problem, units, watches = draw(seed)
    rng = random.Random(seed)
    prices = [rng.randint(1, 6) for _ in watches]
    utilities = [price * Decimal("0.001") for price in prices]
    constraints = [read_watch(each, worth) for each, worth in zip(watches, utilities, strict=True)]
    problem = replace(problem, constraints=tuple(constraints))
    charges = []
    try:
        for kept in subsets(watches):
            least = find_least_makespan(MonitoredSemantics(*units, 1, kept), MOST_STATES)
            lost = sum(price for watch, price in zip(watches, prices, strict=True) if watch not in kept)
            charges += [] if least is None else [least + lost]
    except TooManyStates:
        return "too many"
    truth = min(charges) * SEPARATION if charges else None
    return compare(problem, solve(problem, mode="optimal", time_limit=2), truth, seed)


@pytest.mark.parametrize("block", range(36))
def test_what_is_said_of_constraints_in_time_holds(block: int) -> None:
    found = Counter(compare_hard(seed, by_length=False) for seed in range(20 * block, 20 * block + 20))
    assert found["OPTIMAL"] + found["UNSOLVABLE"] > found["SOLVED"] + found["UNKNOWN"]


@pytest.mark.parametrize("block", range(24))
def test_what_is_said_of_the_fewest_steps_holds(block: int) -> None:
    found = Counter(compare_hard(seed, by_length=True) for seed in range(2000 + 15 * block, 2015 + 15 * block))
    assert found["OPTIMAL"] + found["UNSOLVABLE"] > found["SOLVED"] + found["UNKNOWN"]


@pytest.mark.parametrize("block", range(24))
def test_what_is_said_of_soft_constraints_in_time_holds(block: int) -> None:
    found = Counter(compare_soft(seed) for seed in range(3000 + 15 * block, 3015 + 15 * block))
    assert found["OPTIMAL"] > 0
