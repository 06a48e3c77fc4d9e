"""Mended plans with numbers keep as much as trying every choice says, and they work."""

from __future__ import annotations

import random
from dataclasses import replace

import random_plans
import repair_twins
from brute_force import TooManyStates
from numeric_plans import random_plan

from planner import Domain, Status, Step, mend, solve, validate
from planner.errors import InputError
from planner.model import Metric
from planner.testing import steps_from
from planner.validation.validate import check_steps


def depot(fuel, metric="cost"):
    """Return the problem to drive from a over b to c, at 6 units of fuel each; stations sell 5 units at b and c."""
    domain = Domain("depot", types=["place"])
    domain.function("fuel", low=0, high=20)
    domain.action(
        "drive",
        {"x": "place", "y": "place"},
        requires=["at(x)", "road(x, y)", "fuel >= 6"],
        provides=["at(y)"],
        modifies=["at(_)", "fuel -= 6"],
    )
    domain.action("fill", {"x": "place"}, requires=["at(x)", "station(x)"], modifies=["fuel += 5"], cost=3)
    facts = ["at(a)", "road(a, b)", "road(b, c)", "station(b)", "station(c)"]
    objects = dict.fromkeys("abc", "place")
    return domain.problem(objects=objects, initial=[*facts, f"fuel = {fuel}"], goal=["at(c)"], metric=metric)


DRIVES = steps_from("drive(a, b)\ndrive(b, c)")


def test_a_missing_refuel_is_put_in():
    found = mend(depot(7), DRIVES)
    assert (found.status, found.kept, found.extra) == (Status.OPTIMAL, (0, 1), 3)
    assert [str(step) for step in found.steps] == ["drive(a, b)", "fill(b)", "drive(b, c)"]


def test_a_refuel_that_the_tank_does_not_hold_is_left_out():
    full = steps_from("drive(a, b)\nfill(b)\nfill(b)\ndrive(b, c)\nfill(c)")
    found = mend(depot(19), full)
    assert (found.status, found.left_out, found.extra) == (Status.OPTIMAL, (2,), 0)


def test_a_plan_that_works_is_kept_and_one_that_cannot_work_is_not_mended():
    assert mend(depot(12), DRIVES).status is Status.OPTIMAL
    assert mend(depot(12), DRIVES).inserted == ()
    found = mend(depot(5), DRIVES)
    assert (found.status, found.steps) == (Status.UNSOLVABLE, None)


def test_the_best_plan_that_keeps_as_many_is_proved_under_a_metric_of_numbers():
    found = mend(depot(7, "minimize fuel"), DRIVES)
    assert (found.status, found.keeps_most, found.kept) == (Status.OPTIMAL, True, (0, 1))
    assert validate(depot(7, "minimize fuel"), found.plan).valid
    assert found.cost >= solve(depot(7, "minimize fuel")).cost


def test_no_plan_keeps_more():
    left = []
    for seed in range(120):
        rng, plan = random.Random(seed), random_plan(seed)
        if plan is None:
            continue
        plan = replace(plan, problem=replace(plan.problem, metric=Metric.COST))
        for _ in range(rng.randint(1, 3)):
            plan = random_plans.spoiled(plan, rng)
        problem, steps = plan.problem, (*plan.steps, *([Step("dance")] if rng.random() < 0.2 else []))
        try:
            expected = repair_twins.best_mending(problem, steps, most=200)
        except TooManyStates:
            continue
        try:
            found = mend(problem, steps, time_limit=None)
        except InputError:  # two effects on one fluent exclude each other
            continue
        if expected is None:
            assert found.steps is None
            continue
        assert found.status is Status.OPTIMAL, (seed, found)
        assert (len(found.left_out), found.extra) == expected, seed
        assert list(found.kept) == sorted(set(found.kept))
        verdict = check_steps(problem, found.steps, claimed_cost=found.cost)
        assert verdict.valid, verdict.reason
        left.append(found.left_out)
    assert len(left) > 8
    assert any(left)


def test_idle_steps_that_gain_are_done():
    mine = Domain("mine")
    mine.function("gold", low=0, high=5)
    mine.action("dig", modifies=["gold += 1"], cost=0)
    for goal in ([], ["gold >= 1"]):
        problem = mine.problem(values={"gold": 0}, metric="maximize gold", goal=goal)
        for given in ([], [Step("dig")], [Step("dig"), Step("sing")]):
            found = mend(problem, given)
            assert (found.status, len(found.steps), found.cost) == (Status.OPTIMAL, 5, -5)
            assert (found.kept, found.extra) == ((0,) if given else (), found.cost + bool(given))
            assert validate(problem, found.plan).valid
