"""Arguments of types that cannot stand where they stand: files that have them are read with a warning."""

from __future__ import annotations

import re
import warnings

import pytest

from htn.language.hddl import hddl_reader as hddl_domains
from planner.language.pddl.pddl_domains import parse_domain
from planner.language.pddl.pddl_problems import parse_problem
from planner.language.pddl.syntax import FileWarning
from planner.lint.problem_lint import check_domain

DOMAIN = """(define (domain d) (:requirements :adl) (:types robot room shelf box tool - thing hammer - tool cart - box)
 (:constants hall - room rack - (either shelf box))
 (:predicates (at ?r - robot ?a - room) (in ?x - (either box tool) ?a - room) (near ?x - thing ?y) (stocked ?t - tool)
  (far ?r - robot ?b - box) (linked ?a - room) (open ?s - shelf))
 (:functions (total-cost) - number (way ?a - room ?b - room) - number)
 (:derived (linked ?a - room) {derived})
 (:action go :parameters (?r - robot ?a - room ?b - room ?x - box ?t - tool ?h - hammer ?o - object
   ?e - (either robot box) ?c - cart) :precondition {condition} :effect {effect}))"""
PROBLEM = """(define (problem p) (:domain d) (:objects r1 - robot a - room) (:init (at r1 a)) (:goal {goal}))"""
HDDL = """(define (domain d) (:types robot room) (:predicates (at ?r - robot ?a - room))
 (:task move :parameters (?r - robot ?a - room))
 (:method m :parameters (?r - robot ?a - room) :task (move ?r ?a) :precondition {method} :ordered-subtasks (go ?r ?a))
 (:action go :parameters (?r - robot ?a - room) :precondition {action} :effect (at ?r ?a)))"""
HDDL_PROBLEM = """(define (problem p) (:domain d) (:objects r1 - robot a - room)
 (:htn :ordered-subtasks (move r1 a)) (:init (at r1 a)) (:goal {goal}))"""
MISPLACED = [
    ("condition", "(at ?a ?r)"),
    ("condition", "(and (at ?r ?a) (not (at ?r ?x)))"),
    ("condition", "(exists (?q - room) (at ?q ?a))"),
    ("condition", "(forall (?r - room) (at ?r ?a))"),
    ("condition", "(in ?e ?r)"),
    ("condition", "(in ?r ?a)"),
    ("condition", "(stocked ?x)"),
    ("condition", "(open ?a)"),
    ("condition", "(far ?r ?a)"),
    ("effect", "(at ?a ?r)"),
    ("effect", "(not (at ?a ?r))"),
    ("effect", "(when (at ?a ?r) (at ?r ?b))"),
    ("effect", "(forall (?q - box) (when (at ?r ?a) (at ?r ?q)))"),
    ("effect", "(increase (total-cost) (way ?r ?b))"),
    ("derived", "(exists (?r - robot) (at ?a ?r))"),
    ("goal", "(forall (?x - room) (at ?x a))"),
    ("goal", "(exists (?x - box) (at r1 ?x))"),
]
SOUND = [
    ("condition", "(at ?r ?a)"),
    ("condition", "(and (in ?x ?a) (in ?t ?a) (in ?h ?a) (in ?e ?a) (in ?c ?a))"),
    ("condition", "(and (near ?r ?a) (near ?x ?x) (near ?o ?o) (near ?e ?r))"),
    ("condition", "(at ?o ?o)"),
    ("condition", "(at ?e ?b)"),
    ("condition", "(exists (?x - thing) (stocked ?x))"),
    ("condition", "(exists (?x) (at ?x ?x))"),
    ("condition", "(exists (?r - room) (at ?e ?r))"),
    ("condition", "(or (at ?r hall) (in rack hall) (open ?x))"),
    ("condition", "(= ?r ?a)"),
    ("condition", "(exists (?q - (either robot room)) (at ?q ?q))"),
    ("effect", "(increase (total-cost) (way ?a ?b))"),
    ("effect", "(forall (?a - box) (in ?a hall))"),
    ("goal", "(exists (?x - robot ?y - room) (at ?x ?y))"),
]


def warned(part: str, text: str) -> list[warnings.WarningMessage]:
    parts = {"condition": "(at ?r ?a)", "effect": "(at ?r ?b)", "derived": "(exists (?r - robot) (at ?r ?a))"}
    domain = DOMAIN.format(**{**parts, part: text})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        read = parse_domain(domain, "d.pddl")
        parse_problem(PROBLEM.format(goal=text if part == "goal" else "(at r1 a)"), read, "p.pddl")
    return told


@pytest.mark.parametrize(("part", "text"), MISPLACED)
def test_an_argument_of_a_type_that_cannot_stand_there_is_a_warning_with_its_place(part: str, text: str) -> None:
    told = warned(part, text)
    assert told
    for each in told:
        assert each.category is FileWarning
        assert re.match(r"p\.pddl:1:" if part == "goal" else r"d\.pddl:[678]:\d+: ", str(each.message))
        assert "look at the order of the arguments" in str(each.message)


@pytest.mark.parametrize(("part", "text"), SOUND)
def test_subtypes_alternatives_and_objects_of_any_type_are_no_warning(part: str, text: str) -> None:
    assert [str(each.message) for each in warned(part, text)] == []


@pytest.mark.parametrize("part", ["method", "action", "goal"])
def test_hddl_has_the_same_warnings(part: str) -> None:
    parts = {"method": "()", "action": "()", "goal": "(at r1 a)"}
    texts = {**parts, part: "(exists (?x - robot) (at ?x ?x))"}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        domain = hddl_domains.parse_domain(HDDL.format(**texts), "d.hddl")
        hddl_domains.parse_problem(HDDL_PROBLEM.format(**texts), domain, "p.hddl")
    (only,) = told
    start = {"method": "d.hddl:3:", "action": "d.hddl:4:", "goal": "p.hddl:2:"}[part]
    assert str(only.message).startswith(start)
    assert "'?x' is of type 'robot', but argument 2 of 'at' has to be of type 'room'" in str(only.message)


def test_findings_name_the_place_of_each_declaration() -> None:
    actions = "".join(f"\n(:action {name} :parameters (?r - robot ?a - room) :effect (at ?a ?r))" for name in "xy")
    text = f"(define (domain d) (:types robot room) (:predicates (at ?r - robot ?a - room)){actions})"
    with warnings.catch_warnings(action="ignore", category=FileWarning):
        domain = parse_domain(text, "d.pddl")
    places = [each.place for each in check_domain(domain) if each.rule == "type"]
    assert places == ["d.pddl:2:59: action x", "d.pddl:3:59: action y"]
