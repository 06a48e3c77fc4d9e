"""Methods beside their sisters: overlapping cases, recursions that stop at once, subtasks too early, wide types."""

from __future__ import annotations

import pytest

from planner.lint.check_files import check_texts
from planner.lint.findings import Finding
from planner.lint.outlines import SourceText

DOMAIN = """\
(define (domain ferries)
  (:requirements :typing :hierarchy :negative-preconditions :method-preconditions)
  (:types vehicle dock load - object
          ferry tug - vehicle)
  (:predicates (at ?v - vehicle ?d - dock) (lane ?a ?b - dock) (waits ?x - load ?d - dock)
               (aboard ?x - load ?f - ferry) (landed ?x - load) (heavy ?x - load) (strapped ?x - load)
               (open ?d - dock) (licensed ?f - ferry))
  (:task carry :parameters (?x - load ?f - ferry ?d - dock))
  (:task reach :parameters (?v - vehicle ?d - dock))
  (:task unlock :parameters (?v - vehicle ?d - dock))

  (:method carry-light
    :parameters (?x - load ?f - ferry ?from ?d - dock)
    :task (carry ?x ?f ?d)
    :precondition (and (waits ?x ?from) (not (heavy ?x)))
    :ordered-subtasks (and (reach ?f ?from) (take ?x ?f ?from) (unlock ?f ?d) (reach ?f ?d) (land ?x ?f ?d)))
  (:method carry-heavy
    :parameters (?x - load ?f - ferry ?from ?d - dock)
    :task (carry ?x ?f ?d)
    :precondition (and (waits ?x ?from) (heavy ?x))
    :ordered-subtasks (and (reach ?f ?from) (strap ?x ?f) (take ?x ?f ?from) (unlock ?f ?d)
                           (reach ?f ?d) (land ?x ?f ?d)))
  (:method is-open
    :parameters (?v - vehicle ?d - dock)
    :task (unlock ?v ?d)
    :precondition (open ?d)
    :ordered-subtasks ())
  (:method open-it
    :parameters (?v - vehicle ?d - dock)
    :task (unlock ?v ?d)
    :precondition (not (open ?d))
    :ordered-subtasks (and (reach ?v ?d) (unbar ?v ?d)))
  (:method there
    :parameters (?v - vehicle ?d - dock)
    :task (reach ?v ?d)
    :precondition (at ?v ?d)
    :ordered-subtasks ())
  (:method onward
    :parameters (?v - vehicle ?a ?b ?d - dock)
    :task (reach ?v ?d)
    :precondition (and (at ?v ?a) (lane ?a ?b))
    :ordered-subtasks (and (cross ?v ?a ?b) (reach ?v ?d)))

  (:action cross
    :parameters (?v - vehicle ?a ?b - dock)
    :precondition (and (at ?v ?a) (lane ?a ?b))
    :effect (and (not (at ?v ?a)) (at ?v ?b)))
  (:action unbar
    :parameters (?v - vehicle ?d - dock)
    :precondition (at ?v ?d)
    :effect (open ?d))
  (:action strap
    :parameters (?x - load ?f - ferry)
    :precondition (licensed ?f)
    :effect (strapped ?x))
  (:action take
    :parameters (?x - load ?f - ferry ?d - dock)
    :precondition (and (at ?f ?d) (waits ?x ?d))
    :effect (and (aboard ?x ?f) (not (waits ?x ?d))))
  (:action land
    :parameters (?x - load ?f - ferry ?d - dock)
    :precondition (and (at ?f ?d) (aboard ?x ?f) (open ?d))
    :effect (and (landed ?x) (not (aboard ?x ?f)))))
"""
PROBLEM = """\
(define (problem two-loads)
  (:domain ferries)
  (:objects f - ferry t - tug n m s - dock car truck - load)
  (:htn :ordered-subtasks (and (carry car f s) (carry truck f s) (reach t m)))
  (:init (at f n) (at t n) (lane n m) (lane m n) (lane m s) (lane s m) (waits car n) (waits truck m) (heavy truck)
         (licensed f))
  (:goal (and (landed car) (landed truck) (strapped truck))))
"""


def found(*changes: tuple[str, str]) -> list[Finding]:
    domain = DOMAIN
    for old, new in changes:
        assert old in domain, old
        domain = domain.replace(old, new)
    return list(check_texts([SourceText("d.hddl", domain), SourceText("p.hddl", PROBLEM)]).findings)


def lines(findings: list[Finding], rule: str) -> list[int]:
    return [each.span.line for each in findings if each.rule == rule and each.span]


def test_methods_without_a_slip_are_clean() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("old", "new", "rule", "line"),
    [
        ("(and (waits ?x ?from) (not (heavy ?x)))", "(waits ?x ?from)", "open-case", 15),
        ("(cross ?v ?a ?b) (reach ?v ?d)", "(cross ?v ?a ?b) (reach ?v ?b)", "idle-recursion", 42),
        (
            "(and (reach ?f ?from) (take ?x ?f ?from) (unlock ?f ?d) (reach ?f ?d) (land ?x ?f ?d))",
            "(and (reach ?f ?from) (take ?x ?f ?from) (unlock ?f ?d) (land ?x ?f ?d) (reach ?f ?d))",
            "wrong-order",
            16,
        ),
        (
            ":parameters (?x - load ?f - ferry)\n    :precondition (licensed ?f)",
            ":parameters (?x - load ?f - vehicle)\n    :precondition (and (licensed ?f) (aboard ?x ?f))",
            "wide-type",
            53,
        ),
    ],
)
def test_slips_of_methods(old: str, new: str, rule: str, line: int) -> None:
    assert lines(found((old, new)), rule) == [line]
