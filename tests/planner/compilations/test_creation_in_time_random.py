"""Created objects in time, against the enumeration of all schedules in which three objects may be created."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import pytest
from constraints_in_time import read_watch

from benchmarks.random_temporal import SEPARATION
from benchmarks.temporal_brute import TooManyStates, find_fewest_steps, find_least_makespan
from benchmarks.temporal_constraints import MonitoredSemantics, Watch
from planner import Domain, Status, solve, validate
from planner.lightweight import replace
from planner.model.formulas import TRUE
from planner.model.problem import Metric
from planner.model.timing import GoalDeadline

FLAGS = ("f0", "f1", "f2")
KINDS = ("p", "q", "r")
OBJECTS = ("k1", "k2", "k3")


class Workshop:
    """Actions that create things, change their state, and set flags by them; for the planner, and as PDDL."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.domain = Domain("workshop", types=["thing"])
        for flag in FLAGS:
            self.domain.predicate(flag)
        for kind in (*KINDS, "made"):
            self.domain.predicate(kind, "thing")
        self.text: list[str] = []
        for number in range(rng.choice([1, 1, 2])):
            self._create(f"create{number}")
        for number in range(rng.choice([1, 2])):
            self._change(f"change{number}")
        self._deliver()
        self.initial = [flag for flag in FLAGS if rng.random() < 0.5]
        self.goal = rng.sample(FLAGS, rng.choice([1, 2]))

    def _write(
        self, name: str, needs: list[str], begins: list[str], ends: list[str], ticks: int, *, creates: bool
    ) -> None:
        """Write an action about `?k` in PDDL; a created object is free before, and there from the end."""
        conditions = [*needs, "(free ?k)" if creates else "(there ?k)"]
        start = [*begins, *(["(not (free ?k))"] if creates else [])]
        end = [*ends, *(["(there ?k)"] if creates else [])]
        told = " ".join(
            [*[f"(at start {each})" for each in start], *[f"(at end {each})" for each in end]],
        )
        self.text.append(
            f"(:durative-action {name} :parameters (?k - thing) :duration (= ?duration {ticks}) :condition (and "
            f"{' '.join(f'(at start {each})' for each in conditions)}) :effect (and {told}))"
        )

    def _create(self, name: str) -> None:
        rng, ticks = self.rng, self.rng.randint(1, 2)
        kind, flag = rng.choice(KINDS[:2]), rng.choice(FLAGS)
        needs, ends_flag = rng.random() < 0.5, rng.random() < 0.5
        self.domain.action(
            name,
            requires=[flag] if needs else [],
            provides=[f"{kind}(k)", *([f"not {flag}"] if ends_flag else [])],
            creates={"k": "thing"},
            duration=ticks * Decimal("0.001"),
        )
        self._write(
            name,
            [f"({flag})"] if needs else [],
            [f"(not ({flag}))"] if ends_flag else [],
            [f"({kind} ?k)"],
            ticks,
            creates=True,
        )

    def _change(self, name: str) -> None:
        rng, ticks = self.rng, self.rng.randint(1, 3)
        before, after = rng.choice(KINDS), rng.choice(KINDS)
        stays, flag = rng.random() < 0.5, rng.choice([None, *FLAGS])
        ends = [f"not {before}(k)"] if not stays and before != after else []
        self.domain.action(
            name,
            {"k": "thing"},
            requires=[f"{before}(k)", *([flag] if flag else [])],
            provides=[f"{after}(k)", *ends],
            duration=ticks * Decimal("0.001"),
        )
        self._write(
            name,
            [f"({before} ?k)", *([f"({flag})"] if flag else [])],
            [f"(not ({before} ?k))"] if ends else [],
            [f"({after} ?k)"],
            ticks,
            creates=False,
        )

    def _deliver(self) -> None:
        for place, flag in enumerate(FLAGS):
            kind = self.rng.choice(KINDS)
            name = f"deliver{place}"
            self.domain.action(
                name,
                {"k": "thing"},
                requires=[f"{kind}(k)"],
                provides=[flag, f"not {kind}(k)"],
                duration=Decimal("0.001"),
            )
            self._write(name, [f"({kind} ?k)"], [f"(not ({kind} ?k))"], [f"({flag})"], 1, creates=False)

    def semantics(self, watches: list[Watch]) -> MonitoredSemantics:
        """Return what the PDDL means, where three objects may be taken."""
        flags = " ".join(f"({flag})" for flag in FLAGS)
        predicates = f"{flags} {' '.join(f'({kind} ?k - thing)' for kind in (*KINDS, 'there', 'free'))}"
        domain = f"(define (domain d) (:types thing) (:predicates {predicates}) {' '.join(self.text)})"
        init = [*[f"({flag})" for flag in self.initial], *[f"(free {name})" for name in OBJECTS]]
        problem = (
            f"(define (problem p) (:domain d) (:objects {' '.join(OBJECTS)} - thing) (:init {' '.join(init)}) "
            f"(:goal (and {' '.join(f'({flag})' for flag in self.goal)})))"
        )
        return MonitoredSemantics(domain, problem, 1, watches)


def compare(seed: int) -> str:
    workshop = Workshop(seed)
    rng = workshop.rng
    by_length, watches = rng.random() < 0.3, list[Watch]()
    if rng.random() < 0.4:
        flag = ("fact", (rng.choice(FLAGS),))
        watches = [Watch("most", flag, times=0) if rng.random() < 0.5 else Watch("sometime", flag)]
    deadline = rng.randint(2, 9) if rng.random() < 0.3 else None
    problem = workshop.domain.problem(
        initial=workshop.initial,
        goal=workshop.goal,
        constraints=[],
        objective="makespan",
        deadline=None if deadline is None else deadline * Decimal("0.001"),
        capacity={},
    )
    problem = replace(problem, constraints=tuple(map(read_watch, watches)))
    if by_length:
        problem = replace(problem, metric=Metric.LENGTH, due=(GoalDeadline(TRUE, 1),))
    semantics = workshop.semantics(watches)
    try:
        least = find_least_makespan(semantics, 3_000)
        truth = find_fewest_steps(semantics, 3_000) if by_length else least
    except TooManyStates:
        return "too many"
    if deadline is not None and (least is None or least > deadline or by_length):
        truth = None
    result = solve(problem, mode="optimal", time_limit=3)
    assert result.status is not Status.UNSUPPORTED, (seed, result.reason)
    if result.plan is not None:
        verdict = validate(problem, result.plan)
        assert verdict.valid, (seed, verdict.reason)
    if truth is not None:
        least_cost = truth * (Fraction(1) if by_length else SEPARATION)
        assert result.status is not Status.UNSOLVABLE, (seed, result.reason)
        assert result.lower_bound is None or Fraction(result.lower_bound) <= least_cost, seed
        if result.status is Status.OPTIMAL:
            assert Fraction(result.expect_plan().cost) <= least_cost, seed
    return result.status.name


@pytest.mark.parametrize("block", range(36))
def test_what_is_said_of_created_objects_in_time_holds(block: int) -> None:
    for seed in range(10 * block, 10 * block + 10):
        compare(seed)
