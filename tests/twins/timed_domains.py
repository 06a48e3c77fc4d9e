"""Small domains in time for tests."""

from __future__ import annotations

from planner.language.pddl import parse_domain, parse_problem
from planner.model import Problem

LAMP = """
(define (domain lamp)
  (:requirements :typing :durative-actions :numeric-fluents :timed-initial-literals)
  (:types desk letter - object)
  (:predicates (lit ?d - desk) (dark ?d - desk) (blank ?l - letter) (written ?l - letter) (awake) (posted ?l - letter)
    (post-open))
  (:functions (length ?l - letter) (ink))
  (:durative-action light
    :parameters (?d - desk)
    :duration (= ?duration 10)
    :condition (at start (dark ?d))
    :effect (and (at start (not (dark ?d))) (at start (lit ?d)) (at end (not (lit ?d))) (at end (dark ?d))))
  (:durative-action write
    :parameters (?l - letter ?d - desk)
    :duration (= ?duration (/ (length ?l) 3))
    :condition (and (at start (blank ?l)) (over all (lit ?d)) (at start (awake)) (at start (>= (ink) 1)))
    :effect (and (at start (not (blank ?l))) (at end (written ?l)) (at start (not (awake))) (at end (awake))
      (at start (decrease (ink) 1))))
  (:durative-action post
    :parameters (?l - letter)
    :duration (and (>= ?duration 1) (<= ?duration 4))
    :condition (and (at start (written ?l)) (over all (post-open)))
    :effect (at end (posted ?l))))
"""
"""Letters are written while a lamp is lit, and posted while the post office is open."""


def letters(
    lengths: tuple[int, ...] = (9, 12), *, goal: str = "written", timed: str = "", ink: int = 5, desks: int = 1
) -> Problem:
    """Return the problem of letters of these `lengths`."""
    names = [f"letter{number}" for number in range(len(lengths))]
    places = [f"desk{number}" for number in range(desks)]
    values = " ".join(f"(= (length {name}) {length})" for name, length in zip(names, lengths, strict=True))
    facts = " ".join([*[f"(blank {name})" for name in names], *[f"(dark {place})" for place in places]])
    text = f"""
    (define (problem some-letters) (:domain lamp)
      (:objects {" ".join(names)} - letter {" ".join(places)} - desk)
      (:init (awake) (= (ink) {ink}) {facts} {values} {timed})
      (:goal (and {" ".join(f"({goal} {name})" for name in names)}))
      (:metric minimize (total-time)))
    """
    return parse_problem(text, parse_domain(LAMP))
