"""Malformed HDDL, and the exact message that each mistake gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from htn.language.hddl import parse_domain, parse_problem
from planner.errors import PddlError

DOMAIN = """\
(define (domain rooms)
  (:types robot room - object hall - room box)
  (:constants lobby - hall)
  (:predicates (at ?r - robot ?x - room) (door ?x ?y - room))
  (:task visit :parameters (?r - robot ?x - room))
  (:task tour :parameters (?r - robot) :precondition () :effect ())
  (:method there
    :parameters (?r - robot ?x - room)
    :task (visit ?r ?x)
    :precondition (at ?r ?x))
  (:method through
    :parameters (?r - robot ?x ?y ?z - room)
    :task (visit ?r ?z)
    :precondition (and (at ?r ?x) (door ?x ?y))
    :subtasks (and (first (move ?r ?x ?y)) (then (visit ?r ?z)))
    :ordering (< first then)
    :constraints (not (= ?x ?y)))
  (:method round
    :parameters (?r - robot ?x - room)
    :task (tour ?r)
    :ordered-subtasks (and (visit ?r ?x) (visit ?r lobby)))
  (:action move
    :parameters (?r - robot ?x ?y - room)
    :precondition (and (at ?r ?x) (door ?x ?y))
    :effect (and (not (at ?r ?x)) (at ?r ?y))))
"""

PROBLEM = """\
(define (problem one)
  (:domain rooms)
  (:objects r2 - robot kitchen - room crate - box)
  (:htn
    :parameters (?x - room)
    :tasks (and (a (visit r2 ?x)) (b (tour r2)))
    :ordering (and (< a b)))
  (:init (at r2 lobby) (door lobby kitchen)))
"""

GOLDEN = Path(__file__).parents[2] / "golden" / "hddl_errors.txt"


def cases() -> list[object]:
    """Return which file is meant, what is replaced in it, by what, and the message."""
    found: list[object] = []
    for block in GOLDEN.read_text(encoding="utf-8").split("\n\n")[1:]:
        title, old, new, message = (line.replace("\\n", "\n") for line in block.strip().split("\n"))
        name, kind = title.split(", ")
        found.append(pytest.param(kind, old[2:], new[2:], message[2:], id=name.replace(" ", "-")))
    return found


def read_changed(kind: str, old: str, new: str) -> None:
    text = DOMAIN if kind == "domain" else PROBLEM
    assert old == "*" or text.count(old) == 1
    text = new if old == "*" else text.replace(old, new)
    if kind == "domain":
        parse_problem(PROBLEM, parse_domain(text, "domain.hddl"), "problem.hddl")
    else:
        parse_problem(text, parse_domain(DOMAIN), "problem.hddl")


def test_the_texts_themselves_are_sound() -> None:
    problem = parse_problem(PROBLEM, parse_domain(DOMAIN))
    assert len(problem.domain.methods) == 3


def test_there_are_enough_cases() -> None:
    assert len(cases()) >= 40


@pytest.mark.parametrize(("kind", "old", "new", "message"), cases())
def test_message(kind: str, old: str, new: str, message: str) -> None:
    with pytest.raises(PddlError) as caught:
        read_changed(kind, old, new)
    assert str(caught.value) == message
