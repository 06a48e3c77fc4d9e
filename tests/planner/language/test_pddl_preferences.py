"""PDDL 3: constraints and preferences are read as the model has them, and the rest is refused by name."""

from __future__ import annotations

from decimal import Decimal

import pytest

from planner.errors import PddlError, UnsupportedError
from planner.language.pddl import parse_domain, parse_problem
from planner.model import Atom, Constraint, ConstraintKind, Metric, Not

DOMAIN = """
(define (domain office)
  (:requirements :strips :typing)
  (:types robot room)
  (:predicates (at ?r - robot ?a - room) (clean ?a - room))
  (:functions (total-cost) - number)
  (:action move :parameters (?r - robot ?a ?b - room) :precondition (at ?r ?a)
    :effect (and (not (at ?r ?a)) (at ?r ?b) (increase (total-cost) 2)))
  (:action tidy :parameters (?r - robot ?a - room) :precondition (at ?r ?a)
    :effect (and (clean ?a) (increase (total-cost) 1))))
"""


def problem(rest: str, goal: str = "(clean lab)"):
    text = f"""(define (problem p) (:domain office) (:objects r - robot hall lab - room)
  (:init (at r hall) (= (total-cost) 0)) (:goal {goal}) {rest})"""
    return parse_problem(text, parse_domain(DOMAIN))


HALL, LAB = Atom("clean", ("hall",)), Atom("clean", ("lab",))


@pytest.mark.parametrize(
    ("text", "constraint"),
    [
        ("(always (clean lab))", Constraint(ConstraintKind.ALWAYS, LAB)),
        ("(sometime (not (clean lab)))", Constraint(ConstraintKind.SOMETIME, Not(LAB))),
        ("(at-most-once (clean lab))", Constraint(ConstraintKind.AT_MOST, LAB)),
        ("(sometime-before (clean lab) (clean hall))", Constraint(ConstraintKind.BEFORE, HALL, LAB)),
    ],
)
def test_constraints_are_read(text, constraint) -> None:
    assert problem(f"(:constraints {text})").constraints == (constraint,)
    assert problem(f"(:constraints (and {text} (always (clean hall))))").constraints[0] == constraint


def test_quantified_constraints_are_written_out() -> None:
    found = problem("(:constraints (forall (?a - room) (sometime (clean ?a))))")
    assert [each.what for each in found.constraints] == [HALL, LAB]


def test_at_end_is_a_part_of_the_goal() -> None:
    found = problem("(:constraints (at end (clean hall)))")
    assert found.constraints == ()
    assert found.goal.hard.parts == (LAB, HALL)


def test_preferences_are_worth_what_the_metric_says() -> None:
    forall = "(forall (?a - room) (preference q (clean ?a)))"
    goal = f"(and (clean lab) (preference p (at r hall)) {forall} (preference (at r lab)))"
    metric = "(:metric minimize (+ (total-cost) (* 3 (is-violated p)) (is-violated q) (* 0.5 (is-violated w)) 7))"
    found = problem(f"(:constraints (preference w (always (not (clean hall))))) {metric}", goal)
    assert found.goal.hard == LAB
    assert [(str(each.condition), each.utility) for each in found.goal.soft] == [
        ("at(r, hall)", 3),
        ("clean(hall)", 1),
        ("clean(lab)", 1),
    ]
    assert found.constraints == (Constraint(ConstraintKind.ALWAYS, Not(HALL), utility=Decimal("0.5")),)
    assert found.metric is Metric.COST


def test_weights_are_relative_to_that_of_the_cost_and_may_be_maximised() -> None:
    found = problem("(:metric minimize (+ (* 2 (total-cost)) (* 8 (is-violated p))))", "(preference p (clean lab))")
    assert found.goal.soft[0].utility == 4
    found = problem("(:metric maximize (- 10 (total-cost) (* 5 (is-violated p))))", "(preference p (clean lab))")
    assert found.goal.soft[0].utility == 5


def test_weights_that_no_decimal_is_the_ratio_of_weigh_the_costs() -> None:
    found = problem("(:metric minimize (+ (* 3 (total-cost)) (is-violated p)))", "(preference p (clean lab))")
    assert found.goal.soft[0].utility == 1
    assert {name: action.cost for name, action in found.domain.actions.items()} == {"move": (6,), "tidy": (3,)}


def test_a_metric_without_the_cost_counts_none() -> None:
    found = problem("(:metric minimize (is-violated p))", "(preference p (clean lab))")
    assert all(action.cost == () for action in found.domain.actions.values())
    assert problem("").domain.actions["move"].cost == (2,)


@pytest.mark.parametrize(
    ("rest", "goal", "message"),
    [
        ("(:constraints (within 5 (clean lab)))", "(clean lab)", "constraint 'within' at <string>:2"),
        ("(:constraints (sometime-after (clean lab) (clean hall)))", "(clean lab)", "'sometime-after'"),
        ("(:metric minimize (* (total-cost) (is-violated p)))", "(preference p (clean lab))", "metric that counts"),
        ("(:metric minimize (- (total-cost) (is-violated p)))", "(preference p (clean lab))", "metric that counts"),
        ("(:metric minimize (- (is-violated p) (total-cost)))", "(preference p (clean lab))", "metric that counts"),
        ("", "(or (preference p (clean lab)))", "preference"),
        ("", "(preference p (preference q (clean lab)))", "preference"),
    ],
)
def test_what_cannot_be_said_is_refused_by_name(rest, goal, message) -> None:
    with pytest.raises(UnsupportedError) as error:
        problem(rest, goal)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("(:constraints (clean lab))", "expected a constraint"),
        ("(:constraints (always (clean lab) (clean hall)))", "after the end of 'always'"),
        ("(:constraints (sometime-before (clean lab)))", "expected a condition"),
        ("(:constraints (always (dirty lab)))", "dirty"),
        ("(:constraints)", "expected constraints"),
        ("(:constraints (and ((always (clean lab)))))", "expected a constraint; remove one pair of parentheses"),
        ("(:metric minimize (is-violated nobody))", "speaks of the preference 'nobody'"),
    ],
)
def test_mistakes_have_a_place(rest, message) -> None:
    with pytest.raises(PddlError) as error:
        problem(rest)
    assert message in str(error.value)
    assert str(error.value).startswith("<string>:2:")
