"""Scheduling problems of unified-planning: least makespans as enumeration finds them, and schedules of plans."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest
from unified_planning.engines import PlanGenerationResultStatus as Outcome
from unified_planning.model.scheduling import SchedulingProblem
from unified_planning.shortcuts import GE, LE, LT, Equals, Fluent, IntType, MinimizeMakespan, Or

from planner import load, solve, validate
from planner.errors import PlanError, UnsupportedError
from planner.plan import Plan
from planner.scheduling.exact_schedule import find_least_schedule
from planner.unified_planning.engine import ForethoughtEngine
from planner.unified_planning.scheduling_problems import read_scheduling, to_scheduling_problem

HORIZON = 9
"""The last start that enumeration looks at."""


def draw(seed: int) -> SchedulingProblem:
    """Return a problem with at most four activities, that share resources and are ordered in several ways."""
    rng = random.Random(seed)
    problem = SchedulingProblem(f"s{seed}")
    resources = [problem.add_resource(f"r{number}", rng.choice([1, 2])) for number in range(2)]
    activities: list[Any] = []
    for number in range(rng.randint(2, 4)):
        one = problem.add_activity(f"a{number}", rng.randint(1, 3))
        for resource in resources:
            if rng.random() < 0.6:
                one.uses(resource, rng.randint(1, problem.initial_value(resource).constant_value()))
        for other in activities:
            kinds = [
                LE(other.end, one.start),
                LT(other.end, one.start),
                LE(one.start, other.start + rng.randint(0, 4)),
                Or(LE(other.end + 1, one.start), LE(one.end, other.start)),
                Equals(other.end, one.start),
            ]
            if rng.random() < 0.35:
                problem.add_constraint(rng.choice(kinds))
        if rng.random() < 0.3:
            one.add_release_date(rng.randint(1, 3))
        if rng.random() < 0.3:
            one.add_deadline(rng.randint(3, 7))
        activities.append(one)
    problem.add_quality_metric(MinimizeMakespan())
    return problem


def find_least(problem: SchedulingProblem) -> int | None:
    """Return the least makespan by trying all starts."""
    found = None
    for starts in product(range(HORIZON + 1), repeat=len(problem.activities)):
        pairs = zip(starts, problem.activities, strict=True)
        ends = [start + each.duration.lower.constant_value() for start, each in pairs]
        if (found is None or max(ends) < found) and holds(problem, starts, ends):
            found = max(ends)
    return found


def holds(problem: SchedulingProblem, starts: Any, ends: Any) -> bool:
    """Return whether all constraints hold, and no resource is below 0 at any time."""
    point = {each.start: start for each, start in zip(problem.activities, starts, strict=True)}
    point |= {each.end: end for each, end in zip(problem.activities, ends, strict=True)}

    def value(node: Any) -> Any:
        if node.is_timing_exp():
            return point[node.timing().timepoint] + node.timing().delay
        if node.is_constant():
            return node.constant_value()
        sides = [value(part) for part in node.args]
        if node.is_or():
            return any(sides)
        return sides[0] <= sides[1] if node.is_le() else sides[0] < sides[1] if node.is_lt() else sides[0] == sides[1]

    if not all(value(constraint) for constraint, _ in problem.all_constraints()):
        return False
    for tick in range(max(ends)):
        left = {fluent: problem.initial_value(fluent()).constant_value() for fluent in problem.fluents}
        for each, start, end in zip(problem.activities, starts, ends, strict=True):
            if start <= tick < end:
                for effect in each.effects.get(next(iter(each.effects), None), []):
                    left[effect.fluent.fluent()] -= effect.value.constant_value()
        if min(left.values()) < 0:
            return False
    return True


@pytest.mark.parametrize("seed", range(40))
def test_least_makespans_are_those_of_enumeration(seed: int) -> None:
    problem = draw(seed)
    result = ForethoughtEngine().solve(problem)
    least = find_least(problem)
    if least is None:
        assert result.status is Outcome.UNSOLVABLE_PROVEN
        return
    assert result.status is Outcome.SOLVED_OPTIMALLY
    starts = [result.plan.get(each.start).constant_value() for each in problem.activities]
    ends = [result.plan.get(each.end).constant_value() for each in problem.activities]
    assert holds(problem, starts, ends)
    assert max(ends) == least


def _variable(problem: SchedulingProblem) -> None:
    problem.add_variable("x", IntType(0, 3))


def _range(problem: SchedulingProblem) -> None:
    problem.get_activity("a").set_duration_bounds(1, 3)


def _condition(problem: SchedulingProblem) -> None:
    lit = problem.add_fluent(Fluent("lit"), default_initial_value=True)
    problem.get_activity("a").add_condition(problem.get_activity("a").start, lit)


def _kept(problem: SchedulingProblem) -> None:
    one = problem.get_activity("a")
    one.add_decrease_effect(one.start, problem.add_resource("glue", 3), 2)


def _sum(problem: SchedulingProblem) -> None:
    one, other = problem.get_activity("a"), problem.get_activity("b")
    problem.add_constraint(Or(LE(one.end, other.start), LE(one.end, 4)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_variable, "the variable x"),
        (_range, "the duration .* of a"),
        (_condition, "the condition lit"),
        (_kept, "glue, which activities do not give back"),
        (_sum, "the alternative"),
    ],
)
def test_what_is_refused_is_named(change: Any, message: str) -> None:
    problem = SchedulingProblem("s")
    problem.add_activity("a", 2)
    problem.add_activity("b", 3)
    change(problem)
    with pytest.raises(UnsupportedError, match=message):
        read_scheduling(problem)
    assert ForethoughtEngine().solve(problem).status is Outcome.UNSUPPORTED_PROBLEM


def test_a_contradiction_has_no_schedule() -> None:
    problem = SchedulingProblem("s")
    one = problem.add_activity("a", 2)
    problem.add_constraint(LE(one.end, one.start))
    assert ForethoughtEngine().solve(problem).status is Outcome.UNSOLVABLE_PROVEN
    problem = SchedulingProblem("t")
    problem.add_constraint(GE(problem.add_activity("a", 2).start, 5))
    assert ForethoughtEngine().solve(problem).plan.get(problem.activities[0].start).constant_value() == 5


WORKSHOP = """
(define (domain workshop)
  (:requirements :typing :durative-actions :numeric-fluents)
  (:types part)
  (:predicates (raw ?p - part) (cut ?p - part) (painted ?p - part) (saw))
  (:functions (length ?p - part) (hands))
  (:durative-action cut :parameters (?p - part) :duration (= ?duration (length ?p))
    :condition (and (at start (raw ?p)) (at start (saw)))
    :effect (and (at start (not (saw))) (at end (saw)) (at start (not (raw ?p))) (at end (cut ?p))))
  (:durative-action paint :parameters (?p - part) :duration (= ?duration 4)
    :condition (and (at start (cut ?p)) (at start (>= (hands) 1)))
    :effect (and (at start (decrease (hands) 1)) (at end (increase (hands) 1)) (at end (painted ?p)))))
"""
PARTS = """
(define (problem parts) (:domain workshop) (:objects p q r - part)
  (:init (raw p) (raw q) (raw r) (saw) (= (hands) 2) (= (length p) 5) (= (length q) 3) (= (length r) 1))
  (:goal (and (painted p) (painted q) (painted r))) (:metric minimize (total-time)))
"""


def test_the_steps_of_a_plan_are_a_scheduling_problem() -> None:
    problem = load(WORKSHOP, PARTS)
    first = solve(problem, mode="first").expect_plan()
    outgoing = to_scheduling_problem(first)
    incoming = read_scheduling(outgoing.problem)
    assert incoming.project is not None
    least = find_least_schedule(incoming.project)
    assert least is not None
    plan = outgoing.plan(incoming.schedule(least))
    assert validate(problem, plan).valid
    assert plan.makespan == solve(problem).expect_plan().makespan
    with pytest.raises(PlanError, match="no times"):
        to_scheduling_problem(Plan(first.steps, problem))
