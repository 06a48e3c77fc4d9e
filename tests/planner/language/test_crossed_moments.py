"""PDDL's effects at the end of a durative action under conditions about its start."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from planner import Limits, UnsupportedError, check_problem, solve, validate
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import export
from planner.model import Problem
from planner.plan import Step, StepTime
from planner.validation.timed_replay import TimedReplay

DOMAIN = """(define (domain ovens) (:requirements :durative-actions :typing :adl)
 (:types dish) (:predicates (hot) (wet ?x - dish) (crisp ?x - dish) (done))
 (:durative-action roast :parameters () :duration (= ?duration 3) :condition () :effect EFFECT)
 (:durative-action heat :parameters () :duration (= ?duration 1) :condition ()
  :effect (and (at start (hot)) (at end (not (hot)))))
 (:durative-action soak :parameters (?x - dish) :duration (= ?duration 1) :condition () :effect (at end (wet ?x))))"""
PROBLEM = """(define (problem one) (:domain ovens) (:objects a b - dish) (:init (wet a)) (:goal (and GOAL))
 (:metric minimize (total-time)))"""

SIMPLE = "(when (at start (hot)) (at end (done)))"
FOR_ALL = "(forall (?x - dish) (when (at start (wet ?x)) (and (at end (crisp ?x)) (at end (not (wet ?x))))))"
BOTH = "(when (and (at start (hot)) (at end (not (hot)))) (at end (done)))"


def oven(effect: str, goal: str) -> Problem:
    return parse_problem(PROBLEM.replace("GOAL", goal), parse_domain(DOMAIN.replace("EFFECT", effect)))


def accept(problem: Problem, *steps: tuple[str, Any, Any]) -> bool:
    named = [Step(name.split()[0], tuple(name.split()[1:])) for name, _, _ in steps]
    times = [StepTime(Decimal(str(start)), duration) for _, start, duration in steps]
    return TimedReplay(problem, named, times).judge(None).valid


def test_what_held_at_the_start_counts() -> None:
    problem = oven(SIMPLE, "(done)")
    assert accept(problem, ("heat", 0, 1), ("roast", 0.5, 3))
    assert not accept(problem, ("roast", 0, 3), ("heat", 2.5, 1))
    assert accept(problem, ("heat", 0, 1), ("roast", 0.5, 3), ("roast", 4, 3))
    plan = solve(problem, mode="first").expect_plan()
    assert validate(problem, plan).valid
    assert plan.makespan == Decimal("3.001")


def test_effects_for_all_objects() -> None:
    problem = oven(FOR_ALL, "(crisp a) (not (crisp b)) (not (wet a)) (wet b)")
    assert accept(problem, ("roast", 0, 3), ("soak b", 1, 1))
    assert not accept(problem, ("soak b", 0, 1), ("roast", 2, 3))
    assert validate(problem, solve(problem, mode="first").expect_plan()).valid


def test_conditions_about_both_moments() -> None:
    problem = oven(BOTH, "(done)")
    assert accept(problem, ("heat", 0, 1), ("roast", 0.5, 3))
    assert not accept(problem, ("heat", 0, 1), ("roast", 0.5, 3), ("heat", 3, 1))
    assert not accept(problem, ("roast", 0, 3))


@pytest.mark.parametrize(("effect", "goal"), [(SIMPLE, "(done)"), (FOR_ALL, "(crisp a) (wet b)"), (BOTH, "(done)")])
def test_exports_keep_the_optimum(effect: str, goal: str) -> None:
    problem = oven(effect, goal)
    files = export(problem)
    back = parse_problem(files.problem, parse_domain(files.domain))
    least = [solve(each, time_limit=4).expect_plan().makespan for each in (problem, back)]
    assert least[0] == least[1]


def test_check_finds_nothing_wrong() -> None:
    found = check_problem(oven(SIMPLE, "(done) (wet b) (not (crisp b))"), Limits())
    assert not [each for each in found if "began" in str(each)]


@pytest.mark.parametrize(
    "effect", ["(when (at end (hot)) (at start (done)))", "(when (over all (hot)) (at end (done)))"]
)
def test_other_moments_are_refused(effect: str) -> None:
    with pytest.raises(UnsupportedError, match="under a condition"):
        oven(effect, "(done)")
