"""The least relaxations of small random tasks in time, beside the enumeration of their schedules tick by tick."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import count

import pytest

from benchmarks.temporal_brute import find_least_makespan
from benchmarks.temporal_semantics import TemporalSemantics
from planner import Limits, Problem, Status, solve, validate
from planner.explain.temporal_promises import Kind, find_promises, relax_problem
from planner.explain.timed_unsolvability import TimedDiagnosis, explain_no_plan_in_time
from planner.language.pddl import parse_domain, parse_problem

MOST_STATES = 20_000
MOST_TICKS = 60


@dataclass(frozen=True)
class Workshop:
    """Jobs `(duration, demand, needs the window throughout, job before)`, a window, and so much of a capacity."""

    jobs: tuple[tuple[int, int, bool, int], ...]
    opens: int
    closes: int
    free: int

    def write(self) -> tuple[str, str]:
        """Return the domain and the problem in PDDL, with ticks of 0.001 s."""
        actions = []
        for number, (lasts, demand, through, before) in enumerate(self.jobs):
            window = "(over all (open))" if through else "(at start (open))"
            prior = f"(at start (done{before}))" if before >= 0 else ""
            actions.append(
                f"(:durative-action job{number} :parameters () :duration (= ?duration {lasts / 1000})"
                f" :condition (and {window} {prior} (at start (todo{number})) (at start (>= (free) {demand})))"
                f" :effect (and (at start (not (todo{number}))) (at start (decrease (free) {demand}))"
                f" (at end (increase (free) {demand})) (at end (done{number}))))"
            )
        facts = " ".join(f"(todo{number}) (done{number})" for number in range(len(self.jobs)))
        domain = f"""(define (domain workshop) (:requirements :durative-actions :numeric-fluents)
          (:predicates (open) {facts}) (:functions (free)) {" ".join(actions)})"""
        opening = f"(at {self.opens / 1000} (open))" if self.opens else "(open)"
        todo = " ".join(f"(todo{number})" for number in range(len(self.jobs)))
        goal = " ".join(f"(done{number})" for number in range(len(self.jobs)))
        problem = f"""(define (problem jobs) (:domain workshop)
          (:init {todo} {opening} (at {self.closes / 1000} (not (open))) (= (free) {self.free}))
          (:goal (and {goal})) (:metric minimize (total-time)))"""
        return domain, problem

    def read(self) -> Problem:
        domain, problem = self.write()
        return parse_problem(problem, parse_domain(domain))

    def enumerate(self) -> int | None:
        """Return the least makespan in ticks."""
        return find_least_makespan(TemporalSemantics(*self.write(), 1000), MOST_STATES, MOST_TICKS)


def draw(rng: random.Random) -> Workshop:
    """Return a workshop, whose window often closes too early."""
    jobs = tuple(
        (rng.randint(1, 4), rng.randint(1, 2), rng.random() < 0.6, rng.choice([-1, -1, number - 1]))
        for number in range(rng.randint(2, 3))
    )
    opens = rng.choice([0, 0, rng.randint(1, 3)])
    return Workshop(jobs, opens, opens + rng.randint(2, 7), rng.randint(1, 2))


def least(more: Callable[[int], Workshop], most: int) -> int | None:
    """Return the least number of units with which a task that is relaxed by `more` has a plan."""
    return next((amount for amount in range(1, most) if more(amount).enumerate() is not None), None)


def compare(found: TimedDiagnosis, task: Workshop) -> int:
    """Compare the relaxations with those enumerated; return how many there were."""
    ways: dict[Kind, Callable[[int], Workshop]] = {
        Kind.WINDOW: lambda amount: replace(task, closes=task.closes + amount),
        Kind.CAPACITY: lambda amount: replace(task, free=task.free + amount),
    }
    for each in found.relaxations:
        amount = least(ways[each.promise.kind], 25 if each.promise.kind is Kind.WINDOW else 6)
        assert each.is_proved, str(found)
        if each.plan is None:
            assert amount is None
            continue
        units = 1000 if each.promise.kind is Kind.WINDOW else 1
        assert each.amount is not None
        assert each.amount * units == amount, str(found)
        relaxed = relax_problem(task.read(), {each.promise: each.amount})
        assert validate(relaxed, replace(each.plan, problem=relaxed)).valid
    return len(found.relaxations)


@pytest.mark.parametrize("block", range(4))
def test_least_relaxations_are_those_enumerated(block: int) -> None:
    rng, tasks, relaxed = random.Random(500 + block), 0, 0
    for _ in count():
        task = draw(rng)
        if task.enumerate() is not None:
            continue
        problem = task.read()
        assert solve(problem, time_limit=5).status is Status.UNSOLVABLE
        found = explain_no_plan_in_time(problem, Limits(10))
        assert found.solvable is False
        for conflict in found.conflicts:
            assert conflict.is_proved
            assert conflict.is_smallest
        relaxed += compare(found, task)
        tasks += 1
        if tasks == 6:
            break
    assert relaxed > 2


@pytest.mark.parametrize("seed", range(8))
def test_the_least_deadline_is_the_least_makespan(seed: int) -> None:
    rng = random.Random(seed)
    task = replace(draw(rng), closes=30, free=2)
    makespan = task.enumerate()
    assert makespan is not None
    problem = replace(task.read(), deadline=Decimal(rng.randint(1, makespan - 1)) / 1000)
    assert Kind.DEADLINE in {each.kind for each in find_promises(problem)}
    found = explain_no_plan_in_time(problem, Limits(5))
    assert found.solvable is False
    for each in found.relaxations:
        if each.promise.kind is Kind.DEADLINE:
            assert each.is_proved
            assert each.most is not None
            assert each.most * 1000 == makespan
    conflict = found.conflicts[0]
    assert conflict.is_smallest
    assert Kind.DEADLINE in {each.kind for each in conflict.promises}
