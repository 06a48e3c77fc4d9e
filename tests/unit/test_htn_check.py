"""Lint of hierarchies: each rule on a small domain that breaks it, and on one that does not."""

from __future__ import annotations

import pytest

from htn.hddl import parse_domain, parse_problem
from planner.budget import Budget
from planner.check import Level

CLEAN = """
(define (domain errands) (:types item place)
 (:predicates (at ?p - place) (open ?p - place) (got ?i - item ?p - place))
 (:task collect :parameters (?i - item ?p - place))
 (:method fetch :parameters (?i - item ?p - place ?f - place) :task (collect ?i ?p)
   :precondition (and (open ?p) (not (got ?i ?p))) :ordered-subtasks (and (go ?f ?p) (take ?i ?p)))
 (:action go :parameters (?from ?p - place) :precondition (at ?from) :effect (and (not (at ?from)) (at ?p)))
 (:action take :parameters (?i - item ?p - place) :precondition (at ?p) :effect (got ?i ?p)))
"""
CASES = {
    "a task without methods": (
        (":ordered-subtasks (and (go", ":ordered-subtasks (and (rest) (go"),
        (" (:method", " (:task rest :parameters ()) (:method"),
        "warning: task rest: no method is for it, so method fetch can never be used [no-method]",
    ),
    "a task that never ends": (
        ("(and (go", "(and (collect ?i ?p) (go"),
        "warning: task collect: no choice of methods comes to an end [endless-task]",
    ),
    "an action that no method uses": (
        (" (:method", " (:action wait :parameters () :effect (and)) (:method"),
        "note: action wait: no method leads to it; it may be a task of some problem [unused-action]",
    ),
    "a contradiction": (
        ("(open ?p)", "(open ?p) (got ?i ?p)"),
        (
            "error: method fetch: it can never apply: what it requires contradicts itself (both got(?i, ?p) and not"
            " got(?i, ?p)) [contradicting-requires]"
        ),
    ),
    "a parameter of no use": (
        ("?f - place)", "?f ?g - place)"),
        "warning: method fetch: the parameter 'g' is used nowhere; leave it out [unused-parameter]",
    ),
    "a predicate of no use": (
        ("(open ?p - place)", "(open ?p - place) (opened ?p - place)"),
        "warning: predicate opened: it is used nowhere in the domain [unused-predicate]",
    ),
}


def test_a_clean_domain_has_no_findings():
    assert parse_domain(CLEAN).check() == []


@pytest.mark.parametrize("name", CASES)
def test_what_is_odd_is_found(name):
    *changes, finding = CASES[name]
    text = CLEAN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    assert [str(each) for each in parse_domain(text).check()] == [finding]


def test_what_can_never_be_done_is_an_error():
    domain = parse_domain(CLEAN)
    text = (
        "(define (problem p) (:domain errands) (:objects i - item a b - place)"
        " (:htn :subtasks (collect i b)) (:init (at a) {}))"
    )
    assert parse_problem(text.format("(open b)"), domain).check(Budget()) == []
    (finding,) = [
        each for each in parse_problem(text.format("(open a)"), domain).check(Budget()) if each.level is Level.ERROR
    ]
    assert str(finding) == (
        "error: task collect(i, b): it can never be done: fetch(i, b, a) needs open(b), which does not hold, and no"
        " action makes it true (and 1 more choice of objects) [impossible-task]"
    )
