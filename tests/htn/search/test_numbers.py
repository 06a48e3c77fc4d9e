"""Hierarchical planning with numbers: what is searched, proved, and refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from htn.htn_portfolio import ONE_PLAN_SEARCHES, SEARCHES
from htn.language.hddl.hddl_reader import parse_domain, parse_problem
from htn.model import HtnProblem
from htn.problem_kind import check, explain_unsolvable
from htn.repair.subtree_repair import repair
from htn.verification.plan_verification import validate
from planner import Status, candidates, solve
from planner.errors import UnsupportedError
from planner.limits import Limits
from planner.model import Atom, Comparison
from planner.model.actions import Constraint, ConstraintKind
from planner.plan import Result

DOMAIN = """\
(define (domain trips) (:requirements :typing :hierarchy :numeric-fluents)
  (:types truck place)
  (:predicates (at ?t - truck ?p - place))
  (:functions (fuel ?t - truck) (paid) (total-cost))
  (:task get :parameters (?t - truck ?p - place))
  (:task fill :parameters (?t - truck))
  (:method full :parameters (?t - truck) :task (fill ?t) :precondition (>= (fuel ?t) 7) :ordered-subtasks (and))
  (:method more :parameters (?t - truck) :task (fill ?t) :precondition (< (fuel ?t) 7)
    :ordered-subtasks (and (refuel ?t) (fill ?t)))
  (:method drive :parameters (?t - truck ?a ?p - place) :task (get ?t ?p) :precondition (at ?t ?a)
    :ordered-subtasks (and (fill ?t) (go ?t ?a ?p)))
  (:action refuel :parameters (?t - truck)
    :effect (and (increase (fuel ?t) 2.5) (increase (paid) 0.75) (increase (total-cost) 1)))
  (:action go :parameters (?t - truck ?a ?b - place) :precondition (and (at ?t ?a) (> (fuel ?t) 0))
    :effect (and (not (at ?t ?a)) (at ?t ?b) (decrease (fuel ?t) 2) (increase (total-cost) 3))))
"""
PROBLEM = """\
(define (problem two) (:domain trips) (:objects t1 - truck x y z - place)
  (:htn :{order} (and (get t1 y) (get t1 z)))
  (:init (at t1 x) (= (fuel t1) {fuel}) (= (paid) 0) (= (total-cost) 0)) (:metric {metric}))
