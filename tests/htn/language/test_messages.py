"""Messages about problems say what was written, not what stages make of it."""

from __future__ import annotations

import pytest

from htn.explain.task_explanations import explain_unsolvable
from htn.language.hddl import parse_domain, parse_problem
from htn.lint.hierarchy_lint import check_htn_problem
from htn.model import HtnProblem
from planner.cli.solve import describe_status
from planner.limits import Limits
from planner.lint.findings import Level
from planner.plan import Status
from planner.solve import solve

DOMAIN = """
(define (domain d) (:types t) (:predicates (p ?x - t) (q ?x - t) (r ?x - t))
 (:task go :parameters (?x - t))
 (:method m :parameters (?x - t) :task (go ?x) :precondition (r ?x) :ordered-subtasks (and (a ?x)))
 (:action a :parameters (?x - t) :effect (p ?x))
)
"""


def problem(*, goal: str = "(and)", network: str = ":ordered-subtasks (go o1)") -> HtnProblem:
    text = f"(define (problem p) (:domain d) (:objects o1 o2 - t) (:htn {network}) (:init (r o1)) (:goal {goal}))"
    return parse_problem(text, parse_domain(DOMAIN))


GOALS = {
    "(or (q o1) (q o2))": "q(o1) or q(o2)",
    "(exists (?x - t) (and (p ?x) (q ?x)))": "for some ?x - t: (p(?x) and q(?x))",
    "(and (p o1) (or (and (p o2) (not (q o1))) (q o2)))": "(p(o2) and not q(o1)) or q(o2)",
    "(forall (?x - t) (or (q ?x) (and (p ?x) (q ?x))))": "for all ?x - t: (q(?x) or (p(?x) and q(?x)))",
    "(q o1)": "q(o1)",
}


@pytest.mark.parametrize("goal", GOALS)
def test_a_part_of_the_goal_that_is_out_of_reach_is_as_it_was_written(goal: str) -> None:
    result = solve(problem(goal=goal))
    assert result.status is Status.UNSOLVABLE
    assert result.reason == f"nothing makes this part of the goal true: {GOALS[goal]}"


@pytest.mark.parametrize("search", ["depth-first", "greedy"])
def test_a_search_that_stops_at_the_first_plan_says_so_where_a_proof_is_asked_for(search: str) -> None:
    result = solve(problem(), mode="optimal", search=search)
    assert result.status is Status.SOLVED
    assert result.reason == f"{search} search stops at the first plan and does not prove it optimal; astar does"
    assert result.reason in describe_status(result)
    assert not solve(problem(), mode="first", search=search).reason


def test_others_prove_it() -> None:
    assert solve(problem(), mode="optimal", search="astar").status is Status.OPTIMAL


def messages(given: HtnProblem) -> list[str]:
    return [str(finding) for finding in check_htn_problem(given, Limits()) if finding.level is Level.ERROR]


def test_lint_of_the_goal_is_as_it_was_written() -> None:
    wanted = "for some ?x - t: (r(?x) and q(?x))"
    found = messages(problem(goal="(exists (?x - t) (and (r ?x) (q ?x)))"))
    assert any(f"nothing can bring about {wanted}" in each for each in found)


def test_the_initial_network_has_no_name_of_its_own() -> None:
    network = ":parameters (?x ?y - t) :ordered-subtasks (go ?x) :constraints (and (= ?x ?y) (not (= ?x ?y)))"
    given = problem(network=network)
    why = str(explain_unsolvable(given, Limits()))
    assert "the initial task network: no objects fit its parameters" in why
    assert "@" not in why
    (message,) = messages(given)
    assert "error: the tasks of the problem: they can never be done: the initial task network: no objects" in message
