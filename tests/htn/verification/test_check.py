"""Lint of hierarchies: each rule on a small domain that breaks it, and on one that does not."""

from __future__ import annotations

import pytest

from htn import problem_kind
from htn.language.hddl import parse_domain, parse_problem
from planner import load
from planner.limits import Limits
from planner.lint.findings import Level

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
        "hint: action wait: no method leads to it; it may be a task of some problem [unused-action]",
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
    assert problem_kind.check_domain(parse_domain(CLEAN)) == []


@pytest.mark.parametrize("name", CASES)
def test_what_is_odd_is_found(name):
    *changes, finding = CASES[name]
    text = CLEAN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    assert [str(each) for each in problem_kind.check_domain(parse_domain(text))] == [finding]


def test_what_can_never_be_done_is_an_error():
    domain = parse_domain(CLEAN)
    text = (
        "(define (problem p) (:domain errands) (:objects i - item a b - place)"
        " (:htn :subtasks (collect i b)) (:init (at a) {}))"
    )
    assert problem_kind.check(parse_problem(text.format("(open b)"), domain), Limits()) == []
    finding, forgotten = [
        each
        for each in problem_kind.check(parse_problem(text.format("(open a)"), domain), Limits())
        if each.level is Level.ERROR
    ]
    assert str(finding) == (
        "error: task collect(i, b): it can never be done: fetch(i, b, a) needs open(b), which does not hold, and no"
        " action makes it true (and 1 more choice of objects) [impossible-task]"
    )
    assert forgotten.rule == "missing-fact"
    assert "open(b) is not stated, though open(a) is" in str(forgotten)


TRIPS = """
domain: trips
types: {place: object}
predicates: {open: {parameters: {p: place}}}
actions:
  go: {parameters: {p: place}, provides: ["at(p)"]}
  unlock: {parameters: {p: place}, provides: ["open(p)"]}
tasks: {visit: {parameters: {p: place}}}
methods:
  there:
    task: visit(p)
    parameters: {p: place}
    requires: ["CONDITION"]
    subtasks: ["go(p)", "unlock(p)"]
---
problem: one
domain: trips
objects: {hall: place}
initial: [FACTS]
tasks: ["visit(hall)"]
"""


@pytest.mark.parametrize(
    ("condition", "facts", "alone", "finding"),
    [
        ("open(p)", "", None, None),
        ("road(p)", '"road(hall)"', None, None),
        ("road(p)", "", None, "so method there can never apply [never-provided]"),
        (
            "opne(p)",
            "",
            "asks for it and no action provides it; unless initial states do, it is misspelt; did you mean 'open'?",
            "so method there can never apply; did you mean 'open'? [never-provided]",
        ),
        ("not opne(p)", "", "did you mean 'open'?", "so it never holds; did you mean 'open'? [never-provided]"),
        ("opne(p)", '"opne(hall)"', "did you mean 'open'?", None),
    ],
)
def test_a_predicate_that_methods_alone_name(tmp_path, condition, facts, alone, finding):
    path = tmp_path / "trips.yaml"
    path.write_text(TRIPS.replace("CONDITION", condition).replace("FACTS", facts), encoding="utf-8")
    problem = load(path)
    for given, expected in (
        (problem_kind.check_domain(problem.domain), alone),
        (problem_kind.check(problem, Limits()), finding),
    ):
        found = [each for each in given if each.rule == "never-provided"]
        assert bool(found) is bool(expected)
        for each in found:
            assert each.level is Level.WARNING
            name = condition.removeprefix("not ").partition("(")[0]
            start = f"warning: predicate {name}: only method there names it, at {path}:13:16, and nobody declares it; "
            assert str(each).startswith(start)
            assert expected in str(each)


def test_a_declared_predicate_that_nothing_provides_is_worth_a_note_unless_misspelt():
    text = CLEAN.replace("(:predicates", "(:predicates (opened ?p - place) (idle)").replace(
        "(open ?p) (not", "(opened ?p) (idle) (not"
    )
    problem = "(define (problem p) (:domain errands) (:objects a - place i - item)"
    problem += " (:htn :subtasks (collect i a)) (:init (open a)))"
    found = problem_kind.check(parse_problem(problem, parse_domain(text)), Limits())
    assert [(each.level, each.place) for each in found if each.rule == "never-provided"] == [
        (Level.WARNING, "predicate opened"),
        (Level.HINT, "predicate idle"),
    ]
