"""A step whose cost has no value is part of no decomposition: ground, lifted, exported and in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from htn.language.hddl import parse_domain, parse_problem, write
from htn.lifted.compiled_problem import FIRST, compile_problem
from planner import Status, load, solve, validate
from planner.plan import Plan, Step

DOMAIN = """(define (domain uc) (:requirements :typing :action-costs :hierarchy)
 (:types place) (:predicates (at ?p - place)) (:functions (total-cost) - number (dist ?a ?b - place) - number)
 (:task reach :parameters (?b - place))
 (:method direct :parameters (?a ?b - place) :task (reach ?b) :precondition (at ?a) :ordered-subtasks (and (go ?a ?b)))
 (:method via :parameters (?a ?c ?b - place) :task (reach ?b) :precondition (at ?a)
  :ordered-subtasks (and (go ?a ?c) (go ?c ?b)))
 (:action go :parameters (?a ?b - place) :precondition (at ?a)
  :effect (and (not (at ?a)) (at ?b) (increase (total-cost) (dist ?a ?b)))))"""
PROBLEM = """(define (problem u) (:domain uc) (:objects x y z - place) (:htn :TASKS (and (reach z)))
 (:init (at x) (= (dist x y) 4) (= (dist y z) 3) (= (total-cost) 0)) (:metric minimize (total-cost)))"""
ORDERS = ["ordered-subtasks", "subtasks"]


def read(order: str, problem: str = PROBLEM):
    return parse_problem(problem.replace("TASKS", order), parse_domain(DOMAIN))


@pytest.mark.parametrize("order", ORDERS)
def test_hierarchies_go_around_the_step(order: str) -> None:
    problem = read(order)
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    plan = result.expect_plan()
    assert [str(each) for each in plan.steps] == ["go(x, y)", "go(y, z)"]
    assert validate(problem, plan).valid


@pytest.mark.parametrize("order", ORDERS)
def test_without_the_second_value_there_is_no_plan(order: str) -> None:
    assert solve(read(order, PROBLEM.replace("(= (dist y z) 3)", ""))).status is Status.UNSOLVABLE


def test_a_plan_with_the_step_is_not_valid() -> None:
    verdict = validate(read(ORDERS[0]), Plan((Step("go", ("x", "z")),), read(ORDERS[0])))
    assert not verdict.valid
    assert "dist(x, z) has no value" in verdict.reason


def test_the_lifted_search_does_not_apply_the_step() -> None:
    machine, changes = compile_problem(read(ORDERS[0])), list[Any]()
    act = machine.act[machine.number["go"] - FIRST]
    assert not act(("x", "z"), changes.append)
    assert not changes
    assert act(("x", "y"), changes.append)


def test_hddl_keeps_the_optimum(tmp_path: Path) -> None:
    files = write(read(ORDERS[0]))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert "has-dist" in files["domain.hddl"]
    result = solve(load(tmp_path / "domain.hddl", tmp_path / "problem.hddl"))
    assert result.status is Status.OPTIMAL
    assert result.expect_plan().cost == 7
