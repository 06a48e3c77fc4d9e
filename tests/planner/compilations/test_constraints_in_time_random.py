"""Constraints in time against the enumeration of all schedules, whose states remember what the constraints ask for."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from benchmarks.random_temporal import FINE, SEPARATION, random_temporal_task
from benchmarks.temporal_brute import TooManyStates, find_fewest_steps, find_least_makespan
from benchmarks.temporal_constraints import Condition, MonitoredSemantics, Watch
from planner import Result, Status, solve, validate
from planner.language.pddl import parse_domain, parse_problem
from planner.lightweight import replace
from planner.model import Problem
from planner.model.actions import Constraint, ConstraintKind, Done, Happening
from planner.model.formulas import And, Atom, Formula, Not, Or
from planner.model.problem import Metric

KINDS = {
    "always": ConstraintKind.ALWAYS,
    "sometime": ConstraintKind.SOMETIME,
    "most": ConstraintKind.AT_MOST,
    "before": ConstraintKind.BEFORE,
    "after": ConstraintKind.NEVER_AFTER,
}
MOST_STATES = 1500


def draw_condition(rng: random.Random, facts: Sequence[Any], steps: Sequence[Any], depth: int = 0) -> Condition:
    """Return a condition on one to four facts, or a pattern of `steps`."""
    chance = rng.random()
    if depth == 0 and steps and chance < 0.3:
        name, *arguments = rng.choice(steps)
        return ("step", name, *[each if rng.random() < 0.6 else "_" for each in arguments])
    if depth < 2 and chance < 0.5:
        parts = [draw_condition(rng, facts, steps, depth + 1) for _ in range(2)]
        return (rng.choice(["and", "or"]), *parts)
    fact: Condition = ("fact", rng.choice(facts))
    return ("not", fact) if rng.random() < 0.3 else fact


def draw_watches(rng: random.Random, semantics: MonitoredSemantics) -> list[Watch]:
    """Return one or two random constraints on what the actions and the known changes do."""
    moments = [each for action in semantics.actions for each in (action.start, action.end) if each is not None]
    moments += [event for _, event in semantics.events]
    facts = sorted(semantics.initial.facts.union(*[each.adds | each.deletes for each in moments]))
    steps = [action.name for action in semantics.actions]
    found = []
    for _ in range(rng.choice([1, 1, 2])):
        kind = rng.choice(["always", "sometime", "sometime", "most", "most", "before", "after"])
        what = draw_condition(rng, facts, [] if kind == "always" else steps)
        other = draw_condition(rng, facts, steps) if kind in ("before", "after") else None
        found.append(Watch(kind, what, other, rng.choice([0, 0, 1, 1, 2]) if kind == "most" else 1))
    return found


def read_happening(condition: Condition) -> Happening:
    return Done(Atom(condition[1], condition[2:])) if condition[0] == "step" else read_condition(condition)


def read_condition(condition: Condition) -> Formula:
    head, *parts = condition
    if head == "fact":
        return Atom(parts[0][0], tuple(parts[0][1:]))
    if head == "not":
        return Not(read_condition(parts[0]))
    return (And if head == "and" else Or)(tuple(map(read_condition, parts)))


def read_watch(watch: Watch, utility: Decimal | None = None) -> Constraint:
    other = None if watch.other is None else read_happening(watch.other)
    return Constraint(KINDS[watch.kind], read_happening(watch.what), other, watch.times, utility)


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
