"""Parameters that may be one object by oversight, wide types, void groups; metrics without end, and given goals."""

from __future__ import annotations

import pytest

from planner.lint.check_files import check_texts
from planner.lint.findings import Finding
from planner.lint.outlines import SourceText

DOMAIN = """\
(define (domain crews)
  (:requirements :typing :negative-preconditions :equality)
  (:types person berth - object
          pilot cook - person)
  (:predicates (aboard ?p - person) (rested ?p - pilot) (licensed ?p - pilot) (free ?b - berth) (ready)
               (sleeps ?p - person ?b - berth) (steady) (calm))
  (:action board
    :parameters (?p - pilot)
    :precondition (and (rested ?p) (licensed ?p) (not (aboard ?p)))
    :effect (aboard ?p))
  (:action swap
    :parameters (?p - pilot ?from ?to - berth)
    :precondition (and (aboard ?p) (sleeps ?p ?from) (free ?to) (not (= ?from ?to)))
    :effect (and (not (sleeps ?p ?from)) (sleeps ?p ?to) (free ?from) (not (free ?to))))
  (:action sail
    :parameters (?p ?q - pilot)
    :precondition (and (aboard ?p) (aboard ?q) (not (= ?p ?q)) (or (steady) (calm)))
    :effect (ready)))
"""
PROBLEM = """\
(define (problem night)
  (:domain crews)
  (:objects ann bob - pilot b1 b2 - berth)
  (:init (rested ann) (rested bob) (licensed ann) (licensed bob) (sleeps ann b1) (free b2) (steady))
  (:goal (and (ready) (sleeps ann b2))))
"""
FUEL = """\
domain: vans
types: {van: object, town: object, crate: object}
predicates:
  at: {parameters: [van, town]}
  road: {parameters: [town, town]}
functions:
  driven: {parameters: []}
  earned: {parameters: []}
actions:
  drive:
    parameters: {v: van, a: town, b: town}
    requires: ["at(v, a)", "road(a, b)"]
    provides: ["at(v, b)"]
    modifies: ["at(v, _)", "driven += 3"]
  sell:
    parameters: {v: van, a: town, c: crate}
    requires: ["at(v, a)", "aboard(c, v)"]
    provides: ["sold(c)", "not aboard(c, v)"]
    modifies: ["earned += 5"]
---
problem: tour
objects: {t: van, x: town, y: town, c1: crate, c2: crate}
initial: ["at(t, x)", "road(x, y)", "road(y, x)", "aboard(c1, t)", "aboard(c2, t)"]
values: {driven: 0, earned: 0}
goal: ["sold(c1)", "sold(c2)"]
metric: "minimize driven - 2 * earned"
"""


def found_in_pddl(*changes: tuple[str, str]) -> list[Finding]:
    texts = [DOMAIN, PROBLEM]
    for old, new in changes:
        assert any(old in text for text in texts), old
        texts = [text.replace(old, new) for text in texts]
    return list(check_texts([SourceText("d.pddl", texts[0]), SourceText("p.pddl", texts[1])]).findings)


def found_in_yaml(*changes: tuple[str, str]) -> list[Finding]:
    text = FUEL
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return list(check_texts([SourceText("vans.yaml", text)]).findings)


def lines(findings: list[Finding], rule: str) -> list[int]:
    return [each.span.line for each in findings if each.rule == rule and each.span]


def test_models_without_a_slip_are_clean() -> None:
    assert found_in_pddl() == []
    assert found_in_yaml() == []


@pytest.mark.parametrize(
    ("old", "new", "rule", "line"),
    [
        ("(not (= ?p ?q))", "(= ?p ?q)", "equal-parameters", 17),
        ("(aboard ?q) (not (= ?p ?q))", "(aboard ?q)", "void-parameter", 16),
        ("(or (steady) (calm))", "(and (steady) (calm))", "void-group", 17),
        ("(or (steady) (calm))", "(exists (?x - pilot) (imply (rested ?x) (aboard ?x)))", "exists-implies", 17),
        (
            "(aboard ?p))\n",
            "(when (exists (?b - berth) (imply (free ?b) (calm))) (aboard ?p)))\n",
            "exists-implies",
            10,
        ),
        (":parameters (?p - pilot)\n", ":parameters (?p - person)\n", "wide-type", 8),
        ("(:goal (and (ready) (sleeps ann b2)))", "(:goal (and (ready) (steady)))", "given-goal", 5),
    ],
)
def test_slips_of_parameters_and_goals(old: str, new: str, rule: str, line: int) -> None:
    assert lines(found_in_pddl((old, new)), rule) == [line]


@pytest.mark.parametrize(
    "condition",
    [
        "(forall (?x - pilot) (imply (rested ?x) (aboard ?x)))",
        "(exists (?x - pilot) (imply (steady) (aboard ?x)))",
        "(exists (?x - pilot) (and (rested ?x) (aboard ?x)))",
    ],
)
def test_other_quantified_conditions_are_not_told(condition: str) -> None:
    assert not lines(found_in_pddl(("(or (steady) (calm))", condition)), "exists-implies")


def test_one_that_moves_without_an_inequality_beside_two_that_have_it() -> None:
    hop = """  (:action {0}
    :parameters (?p - pilot ?a ?b - berth)
    :precondition (and (aboard ?p) (sleeps ?p ?a) {1})
    :effect (and (not (sleeps ?p ?a)) (sleeps ?p ?b)))
"""
    guard = "(not (= ?a ?b)) (ready)"
    clean = ("  (:action sail", hop.format("hop", guard) + "  (:action sail")
    slip = ("  (:action sail", hop.format("hop", guard) + hop.format("jump", "(calm)") + "  (:action sail")
    assert lines(found_in_pddl(clean), "void-parameter") == []
    assert lines(found_in_pddl(slip), "void-parameter") == [20]


def test_a_cost_that_is_maximised() -> None:
    findings = found_in_yaml(("minimize driven - 2 * earned", "maximize driven"))
    assert lines(findings, "endless-metric") == [26]
    assert lines(found_in_yaml(("minimize driven - 2 * earned", "maximize earned")), "endless-metric") == []


def test_a_gain_that_is_minimised_without_a_bound() -> None:
    findings = found_in_yaml(("driven += 3", "driven -= 3"), ("driven - 2 * earned", "driven"))
    assert lines(findings, "endless-metric") == [26]
    assert (
        lines(found_in_yaml(("parameters: []}\n  earned", "parameters: [], low: 0}\n  earned")), "endless-metric") == []
    )


def test_a_relation_that_is_mutual_by_its_name() -> None:
    twins = ("(steady))\n  (:goal", "(steady) (adjacent b1 b2){0})\n  (:goal")
    declare = ("(sleeps ?p - person ?b - berth)", "(sleeps ?p - person ?b - berth) (adjacent ?a ?b - berth)")
    require = ("(free ?to) (not", "(free ?to) (adjacent ?from ?to) (not")
    one_way = found_in_pddl((twins[0], twins[1].format("")), declare, require)
    assert lines(one_way, "one-way-fact") == [4]
    both = found_in_pddl((twins[0], twins[1].format(" (adjacent b2 b1)")), declare, require)
    assert both == []
