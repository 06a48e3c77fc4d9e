"""Tasks in time: schedules keep the order of tasks, and deadlines are met where some schedule meets them."""

from __future__ import annotations

import pytest

from htn.language import hddl
from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task, sequence
from htn.problem_kind import validate
from planner import Plan, Status, solve
from planner.errors import UnsupportedError
from planner.language.pddl import parse_domain, parse_problem
from planner.lightweight import replace
from planner.model import Atom, Variable
from planner.model.timing import GoalDeadline
from planner.plan import StepTime

KITCHEN = """
(define (domain kitchen)
  (:types cook dish - object)
  (:predicates (free ?c - cook) (raw ?d - dish) (cut ?d - dish) (cooked ?d - dish) (served ?d - dish))
  (:durative-action chop :parameters (?c - cook ?d - dish) :duration (= ?duration 3)
    :condition (and (at start (free ?c)) (at start (raw ?d)))
    :effect (and (at start (not (free ?c))) (at end (free ?c)) (at start (not (raw ?d))) (at end (cut ?d))))
  (:durative-action boil :parameters (?d - dish) :duration (= ?duration 10)
    :condition (at start (cut ?d)) :effect (at end (cooked ?d)))
  (:durative-action serve :parameters (?c - cook ?d - dish) :duration (= ?duration 1)
    :condition (and (at start (free ?c)) (at start (cooked ?d)))
    :effect (and (at start (not (free ?c))) (at end (free ?c)) (at end (served ?d)))))
"""
MEAL = """
(define (problem meal) (:domain kitchen)
  (:objects ann - cook soup pie - dish) (:init (free ann) (raw soup) (raw pie)) (:goal (and))
  (:metric minimize (total-time)))
"""
CLASSICAL = parse_problem(MEAL, parse_domain(KITCHEN))
BOTH = [Atom("meal", (dish,)) for dish in ("soup", "pie")]


def kitchen(network: Network, deadline: int | None = None) -> HtnProblem:
    steps = sequence(Atom("chop", ("?c", "?d")), Atom("boil", ("?d",)), Atom("serve", ("?c", "?d")))
    dish, cook = Variable("?d", ("dish",)), Variable("?c", ("cook",))
    method = Method("cook-it", Atom("meal", ("?d",)), (dish, cook), network=steps)
    domain = HtnDomain(CLASSICAL.domain, {"meal": Task("meal", (dish,))}, {"cook-it": method})
    return HtnProblem(domain, replace(CLASSICAL, deadline=deadline), network)


@pytest.mark.parametrize(
    ("network", "deadline", "at_most"),
    [
        (Network(tuple(map(Subtask, BOTH))), None, 18),
        (Network(tuple(map(Subtask, BOTH))), 18, 18),
        (Network(tuple(map(Subtask, BOTH))), 16, None),
        (sequence(*BOTH), None, 29),
        (sequence(*BOTH), 20, None),
    ],
)
def test_tasks_overlap_where_nothing_orders_them(network: Network, deadline: int | None, at_most: int | None) -> None:
    problem = kitchen(network, deadline)
    result = solve(problem, time_limit=2)
    if at_most is None:
        assert result.status is Status.UNKNOWN
        return
    plan = result.expect_plan()
    assert validate(problem, plan).valid
    assert plan.makespan is not None
    assert plan.makespan <= at_most


def test_a_task_that_comes_to_nothing_keeps_what_is_before_and_after_it_in_order() -> None:
    problem = kitchen(sequence(BOTH[0], Atom("rest"), BOTH[1]))
    tasks = {**problem.domain.tasks, "rest": Task("rest")}
    methods = {**problem.domain.methods, "at-once": Method("at-once", Atom("rest"))}
    problem = replace(problem, domain=replace(problem.domain, tasks=tasks, methods=methods))
    plan = solve(problem, time_limit=2).expect_plan()
    assert 28 <= plan.makespan <= 29
    early = [replace(time, start=time.start - 10) if place == 3 else time for place, time in enumerate(plan.times)]
    assert not validate(problem, replace(plan, times=tuple(early))).valid


def test_times_that_break_the_order_of_tasks_are_refused() -> None:
    problem = kitchen(sequence(*BOTH))
    plan = solve(kitchen(Network(tuple(map(Subtask, BOTH)))), time_limit=2).expect_plan()
    ordered = solve(problem, time_limit=2).expect_plan()
    early = Plan(ordered.steps, problem, ordered.tree, times=(*ordered.times[:3], StepTime(4, 3), *ordered.times[4:]))
    verdict = validate(problem, early)
    assert not verdict.valid
    assert "before" in verdict.reason
    assert not validate(problem, replace(plan, problem=problem)).valid


def test_a_late_step_is_named() -> None:
    problem = kitchen(Network(tuple(map(Subtask, BOTH))))
    plan = solve(problem, time_limit=2).expect_plan()
    worse = replace(plan, times=(*plan.times[:-1], replace(plan.times[-1], duration=7)))
    assert "its duration is 1 s" in validate(problem, worse).reason


def test_hddl_keeps_durations() -> None:
    problem = kitchen(Network(tuple(map(Subtask, BOTH))))
    texts = hddl.write(problem)
    again = hddl.parse_problem(texts["problem.hddl"], hddl.parse_domain(texts["domain.hddl"]))
    assert "(:durative-action chop" in texts["domain.hddl"]
    first, second = [solve(each, time_limit=5).expect_plan() for each in (problem, again)]
    assert first.makespan == second.makespan
    assert validate(problem, second).valid
    with pytest.raises(UnsupportedError, match="deadlines of goals"):
        hddl.write(replace(problem, classical=replace(CLASSICAL, due=(GoalDeadline(Atom("served", ("pie",)), 9),))))
