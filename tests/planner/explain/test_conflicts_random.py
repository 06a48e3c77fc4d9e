"""Conflicts are what they claim to be: without a plan, and smallest, by enumerating the subsets."""

from __future__ import annotations

import itertools
import random

from effort import share
from random_tasks import with_random_constraints

from benchmarks.random_problems import Features, random_problem
from planner import Domain, Status, solve
from planner.explain.conflicts import Kind, demands_of, find_conflicts, keep_demands
from planner.language.declare import always, before, forbidden, never
from planner.limits import Limits
from planner.model import COST


def trip(**demands):
    domain = Domain("trip")
    domain.predicate("lost")
    domain.action("fly", {}, provides=["there"], uses={"money": 200}, cost=1, duration=3600)
    domain.action("ride", {}, provides=["there"], uses={"money": 50}, cost=5, duration=36000)
    domain.action("see", {}, requires=["there"], provides=["seen"])
    return domain.problem(goal=["seen"], **demands)


def test_demands_that_clash_are_named_and_no_others() -> None:
    problem = trip(
        constraints=[forbidden("ride"), before("there", "seen"), never("lost")], budgets={"money": 100, COST: 50}
    )
    (found,) = find_conflicts(problem, Limits(10))
    assert {each.kind for each in found.demands} == {Kind.GOAL, Kind.CONSTRAINT, Kind.BUDGET}
    assert "money at most 100" in str(found)
    assert "ride" in str(found)
    assert "cost" not in str(found)
    assert "lost" not in str(found)
    assert found.smallest


def test_several_conflicts_are_found() -> None:
    problem = trip(constraints=[forbidden("ride"), forbidden("fly")], budgets={"money": 20})
    found = find_conflicts(problem, Limits(10))
    sets = [{str(each) for each in conflict.demands} for conflict in found]
    assert len(found) == 2
    assert any("money at most 20" in each for each in sets)
    assert any(len(each) == 3 for each in sets)


def test_a_deadline_is_a_demand() -> None:
    (found,) = find_conflicts(trip(constraints=[forbidden("fly")], deadline=7200), Limits(10))
    assert {each.kind for each in found.demands} == {Kind.GOAL, Kind.CONSTRAINT, Kind.DEADLINE}


def test_a_problem_with_a_plan_has_none() -> None:
    assert find_conflicts(trip(constraints=[always("not lost")]), Limits(10)) == ()


def test_conflicts_of_random_problems_are_smallest_sets_without_a_plan() -> None:
    compared = 0
    for seed in share(range(60), 4):
        problem = with_random_constraints(random_problem(seed), random.Random(seed), Features())
        demands = demands_of(problem)
        if not 2 <= len(demands) <= 6 or solve(problem, mode="first").status is not Status.UNSOLVABLE:
            continue
        compared += 1
        none = {
            chosen
            for size in range(len(demands) + 1)
            for chosen in itertools.combinations(range(len(demands)), size)
            if not solve(keep_demands(problem, [demands[each] for each in chosen]), mode="first").has_plan
        }
        least = {frozenset(each) for each in none if not any(set(other) < set(each) for other in none)}
        found = find_conflicts(problem, Limits(20))
        assert found
        for conflict in found:
            assert conflict.smallest
            assert frozenset(demands.index(each) for each in conflict.demands) in least
        if len(least) <= 2:
            assert len(found) == len(least)
    assert compared
