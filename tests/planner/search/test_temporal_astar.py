"""A* for the least makespan: proofs against the enumeration of all schedules, and where decision epochs are enough."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from timed_domains import letters

from benchmarks.random_temporal import FINE, RANGED, SEPARATION, TemporalFeatures, random_temporal_task
from benchmarks.temporal_brute import TooManyStates, find_least_makespan
from benchmarks.temporal_semantics import TemporalSemantics
from planner.grounding.ground_temporal import ground_temporal
from planner.language.pddl import parse_domain, parse_problem
from planner.limits import Limits
from planner.model import Problem
from planner.search.search_run import Run
from planner.search.temporal_astar import TemporalAstar, TimedAction, schedule_trace
from planner.search.temporal_happenings import HappeningRules, work_out_rules
from planner.semantics import durations
from planner.semantics.snap_actions import make_snap_problem


def told(problem: Problem) -> HappeningRules | None:
    snap = make_snap_problem(problem)
    task = ground_temporal(problem, snap, Limits())
    if task.source.task.unreachable_goal is not None:
        return None
    work = work_out_rules(problem, snap, task)
    while True:
        try:
            next(work)
        except StopIteration as end:
            rules: HappeningRules | None = end.value
            return rules


def prove(rules: HappeningRules, pauses: int = 20) -> tuple[TemporalAstar, list[TimedAction]]:
    """Search for some pauses; return the search and the steps of the plan that it finds."""
    found: list[TimedAction] = []
    separation = int(durations.SEPARATION * rules.task.resolution)
    search = TemporalAstar(rules, separation, lambda trace, _: found.extend(schedule_trace(rules, trace)))
    for number, _ in enumerate(search.steps(Run()), start=1):
        if number == pauses:
            break
    return search, found


def compare(seed: int, features: TemporalFeatures, outcomes: Counter[str], most_states: int = 2000) -> None:
    task = random_temporal_task(seed, features)
    try:
        truth = find_least_makespan(TemporalSemantics(*task.write(Fraction(1)), 1), most_states)
    except TooManyStates:
        return
    domain, text = task.write()
    rules = told(parse_problem(text, parse_domain(domain)))
    if rules is None:
        return
    search, steps = prove(rules)
    if not search.is_complete:
        outcomes["given up"] += 1
        return
    outcomes["epochs" if search.is_fixed else "networks"] += 1
    assert search.found is None if truth is None else search.found is not None, seed
    if search.found is not None and truth is not None:
        assert search.found == truth * SEPARATION * rules.task.resolution, seed
        assert max([step.end for step in steps], default=0) == search.found, seed


@pytest.mark.parametrize("block", range(9))
def test_proofs_agree_with_the_enumeration_of_all_schedules(block: int) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(5000 + 20 * block, 5020 + 20 * block):
        compare(seed, FINE, outcomes)
    for seed in range(6000 + 4 * block, 6004 + 4 * block):
        compare(seed, RANGED, outcomes, 300)
    assert outcomes["epochs"] + outcomes["networks"] > 10 * outcomes["given up"]
    assert outcomes["epochs"] > 0
    assert outcomes["networks"] > 0


def test_decision_epochs_are_enough_where_no_end_may_have_to_wait() -> None:
    lamp = told(letters((9, 12)))
    assert lamp is not None
    assert lamp.may_wait  # light ends no sooner than what is written by it
    workshop = told(read(JOBS, "(job a) (job b) (free m) (free n)", "(and (done a n) (done b n))"))
    assert workshop is not None
    assert not workshop.may_wait


JOBS = """
(define (domain jobs)
  (:requirements :typing :durative-actions)
  (:constants a b m n)
  (:predicates (job ?j) (free ?m) (done ?j ?m) (before ?m ?n))
  (:durative-action first
    :parameters (?j) :duration (= ?duration 3)
    :condition (and (at start (job ?j)) (at start (free m)))
    :effect (and (at start (not (job ?j))) (at start (not (free m))) (at end (free m)) (at end (done ?j m))))
  (:durative-action second
    :parameters (?j) :duration (= ?duration 4)
    :condition (and (at start (done ?j m)) (at start (free n)))
    :effect (and (at start (not (done ?j m))) (at start (not (free n))) (at end (free n)) (at end (done ?j n)))))
"""


def read(domain: str, facts: str, goal: str) -> Problem:
    text = f"(define (problem p) (:domain jobs) (:init {facts}) (:goal {goal}) (:metric minimize (total-time)))"
    return parse_problem(text, parse_domain(domain))


LEVEL = """
(define (domain jobs)
  (:requirements :durative-actions :numeric-fluents)
  (:predicates (raised) (closed) (lit) (open))
  (:functions (level))
  (:durative-action light
    :parameters () :duration (= ?duration 0.004)
    :condition (over all (>= (level) 1))
    :effect (at end (lit)))
  (:durative-action raise
    :parameters () :duration (= ?duration 0.001)
    :condition (at start (open))
    :effect (and (at start (not (open))) (at start (assign (level) 1)) (at end (closed)))))
"""


def test_a_number_that_a_step_needs_throughout_may_be_set_as_it_starts() -> None:
    rules = told(read(LEVEL, "(open) (= (level) 0)", "(and (lit) (closed))"))
    assert rules is not None
    search, steps = prove(rules)
    assert search.is_complete
    assert search.found == 4
    assert sorted((step.start, step.end) for step in steps) == [(0, 1), (0, 4)]


def test_a_change_at_a_known_time_that_nobody_needs_still_keeps_its_distance() -> None:
    rules = told(read(LEVEL, "(open) (= (level) 1) (at 0.004 (not (lit))) (at 0.001 (not (open)))", "(closed)"))
    assert rules is not None
    search, steps = prove(rules)
    assert search.is_complete
    assert [(step.start, step.end) for step in steps] == [(0, 1)]  # the change at 0.001 touches only the start
    shut = LEVEL.replace("(at end (closed))", "(at end (closed)) (at end (not (lit)))")
    rules = told(read(shut, "(open) (= (level) 1) (at 0.001 (lit))", "(closed)"))
    assert rules is not None
    search, steps = prove(rules)
    assert search.is_complete
    assert [(step.start, step.end) for step in steps] == [(1, 2)]  # at 0.001 both would write what nobody reads


def test_separations_add_up() -> None:
    rules = told(read(JOBS, "(job a) (job b) (free m) (free n)", "(and (done a n) (done b n))"))
    assert rules is not None
    search, _ = prove(rules)
    assert search.found is not None
    assert Fraction(search.found, rules.task.resolution) == Fraction("11.002")


def test_a_deadline_that_no_plan_meets_is_proved() -> None:
    rules = told(read(JOBS, "(job a) (job b) (free m) (free n)", "(and (done a n) (done b n))"))
    assert rules is not None
    search = TemporalAstar(rules, 1, lambda *_: None, limit=11_002)
    assert list(search.steps(Run())) is not None
    assert search.is_complete
    assert search.found is None
