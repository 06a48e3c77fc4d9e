"""Numbers in HDDL: read, written and validated."""

from __future__ import annotations

import pytest

from htn.language.hddl.hddl_reader import parse_domain, parse_problem
from htn.language.hddl.hddl_writer import write
from htn.language.plan_text import read_plan
from htn.model import HtnProblem
from htn.verification.plan_verification import validate
from planner.errors import UnsupportedError
from planner.model import Atom, Comparison, NumericEffect, NumericMetric
from planner.model.formulas import conjuncts

DOMAIN = """\
(define (domain trips) (:requirements :typing :hierarchy :numeric-fluents)
  (:types truck place)
  (:predicates (at ?t - truck ?p - place))
  (:functions (fuel ?t - truck) (load))
  (:task get :parameters (?t - truck ?p - place))
  (:method go-there :parameters (?t - truck ?a ?p - place) :task (get ?t ?p)
    :precondition (and (at ?t ?a) (>= (fuel ?t) {need})) :ordered-subtasks (and (go ?t ?a ?p)))
  (:action go :parameters (?t - truck ?a ?b - place) :precondition (and (at ?t ?a) (> (fuel ?t) 0))
    :effect (and (not (at ?t ?a)) (at ?t ?b) (decrease (fuel ?t) 2))))
"""
PROBLEM = """\
(define (problem one) (:domain trips) (:objects t1 - truck x y - place)
  (:htn :ordered-subtasks (and (get t1 y)))
  (:init (at t1 x) (= (fuel t1) 3.5) (= (load) 0))
  (:goal (<= (fuel t1) 2)) (:metric maximize (fuel t1)))
"""
PLAN = "==>\n1 go t1 x y\nroot 0\n0 get t1 y -> go-there 1\n<==\n"


def trips(need: str = "2") -> HtnProblem:
    return parse_problem(PROBLEM, parse_domain(DOMAIN.format(need=need)))


def test_numbers_are_read() -> None:
    problem = trips()
    fuel = Atom("fuel", ("?t",))
    method = problem.domain.methods["go-there"]
    assert Comparison(fuel, ">=", 2) in conjuncts(method.precondition)
    assert problem.domain.classical.actions["go"].numbers == (NumericEffect(fuel, "-=", 2),)
    assert problem.classical.metric == NumericMetric(Atom("fuel", ("t1",)), maximize=True)


def test_numbers_survive_the_round_trip() -> None:
    problem = trips()
    files = write(problem)
    assert "total-cost" not in "".join(files.values())
    assert parse_problem(files["problem.hddl"], parse_domain(files["domain.hddl"])) == problem


def test_costs_of_a_problem_are_those_of_its_hierarchy() -> None:
    effect = "(decrease (fuel ?t) 2) (increase (load) 3)"
    domain = parse_domain(DOMAIN.format(need="2").replace("(decrease (fuel ?t) 2)", effect))
    problem = parse_problem(PROBLEM.replace("maximize (fuel t1)", "minimize (load)"), domain)
    assert problem.domain.classical.actions["go"].cost == (3,)
    assert problem.domain.classical == problem.classical.domain
    files = write(problem)
    assert parse_problem(files["problem.hddl"], parse_domain(files["domain.hddl"])) == problem


@pytest.mark.parametrize(("need", "valid"), [("2", True), ("3.5", True), ("3.51", False)])
def test_plans_are_validated_with_numbers(need: str, valid: bool) -> None:
    text = DOMAIN.format(need=need).replace("(decrease (fuel ?t) 2)", "(decrease (fuel ?t) 2) (increase (load) 0)")
    problem = parse_problem(PROBLEM.replace("maximize (fuel t1)", "minimize (load)"), parse_domain(text))
    assert validate(problem, read_plan(PLAN, problem)).valid is valid


def test_plans_cost_what_they_change_of_the_metric() -> None:
    problem = trips()
    plan = read_plan(PLAN, problem)
    assert plan.cost == 2
    assert validate(problem, plan).valid


def test_the_total_cost_in_a_method_is_refused() -> None:
    text = DOMAIN.format(need="(total-cost)")
    with pytest.raises(UnsupportedError, match="total cost in conditions of methods"):
        parse_domain(text)
