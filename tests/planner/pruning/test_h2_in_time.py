"""h² over the happenings of plans in time, against the enumeration of all schedules."""

from __future__ import annotations

from fractions import Fraction

import pytest

from benchmarks.random_temporal import COARSE, FINE, random_temporal_task
from benchmarks.temporal_brute import TooManyStates, find_fewest_steps
from benchmarks.temporal_semantics import TemporalSemantics
from planner import Problem, Status, solve, validate
from planner.grounding.ground_temporal import ground_temporal
from planner.jit import library
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.plan_files import read_plan
from planner.limits import Limits
from planner.pruning.h2_in_time import exclude_plans
from planner.semantics.snap_actions import make_snap_problem

HEAD = """
(define (domain works) (:requirements :durative-actions :negative-preconditions :fluents)
  (:predicates (open) (closed) (part) (first) (second)) (:functions (stock))
"""
CLOSE = "(:action close :precondition (open) :effect (and (not (open)) (closed)))"
FIRST = "(:action use-first :precondition (part) :effect (and (not (part)) (first)))"
SECOND = "(:action use-second :precondition (and (part) (first)) :effect (second))"
MAKE = """
(:durative-action make :parameters () :duration (= ?duration 10)
  :condition (and (at start (open)) {more} (at end (closed)))
  :effect (and {taken} (at end (part))))
"""
FREE = MAKE.format(more="", taken="")
LAST_STOCK = MAKE.format(more="(at start (>= (stock) 1))", taken="(at start (decrease (stock) 1))")
ONE_AT_A_TIME = MAKE.format(more="", taken="(at start (not (open)))")


def works(*actions: str, stock: int = 2) -> Problem:
    text = f"(define (problem p) (:domain works) (:init (open) (= (stock) {stock})) (:goal (second)))"
    return parse_problem(text, parse_domain(HEAD + "\n".join(actions) + ")"))


def is_excluded(problem: Problem, *, compiled: bool = True) -> bool:
    steps = exclude_plans(
        ground_temporal(problem, make_snap_problem(problem), Limits()), library.load_or_plain() if compiled else None
    )
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return bool(ended.value)


@pytest.mark.parametrize("make", [FREE, LAST_STOCK])
def test_a_step_that_overlaps_itself_ends_twice(make: str) -> None:
    problem = works(make, CLOSE, FIRST, SECOND)
    steps = "0: (make) [10]\n1: (make) [10]\n2: (close)\n10.5: (use-first)\n11.5: (use-second)\n"
    assert validate(problem, read_plan(steps, problem)).valid
    assert not is_excluded(problem)


def test_what_is_taken_and_never_given_back_serves_once() -> None:
    problem = works(ONE_AT_A_TIME, CLOSE.replace(":precondition (open)", ":precondition (not (open))"), FIRST, SECOND)
    assert is_excluded(problem)
    assert is_excluded(problem, compiled=False)
    result = solve(problem, time_limit=20)
    assert result.status is Status.UNSOLVABLE
    assert "no sequence of happenings" in result.reason


def test_numbers_are_left_out() -> None:
    assert not is_excluded(works(LAST_STOCK, CLOSE, FIRST, SECOND, stock=0))


def test_no_plan_is_excluded() -> None:
    excluded = 0
    for seed in range(400):
        task = random_temporal_task(seed, COARSE if seed % 3 else FINE)
        domain, text = task.write()
        problem = parse_problem(text, parse_domain(domain))
        grounded = ground_temporal(problem, make_snap_problem(problem), Limits())
        if grounded.source.task.unreachable_goal is not None or not is_excluded(problem):
            continue
        excluded += 1
        assert solve(problem, mode="first", time_limit=2).plan is None
        try:
            semantics = TemporalSemantics(*task.write(Fraction(1)), 1 if seed % 3 == 0 else 16)
            assert find_fewest_steps(semantics, 2_000) is None
        except TooManyStates:
            continue
    assert excluded > 3
