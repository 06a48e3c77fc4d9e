"""Planning in time: required concurrency, windows, deadlines, bounds and proofs."""

from __future__ import annotations

from threading import Event

import pytest
from timed_domains import letters

from planner import Domain, Result, Status, solve, validate
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.plan_files import read_plan
from planner.lightweight import replace
from planner.limits import LimitReached
from planner.model import Atom, GoalDeadline, Problem
from planner.options import SolveOptions
from planner.plan import Step
from planner.portfolio.timed_incumbent import TimedIncumbent
from planner.semantics.snap_actions import make_snap_problem

WRITTEN = Atom("written", ("letter1",))


def solve_valid(problem: Problem, mode: str = "anytime") -> Result:
    result = solve(problem, mode=mode, time_limit=2)
    if result.plan is not None:
        assert validate(problem, result.plan).valid
    return result


def test_writing_overlaps_with_the_light_that_it_needs() -> None:
    result = solve_valid(letters((9, 12)))
    assert (result.status, result.cost) == (Status.OPTIMAL, 10)


def test_a_deadline_of_a_goal_puts_its_step_first() -> None:
    problem = letters((24, 12, 30), desks=2)
    for by in (15, 5):
        timely = replace(problem, due=(GoalDeadline(WRITTEN, by),))
        plan = solve_valid(timely).expect_plan()
        ends = {str(step): time.end for step, time in zip(plan.steps, plan.times, strict=True)}
        assert min(end for name, end in ends.items() if name.startswith("write(letter1")) <= by
    late = solve_valid(replace(problem, due=(GoalDeadline(WRITTEN, 3),)))
    assert late.status is Status.UNSOLVABLE
    assert late.reason == "no plan reaches written(letter1) before 4 s, and it is due by 3 s"


def test_a_deadline_of_a_goal_adds_nothing_to_the_bound() -> None:
    problem = replace(letters((9, 12)), due=(GoalDeadline(WRITTEN, 15),))
    result = solve_valid(problem)
    assert (result.status, result.lower_bound) == (Status.OPTIMAL, result.expect_plan().makespan)


def test_the_deadline_of_a_plan_limits_its_makespan() -> None:
    problem = letters((9, 12, 30), desks=2)
    plan = solve_valid(replace(problem, deadline=25)).expect_plan()
    assert plan.makespan is not None
    assert plan.makespan <= 25
    assert solve_valid(replace(problem, deadline=9)).status is Status.UNSOLVABLE


def test_lateness_has_its_price() -> None:
    problem = replace(letters((9, 12)), due=(GoalDeadline(WRITTEN, 1, weight=2),))
    plan = solve_valid(problem).expect_plan()
    first = next(time.end for step, time in zip(plan.steps, plan.times, strict=True) if step.arguments[0] == "letter1")
    assert plan.cost == plan.makespan + 2 * (first - 1)


def test_a_goal_that_comes_by_itself_needs_no_step() -> None:
    problem = letters((9,), goal="written", timed="(at 3 (written letter0))")
    result = solve_valid(problem)
    assert (result.status, result.expect_plan().steps) == (Status.OPTIMAL, ())


def test_what_is_never_there_is_proved_to_be_out_of_reach() -> None:
    assert solve_valid(letters((9,), goal="posted")).status is Status.UNSOLVABLE


def test_the_first_plan_is_enough_where_no_more_is_asked_for() -> None:
    result = solve_valid(letters((9, 12, 30), desks=2), "first")
    assert result.has_plan


def test_a_first_plan_that_no_other_search_finds_comes_of_the_proof() -> None:
    domain = parse_domain(LAMP)
    problem = parse_problem(
        "(define (problem lit) (:domain lamp) (:init (ready) (at 2 (not (on)))) (:goal (on)))", domain
    )
    assert solve_valid(problem, "first").cost == solve_valid(problem, "optimal").cost


LAMP = """
(define (domain lamp)
  (:requirements :durative-actions :timed-initial-literals)
  (:predicates (on) (ready))
  (:durative-action press
    :parameters () :duration (= ?duration 2)
    :condition ()
    :effect (and (at start (not (ready))) (at end (on)) (at end (not (ready))))))
"""


def test_steps_that_start_for_each_other_are_not_proved_impossible() -> None:
    problem = parse_problem(
        "(define (problem both) (:domain hands) (:init) (:goal (and (up left) (up right))))", parse_domain(HANDS)
    )
    text = "0.000: (raise left right) [2.000]\n0.000: (raise right left) [2.000]\n"
    assert validate(problem, read_plan(text, problem)).valid
    assert solve_valid(problem).status is not Status.UNSOLVABLE


HANDS = """
(define (domain hands)
  (:requirements :typing :durative-actions)
  (:constants left right - object)
  (:predicates (moving ?h) (up ?h))
  (:durative-action raise
    :parameters (?h ?other) :duration (= ?duration 2)
    :condition (over all (moving ?other))
    :effect (and (at start (moving ?h)) (at end (up ?h)))))
"""


def test_a_proof_is_found_where_the_critical_path_is_too_low() -> None:
    problem = letters((9, 12, 30), desks=2)
    result = solve_valid(problem, "optimal")
    assert (result.status, str(result.cost)) == (Status.OPTIMAL, "17.002")


def test_times_too_far_ahead_are_refused_by_name() -> None:
    far = Domain("far")
    far.action("go", provides="done", duration=10, throughout="open")
    soon, late = [
        far.problem(windows={"open": f"{begin}..{begin + 100}"}, goal=["done"], objective="makespan")
        for begin in (10**8, 10**11)
    ]
    assert solve_valid(soon).expect_plan().makespan == 10**8 + 10
    result = solve(late)
    assert result.plan is None
    assert "the time 100000000000 s, beyond 549755813 s" in str(result)


def test_the_schedule_of_a_long_sequence_heeds_the_limits() -> None:
    domain = """(define (domain tanks) (:requirements :durative-actions :fluents)
      (:functions (level))
      (:durative-action fill :parameters () :duration (= ?duration 1)
        :condition () :effect (at end (increase (level) 1))))"""
    text = "(define (problem p) (:domain tanks) (:init (= (level) 0)) (:goal (>= (level) 40)))"
    problem = parse_problem(text, parse_domain(domain))
    cancel = Event()
    best = TimedIncumbent(problem, make_snap_problem(problem), SolveOptions(cancel=cancel))
    best.take_sequence([Step("fill")] * 40)
    assert best.plan is not None
    assert validate(problem, best.plan).valid
    cancel.set()
    with pytest.raises(LimitReached):
        best.take_sequence([Step("fill")] * 41)
