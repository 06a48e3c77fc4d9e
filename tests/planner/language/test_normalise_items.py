"""Universal deletes of items with one value: narrowed where that is proved, and only there."""

from __future__ import annotations

import pytest
from grounding_twin import check_grounding

from planner.compilations.normal_form import narrow_deletes, normalise
from planner.language.pddl import parse_domain
from planner.model import And, Atom, Goal, Not, Problem

HEADER = (
    "(define (domain d) (:requirements :adl) (:types robot room hall) (:predicates (at ?r - robot ?x - room) (lost))"
)
CLEAR = "(forall (?y - room) (not (at ?r ?y)))"
GO = f"""(:action go :parameters (?r - robot ?a ?b - room) :precondition (at ?r ?a)
 :effect (and {CLEAR} (at ?r ?b)))"""


def actions(*extra):
    return f"{HEADER} (:constants r1 r2 - robot h l k - room) {GO} {' '.join(extra)})"


def made(text, *initial):
    return Problem(
        "p", parse_domain(text), (), tuple([Atom("at", row) for row in initial]), Goal(Atom("at", ("r1", "k")))
    )


def effects_of_go(problem):
    return next(schema for schema in narrow_deletes(normalise(problem)).schemas if schema.action.name == "go").effects


ONE_EACH = (("r1", "h"), ("r2", "h"))
PROVED = {
    "alone": actions(),
    "an action that needs nothing clears": actions(
        f"(:action fly :parameters (?r - robot) :effect (and {CLEAR} (at ?r h)))"
    ),
    "an action that swaps": actions(
        """(:action walk :parameters (?r - robot ?a - room) :precondition (at ?r ?a)
        :effect (and (not (at ?r ?a)) (at ?r h)))"""
    ),
    "an action that adds what holds": actions(
        "(:action stay :parameters (?r - robot ?a - room) :precondition (at ?r ?a) :effect (at ?r ?a))"
    ),
    "two items that differ": actions(
        """(:action swap :parameters (?r ?s - robot ?a ?b - room)
        :precondition (and (not (= ?r ?s)) (at ?r ?a) (at ?s ?b))
        :effect (and (not (at ?r ?a)) (not (at ?s ?b)) (at ?r ?b) (at ?s ?a)))"""
    ),
    "a conditional value after clearing": actions(
        f"(:action hop :parameters (?r - robot) :effect (and {CLEAR} (when (at ?r l) (at ?r h))))"
    ),
}
NOT_PROVED = {
    "an action that adds": actions("(:action copy :parameters (?r - robot ?a - room) :effect (at ?r ?a))"),
    "an action that deletes what need not hold": actions(
        "(:action jump :parameters (?r - robot ?a - room) :effect (and (not (at ?r ?a)) (at ?r h)))"
    ),
    "two items that may be the same": actions(
        """(:action swap :parameters (?r ?s - robot ?a ?b - room) :precondition (and (at ?r ?a) (at ?s ?b))
        :effect (and (not (at ?r ?a)) (not (at ?s ?b)) (at ?r ?b) (at ?s ?a)))"""
    ),
    "two values at once": actions(
        "(:action split :parameters (?r - robot ?a - room) :precondition (at ?r ?a) :effect (and (at ?r h) (at ?r l)))"
    ),
    "a value for all": actions(
        f"""(:action all :parameters (?r - robot)
        :effect (and {CLEAR} (forall (?x - room) (when (lost) (at ?r ?x)))))"""
    ),
}


@pytest.mark.parametrize("text", PROVED.values(), ids=PROVED)
def test_a_universal_delete_becomes_one_delete_where_items_have_one_value(text):
    problem = made(text, *ONE_EACH)
    assert not effects_of_go(problem)
    task = check_grounding(problem)
    assert all(len(action.deletes) <= 1 for action in task.actions if action.step.action == "go")


@pytest.mark.parametrize("text", NOT_PROVED.values(), ids=NOT_PROVED)
def test_a_universal_delete_stays_where_an_action_may_give_a_second_value(text):
    problem = made(text, *ONE_EACH)
    assert effects_of_go(problem)
    check_grounding(problem)


def test_a_universal_delete_stays_where_an_item_starts_with_two_values():
    problem = made(actions(), ("r1", "h"), ("r1", "l"))
    assert effects_of_go(problem)
    check_grounding(problem)


def test_a_universal_delete_stays_where_it_covers_only_some_values():
    text = actions().replace("(?y - room)", "(?y - attic)").replace("room hall)", "attic - room robot room hall)")
    problem = made(text, *ONE_EACH)
    assert effects_of_go(problem)
    check_grounding(problem)


def test_what_is_deleted_twice_is_deleted_once():
    goal = Goal(And((Atom("at", ("r1", "k")), Not(Atom("at", ("r2", "h"))))))
    problem = made(actions().replace("(at ?r ?b)", "(not (at ?r ?a)) (at ?r ?b)"), *ONE_EACH)
    check_grounding(Problem("p", problem.domain, (), problem.initial, goal))