"""


def trips(order: str = "ordered-subtasks", fuel: str = "0", metric: str = "minimize (total-cost)") -> HtnProblem:
    return parse_problem(PROBLEM.format(order=order, fuel=fuel, metric=metric), parse_domain(DOMAIN))


def replayed(problem: HtnProblem, result: Result):
    assert result.plan is not None
    verdict = validate(problem, result.plan)
    assert verdict.valid, verdict.reason
    assert verdict.cost == result.cost
    return verdict.cost


@pytest.mark.parametrize("order", ["ordered-subtasks", "subtasks"])
def test_a_recursive_method_refuels_until_there_is_enough(order: str) -> None:
    problem = trips(order)
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert replayed(problem, result) == 10
    assert [step.action for step in result.plan.steps].count("refuel") == 4


@pytest.mark.parametrize("search", [name for name in SEARCHES if name != "depth-first"])
def test_every_search_takes_numbers(search: str) -> None:
    problem = trips()
    result = solve(problem, search=search)
    assert result.status is (Status.SOLVED if search in ONE_PLAN_SEARCHES else Status.OPTIMAL)
    assert replayed(problem, result) == 10


def test_metrics_price_steps_exactly() -> None:
    problem = trips(metric="minimize (+ (total-cost) (* 2 (paid)))")
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert replayed(problem, result) == 16


def test_where_the_state_sets_the_price_rounds_find_the_best() -> None:
    problem = trips(metric="maximize (fuel t1)")
    first, result = solve(problem, mode="first"), solve(problem)
    assert first.status is Status.SOLVED
    assert "depends on the state" in first.reason
    assert result.status is Status.OPTIMAL
    assert replayed(problem, result) == -6
    assert replayed(problem, first) >= -6


@pytest.mark.parametrize(("fuel", "zeros", "cost"), [("900000000000000000", 0, 6), ("0", 15, 7), ("0", 17, 7)])
def test_values_beyond_64_bits_are_exact(fuel: str, zeros: int, cost: int) -> None:
    text = DOMAIN.replace(") 7)", ") 7" + "0" * zeros + ")").replace("2.5", "25" + "0" * zeros)
    problem = parse_problem(
        PROBLEM.format(order="ordered-subtasks", fuel=fuel, metric="minimize (total-cost)"), parse_domain(text)
    )
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert replayed(problem, result) == cost


def test_no_plan_is_proved_where_the_states_are_few() -> None:
    text = DOMAIN.replace("(increase (fuel ?t) 2.5)", "(assign (fuel ?t) 2.5)")
    problem = parse_problem(
        PROBLEM.format(order="ordered-subtasks", fuel="0", metric="minimize (total-cost)"), parse_domain(text)
    )
    assert solve(problem).status is Status.UNSOLVABLE


def test_terms_that_are_not_linear_are_named() -> None:
    text = DOMAIN.replace("(>= (fuel ?t) 7)", "(>= (* (fuel ?t) (paid)) 7)")
    problem = parse_problem(
        PROBLEM.format(order="ordered-subtasks", fuel="0", metric="minimize (total-cost)"), parse_domain(text)
    )
    result = solve(problem)
    assert result.status is Status.UNSUPPORTED
    assert "fuel" in result.reason


FUEL = Atom("fuel", ("t1",))


@pytest.mark.parametrize(("most", "status"), [(8, Status.OPTIMAL), (7, Status.UNSOLVABLE)])
def test_constraints_compare_numbers(most: int, status: Status) -> None:
    problem = trips()
    kept = Constraint(ConstraintKind.ALWAYS, Comparison(FUEL, "<=", most))
    bounded = replace(problem, classical=replace(problem.classical, constraints=(kept,)))
    result = solve(bounded)
    assert result.status is status
    if result.plan is not None:
        assert replayed(bounded, result) == 10


@pytest.mark.parametrize("metric", ["minimize (total-cost)", "minimize (+ (total-cost) (* 2 (paid)))"])
@pytest.mark.parametrize(("fuel", "kept"), [(5, 4), (1, 2)])
def test_repair_refuels_as_often_as_the_observed_value_asks_for(metric: str, fuel: int, kept: int) -> None:
    problem = trips(metric=metric)
    plan = solve(problem).expect_plan()
    values = {**problem.classical.values, FUEL: fuel}
    observed = replace(problem, classical=replace(problem.classical, values=values))
    found = repair(observed, plan, done=[0, 1])
    assert found.kept == kept
    assert [step.action for step in found.steps].count("refuel") == (2 if fuel == 5 else 4)


def test_lint_finds_tasks_that_are_impossible_whatever_the_numbers() -> None:
    assert not [each for each in check(trips(), Limits(5)) if each.rule == "impossible-task"]
    text = DOMAIN.replace("(and (at ?t ?a) (> (fuel ?t) 0))", "(and (at ?t ?a) (at ?t ?b) (> (fuel ?t) 0))")
    text = text.replace(":precondition (at ?t ?a)", ":precondition (and (at ?t ?a) (not (= ?a ?p)))")
    problem = parse_problem(
        PROBLEM.format(order="ordered-subtasks", fuel="0", metric="minimize (total-cost)"), parse_domain(text)
    )
    assert [each for each in check(problem, Limits(5)) if each.rule == "impossible-task"]


def test_candidates_of_tasks_with_numbers() -> None:
    plans = list(candidates(trips(), time_limit=20))
    assert plans[0].charge == solve(trips()).expect_plan().charge
    assert all(validate(plan.problem, plan).valid for plan in plans)


def test_what_does_not_take_numbers_says_so() -> None:
    assert solve(trips(), search="depth-first").status is Status.UNSUPPORTED
    with pytest.raises(UnsupportedError, match="numbers, such as 'fuel'"):
        explain_unsolvable(trips(), Limits(1))
