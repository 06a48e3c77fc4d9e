"""Lint of windows and capacities; and other checks see what happens at the moments of a step."""

from __future__ import annotations

from typing import Any

import pytest
from timed_domains import LAMP, letters

from planner import solve
from planner.language.pddl import parse_domain, parse_problem
from planner.lightweight import replace
from planner.lint.problem_lint import check_domain, check_problem
from planner.model import DurationRange, Problem

WINDOW = "(at 5 (post-open)) (at {end} (not (post-open)))"


def rules_of(problem: Problem) -> set[str]:
    return {finding.rule for finding in check_problem(problem)}


def hold(problem: Problem, amount: int, **changes: Any) -> Problem:
    write = replace(problem.domain.actions["write"], holds={"pen": (amount,)}, **changes)
    return replace(
        problem,
        domain=replace(problem.domain, actions={**problem.domain.actions, "write": write}),
        capacity={"pen": 2},
    )


def test_a_sound_domain_in_time_has_no_findings() -> None:
    problem = letters((9,), goal="posted", timed=WINDOW.format(end=9))
    assert [finding for finding in check_problem(problem) if finding.level.name != "HINT"] == []
    assert [finding for finding in check_domain(problem.domain) if finding.level.name != "HINT"] == []
    assert "never-provided" not in rules_of(problem), "the window provides it"


@pytest.mark.parametrize(("end", "is_short"), [("5.5", True), ("6", False), ("9", False)])
def test_windows_that_never_fit_a_duration(end: str, is_short: bool) -> None:
    problem = letters((9,), goal="posted", timed=WINDOW.format(end=end))
    assert ("window-too-short" in rules_of(problem)) is is_short


@pytest.mark.parametrize(
    ("timed", "idle"),
    [
        (WINDOW.format(end=9), 0),
        ("(at 5 (not (post-open))) (at 9 (post-open))", 1),
        ("(at 5 (post-open)) (at 7 (post-open)) (at 9 (not (post-open)))", 1),
    ],
)
def test_changes_that_change_nothing(timed: str, idle: int) -> None:
    found = check_problem(letters((9,), goal="posted", timed=timed))
    assert sum(each.rule == "idle-change" for each in found) == idle


@pytest.mark.parametrize(
    ("problem", "rule"),
    [
        (replace(letters(), capacity={"pen": 1}), "unused-capacity"),
        (hold(letters(), 3), "too-much-held"),
        (hold(letters(), 1, duration=DurationRange(1)), "held-for-ever"),
        (hold(letters(), 1, duration=None), "held-for-no-time"),
    ],
)
def test_capacities(problem: Problem, rule: str) -> None:
    assert rule in rules_of(problem)
    assert rules_of(hold(letters(), 2)).isdisjoint({"too-much-held", "held-for-ever", "unused-capacity"})


def test_what_is_never_provided_is_found_at_every_moment() -> None:
    domain = parse_domain(LAMP.replace("(over all (lit ?d))", "(over all (lamp-lit ?d))").replace("(lit ?d - desk)", ""
        "(lit ?d - desk) (lamp-lit ?d - desk)"))  # fmt: skip
    text = """(define (problem x) (:domain lamp) (:objects l - letter d - desk)
        (:init (blank l) (dark d) (awake) (= (ink) 1) (= (length l) 3)) (:goal (written l)))"""
    assert {"unreachable-goal", "never-provided"} <= rules_of(parse_problem(text, domain))


def test_two_goals_are_no_contradiction_where_a_change_at_a_known_time_makes_both_possible() -> None:
    domain = parse_domain(
        """
        (define (domain radio) (:requirements :durative-actions :typing)
          (:types image mode)
          (:predicates (free) (in_sight) (sent ?i - image ?m - mode))
          (:durative-action send :parameters (?i - image ?m - mode) :duration (= ?duration 2)
            :condition (and (at start (free)) (over all (in_sight)))
            :effect (and (at start (not (free))) (at end (free)) (at end (sent ?i ?m)))))
        """
    )
    problem = parse_problem(
        """
        (define (problem two) (:domain radio) (:objects a b - image m - mode)
          (:init (at 1 (free)) (at 3 (in_sight)) (at 20 (not (in_sight))))
          (:goal (and (sent a m) (sent b m))) (:metric minimize (total-time)))
        """,
        domain,
    )
    assert solve(problem).expect_plan().makespan > 7
    assert [finding for finding in check_problem(problem) if finding.level.name == "ERROR"] == []
