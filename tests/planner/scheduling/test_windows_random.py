"""Small random tasks whose steps need facts that hold at known times, beside the enumeration of their schedules."""

from __future__ import annotations

import random

import pytest

from benchmarks.temporal_brute import TooManyStates, find_least_makespan
from benchmarks.temporal_semantics import TemporalSemantics
from planner import Status, solve
from planner.language.pddl import parse_domain, parse_problem

FACTS = ("open", "staffed")


def draw_job(rng: random.Random, number: int) -> str:
    """Return a job that needs some of the facts at its start, throughout, or at its end."""
    needs = [(rng.choice(["over all", "at start", "at end", ""]), fact) for fact in FACTS]
    conditions = [f"({when} ({fact}))" for when, fact in needs if when]
    if number and rng.random() < 0.5:
        conditions.append(f"(at start (done{number - 1}))")
    effects = ["(at start (not (open)))"] if rng.random() < 0.1 else []
    if rng.random() < 0.5:
        conditions.append("(at start (lock))")
        effects.append("(at start (not (lock))) (at end (lock))")
    return f"""(:durative-action job{number} :parameters () :duration (= ?duration {rng.randint(1, 5) / 1000})
      :condition (and (at start (todo{number})) {" ".join(conditions)})
      :effect (and (at start (not (todo{number}))) (at end (done{number})) {" ".join(effects)}))"""


def draw(rng: random.Random) -> tuple[str, str]:
    """Return a domain and a problem of up to three jobs and several windows, in ticks of 0.001 s."""
    jobs = range(rng.randint(1, 3))
    predicates = " ".join(f"(todo{number}) (done{number})" for number in jobs)
    init = ["(lock)", *[f"(todo{number})" for number in jobs]]
    for fact in FACTS:
        holds = rng.random() < 0.6
        init += [f"({fact})"] if holds else []
        for tick in sorted(rng.sample(range(1, 14), rng.randint(1, 4))):
            holds ^= rng.random() < 0.9
            init.append(f"(at {tick / 1000} {f'({fact})' if holds else f'(not ({fact}))'})")
    goal = " ".join(f"(done{number})" for number in jobs)
    actions = " ".join(draw_job(rng, number) for number in jobs)
    return (
        f"""(define (domain windows) (:requirements :durative-actions)
          (:predicates (open) (staffed) (lock) {predicates}) {actions})""",
        f"""(define (problem jobs) (:domain windows) (:init {" ".join(init)}) (:goal (and {goal}))
          (:metric minimize (total-time)))""",
    )


@pytest.mark.parametrize("block", range(6))
def test_windows_are_as_enumerated(block: int) -> None:
    rng = random.Random(40 + block)
    for _ in range(40):
        domain, text = draw(rng)
        try:
            least = find_least_makespan(TemporalSemantics(domain, text, 1000), 20_000, 60)
        except TooManyStates:
            continue
        result = solve(parse_problem(text, parse_domain(domain)), mode="optimal", time_limit=1)
        if least is None:
            assert result.plan is None, text
            continue
        assert result.status is not Status.UNSOLVABLE, text
        assert result.lower_bound is None or result.lower_bound * 1000 <= least, text
        if result.plan is not None:
            assert result.plan.makespan is not None
            assert result.plan.makespan * 1000 >= least
            assert result.status is not Status.OPTIMAL or result.plan.makespan * 1000 == least


def test_what_a_step_needs_at_its_end_may_come_while_it_lasts() -> None:
    domain = """(define (domain late) (:requirements :durative-actions) (:predicates (open) (done))
      (:durative-action job :parameters () :duration (= ?duration 3) :condition (at end (open))
        :effect (at end (done))))"""
    text = """(define (problem p) (:domain late) (:init (at 2 (open))) (:goal (done))
      (:metric minimize (total-time)))"""
    result = solve(parse_problem(text, parse_domain(domain)), time_limit=5)
    assert (result.status, result.cost, result.lower_bound) == (Status.OPTIMAL, 3, 3)
