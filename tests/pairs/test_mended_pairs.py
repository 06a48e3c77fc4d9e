"""Mended plans of pairs of features: what is proved about the kept steps is so, by the enumeration."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from pairs.answering_services import change
from pairs.enumeration import optimum
from pairs.features import PAIRS
from pairs.mendings import best_mending
from pairs.services import Case

from planner import Status, Step, mend, validate
from planner.model import Atom
from planner.model.actions import Constraint, ConstraintKind, Done
from planner.repair.mending import Mended

MARKED = ("soft_goals", "soft_constraints", "unknown", "tasks_total", "tasks_partial", "minimized", "deadline")
"""Features whose plans are mended by plans of `solve`."""
LONG = ("numbers", "duration_effects", "created", "listings", "tasks_derived", "maximized")
"""Features with many sequences, or with claims that are weaker than what is proved of sequences."""
IN_TIME = ("windows", "timed_events", "due", "durations", "capacities", "ranges")
SEQUENTIAL = [pair for pair in PAIRS if {*pair} & {*MARKED[:-1]} and not {*pair} & {*LONG, *IN_TIME, "deadline"}]
TIMED = [pair for pair in PAIRS if {*pair} & {"windows", "durations", "deadline"} and not {*pair} & {*LONG, "unknown"}]


def spoil(case: Case, rng: random.Random) -> list[Step]:
    """Return the steps of a plan, some of them left out, in another order, or of other places."""
    steps = [Step(each.action, each.arguments) for each in case.plan.steps]
    steps.pop(rng.randrange(len(steps)))
    if len(steps) > 1 and rng.random() < 0.7:
        place = rng.randrange(len(steps) - 1)
        steps[place : place + 2] = steps[place : place + 2][::-1]
    if rng.random() < 0.5:
        steps.insert(rng.randrange(len(steps) + 1), Step("go", ("home", "mid")))
    if rng.random() < 0.2:
        steps.append(Step("dance"))
    return steps


def mend_case(case: Case, steps: list[Step]) -> Mended:
    """Mend the steps, and check that the plan works and keeps what it says."""
    found = mend(case.problem, steps, time_limit=3)
    assert found.status in (Status.OPTIMAL, Status.SOLVED), found.reason
    assert validate(case.problem, found.plan).valid
    assert list(found.kept) == sorted({*found.kept})
    for step, origin in zip(found.steps, found.origins, strict=True):
        assert origin is None or (step.action, step.arguments) == (steps[origin].action, steps[origin].arguments)
    return found


@pytest.mark.parametrize("seed", range(96))
def test_no_sequence_keeps_more_or_costs_less(seed: int) -> None:
    rng = random.Random(seed)
    case = Case(rng.choice(SEQUENTIAL), 3)
    steps = spoil(case, rng)
    found = mend_case(case, steps)
    best = best_mending(case.problem, tuple([Atom(each.action, each.arguments) for each in steps]))
    assert best is not None
    mine = len(found.left_out), Fraction(found.plan.charge)
    assert best <= mine
    assert not found.keeps_most or found.plan.suppositions or mine[0] == best[0]
    assert found.status is not Status.OPTIMAL or mine == best
    assert case.is_uncertain or found.plan.suppositions or found.keeps_most


@pytest.mark.parametrize("seed", range(48))
def test_plans_in_time_that_are_proved_the_best_keep_all_steps(seed: int) -> None:
    rng = random.Random(seed)
    case = Case(rng.choice(TIMED), 3)
    steps = spoil(case, rng)
    found = mend_case(case, steps)
    if found.status is not Status.OPTIMAL:
        return
    kept = [Atom(steps[place].action, steps[place].arguments) for place in found.kept]
    asked = [Constraint(ConstraintKind.SOMETIME, Done(each)) for each in kept]
    truth = optimum(change(case, constraints=(*case.classical.constraints, *asked)))
    assert truth is not None
    assert truth.charge == Fraction(found.plan.charge)
