"""Candidates that are found by solving again and again, against all multisets of steps of tiny problems."""

from __future__ import annotations

import threading
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import pytest
from pairs.decompositions import Network, decompose
from pairs.enumeration import Optimum, best_sequence
from pairs.happenings import best_in_time
from pairs.interpreter import World

from htn.language.declare import Methods
from htn.model import HtnProblem
from planner import (
    Domain,
    StoppedBy,
    at_most,
    candidates,
    diverse,
    done,
    k_best,
    rank,
    schedule,
    validate,
)
from planner.compilations.other_plans import count_steps, forbid_plans
from planner.errors import UnsupportedError
from planner.model import Atom, Problem
from planner.model.problem import NumericMetric
from planner.model.timing import TOTAL_TIME
from planner.plan import Plan, Step, StepTime
from planner.problem_kinds import resolve_problem
from planner.validation.timed_replay import price_plan

Multiset = tuple[Atom, ...]
STEPS = 3
"""Most steps of the plans that are enumerated."""


def tell(atoms: Any) -> Multiset:
    return tuple(sorted(atoms, key=str))


def enumerate_plans(problem: Problem | HtnProblem, *, in_time: bool) -> dict[Multiset, Fraction]:
    """Return the least charge of each multiset of steps that is a plan, but of those with steps to spare."""
    problem = resolve_problem(problem)
    classical = problem.classical if isinstance(problem, HtnProblem) else problem
    world = World(classical)
    start = world.start()
    if isinstance(problem, HtnProblem):
        networks = decompose(problem, world, start)
    else:
        steps = {ground.head for ground in world.ground(start)}
        networks = [
            Network(chosen, (frozenset(),) * len(chosen))
            for size in range(STEPS + 1)
            for chosen in combinations_with_replacement(sorted(steps, key=str), size)
        ]
    found: dict[Multiset, Fraction] = {}
    for network in networks:
        if in_time:
            timed = best_in_time(world, start, network)
            plan = None if timed is None else Optimum(*timed)
        else:
            plan = best_sequence(world, start, network)
        if plan is not None:
            key = tell(plan.steps)
            found[key] = min(plan.charge, found.get(key, plan.charge))
    plans = found.items()
    return {key: charge for key, charge in plans if not any(spares(key, charge, *each) for each in plans)}


def spares(key: Multiset, charge: Fraction, other: Multiset, less: Fraction) -> bool:
    """Return whether `other` is a cheaper plan with some of the steps of `key`."""
    return other != key and less <= charge and Counter(other) <= Counter(key)


def list_all(problem: Any, **options: Any) -> tuple[dict[Multiset, Fraction], list[Plan]]:
    found = candidates(problem, time_limit=60, **options)
    plans = list(found)
    assert found.complete, found.reason
    for plan in plans:
        assert validate(problem, plan).valid
    charges = [plan.charge for plan in plans]
    assert charges == sorted(charges)
    told = {tell([Atom(step.action, step.arguments) for step in plan.steps]): Fraction(plan.charge) for plan in plans}
    assert len(told) == len(plans)
    return told, plans


MAKESPAN = NumericMetric(TOTAL_TIME)


def make_errands() -> Domain:
    """Return a domain in which a thing is bought, or made of two parts, which are fetched or ordered."""
    shop = Domain("shop", types=["part"])
    shop.predicate("closed")
    shop.action("buy", provides=["have"], cost=7, duration=6)
    shop.action("fetch", {"what": "part"}, provides=["got(what)"], cost=2, duration=2)
    shop.action("order", {"what": "part"}, provides=["got(what)"], cost=1, duration=3)
    shop.action("make", requires="(forall (?p - part) (got ?p))", provides=["have"], cost=1, duration=3)
    shop.action("look", provides=["seen"], cost=0, duration=1)
    return shop


def ask(**more: Any) -> Problem:
    """Return a problem in time, as the shop closes, whose plans are compared by their costs."""
    given = {"objects": {"left": "part", "right": "part"}, "goal": ["have"], "timed": {"20": "closed"}}
    return make_errands().problem(**{**given, **more})


def test_plans_in_time_are_those_of_the_enumeration() -> None:
    problem = ask()
    told, _ = list_all(problem)
    assert told == enumerate_plans(problem, in_time=True)
    assert len(told) == 5


def test_plans_in_time_keep_constraints() -> None:
    problem = ask(constraints=[at_most(1, done("order(_)"))])
    told, _ = list_all(problem)
    assert told == enumerate_plans(problem, in_time=True)
    assert len(told) == 4


def make_stall(**more: Any) -> Problem:
    """Return a problem in which the price may be raised before a sale."""
    stall = Domain("stall")
    stall.function("price", low=0, high=3)
    stall.function("profit")
    stall.action("raise", modifies=["price += 1"], cost=0)
    stall.action("sell", requires=["not sold"], provides=["sold"], modifies=["profit += price"], cost=0)
    stall.action("give", requires=["not sold"], provides=["sold"], cost=0)
    metric = NumericMetric(Atom("profit"), maximize=True)
    return stall.problem(goal=["sold"], initial=["price = 1", "profit = 0"], metric=metric, **more)


def test_plans_whose_costs_depend_on_numbers() -> None:
    told, plans = list_all(make_stall())
    assert told == enumerate_plans(make_stall(), in_time=False)
    assert [plan.charge for plan in plans] == [-3, -2, -1, 0]
    near = k_best(make_stall(), None, within=1.4, time_limit=60)
    assert [plan.charge for plan in near.plans] == [-3, -2]
    assert near.proved


def make_way(**more: Any) -> HtnProblem:
    trips = Domain("trips")
    trips.action("walk", provides=["there"], cost=9, duration=9)
    trips.action("buy_ticket", provides=["ticket"], cost=2, duration=1)
    trips.action("ride", requires=["ticket"], provides=["there"], cost=3, duration=2)
    trips.action("pack", provides=["packed"], cost=1, duration=4)
    how = Methods(trips)
    how.task("travel")
    how.method("on_foot", task="travel", subtasks=["walk"])
    how.method("by_bus", task="travel", subtasks=["buy_ticket", "ride"])
    how.method("early", task="travel", subtasks=["buy_ticket", "pack", "ride"])
    return how.problem(tasks=["pack", "travel"], ordered=False, **more)


def test_plans_of_tasks_in_time() -> None:
    problem = make_way(metric=MAKESPAN)
    expected = enumerate_plans(problem, in_time=True)
    plans = list(candidates(problem, time_limit=60))
    told = {tell([Atom(step.action, step.arguments) for step in plan.steps]): plan.charge for plan in plans}
    assert told == expected
    assert len(plans) == len(expected) == 2
    assert all(validate(problem, plan).valid for plan in plans)
    assert all(plan.tree is not None for plan in plans)


def test_plans_of_tasks_with_a_deadline() -> None:
    plans = list(candidates(make_way(deadline=8), time_limit=60))
    assert [[step.action for step in plan.steps].count("walk") for plan in plans] == [0]


def test_a_step_that_is_taken_twice_at_once_is_counted() -> None:
    mill = Domain("mill")
    mill.function("sacks", low=0)
    mill.action("carry", modifies=["sacks += 1"], duration=2)
    mill.action("drive", modifies=["sacks += 2"], duration=9)
    problem = mill.problem(goal=["sacks >= 2"], initial=["sacks = 0"], metric=MAKESPAN)
    twice = Plan((Step("carry", ()), Step("carry", ())), problem)
    assert count_steps(problem, twice.steps) == {Atom("carry"): 2}
    compiled = forbid_plans(resolve_problem(problem), [twice])
    for names, is_plan in ((["carry", "carry"], False), (["drive"], True), (["carry", "drive"], True)):
        times = tuple([StepTime(0, 2 if name == "carry" else 9) for name in names])
        plan = price_plan(Plan(tuple([Step(name, ()) for name in names]), compiled, times=times))
        assert validate(compiled, plan).valid is is_plan
    first = next(candidates(problem, time_limit=30))
    assert [step.action for step in first.steps] == ["carry", "carry"]


def make_office(**more: Any) -> Problem:
    office = Domain("office", types=["ticket"])
    office.predicate("closed")
    office.action("file", creates={"t": "ticket"}, provides=["open(t)"], duration=1)
    office.action("ring", provides=["told"], duration=5)
    office.action("close", {"t": "ticket"}, requires=["open(t)"], provides=["told"], duration=1)
    return office.problem(
        objects={"old": "ticket"}, initial=["open(old)"], goal=["told"], timed={"9": "closed"}, **more
    )


def test_objects_that_steps_create_have_no_names() -> None:
    problem = make_office()
    plans = k_best(problem, 3, time_limit=30).plans
    told = sorted([sorted([step.action for step in plan.steps]) for plan in plans])
    assert told == [["close"], ["close", "file"], ["ring"]]
    counts = count_steps(problem, [Step("file", ("x",)), Step("close", ("x",)), Step("close", ("old",))])
    assert counts == {Atom("file"): 1, Atom("close", ("_",)): 1, Atom("close", ("old",)): 1}


def test_a_soft_goal_that_a_plan_forgoes_may_be_reached_by_more_steps() -> None:
    problem = ask(goal={"hard": "have", "soft": {"seen": 5}})
    plans = k_best(problem, 2, time_limit=30).plans
    assert [plan.charge for plan in plans] == [3, 4]
    plans = k_best(ask(goal={"hard": "have", "soft": {"(not (got left))": 2}}), 3, time_limit=30).plans
    assert [plan.charge for plan in plans] == [5, 6, 6]


def test_plans_on_suppositions() -> None:
    door = Domain("door")
    door.action("push", requires=["not locked"], provides=["inside"], cost=1)
    door.action("knock", provides=["inside"], cost=5)
    problem = door.problem(goal=["inside"], unknown=["locked"])
    plans = list(candidates(problem, time_limit=30))
    assert [[str(step) for step in plan.steps] for plan in plans] == [["push()"], ["knock()"]]
    assert [len(plan.suppositions) for plan in plans] == [1, 0]


def test_problems_without_a_plan_have_no_candidates() -> None:
    found = k_best(ask(goal=["seen", "not seen"]), 3)
    assert not found.plans
    assert found.complete


def test_a_plan_without_steps_is_the_only_one() -> None:
    found = k_best(ask(initial=["have"]), 3)
    assert [len(plan) for plan in found.plans] == [0]
    assert found.complete
    assert found.proved


def test_the_plans_so_far_are_returned_on_cancellation() -> None:
    cancel = threading.Event()
    found = candidates(ask(), cancel=cancel, time_limit=60)
    first = next(found)
    cancel.set()
    assert list(found) == []
    assert found.stopped_by is StoppedBy.CANCELLED
    assert first.charge == found.lower_bound
    assert not found.complete


@pytest.mark.parametrize("option", ["orders", "wasteful"])
def test_options_about_what_is_not_listed_are_refused(option: str) -> None:
    with pytest.raises(UnsupportedError, match=option) as refused:
        next(candidates(ask(), **{option: True}))
    assert refused.value.hint == f"leave `{option}` out"


def test_other_functions_take_the_plans() -> None:
    plans = k_best(ask(), 5, time_limit=60).plans
    assert rank(plans, "duration").best in plans
    assert [schedule(plan).makespan for plan in plans] == [plan.makespan for plan in plans]
    far = diverse(ask(), 2, within=3, time_limit=60)
    assert far.diversity is not None
    assert far.diversity.least == 1
    assert far.plans[0].charge == plans[0].charge
    with pytest.raises(UnsupportedError, match="by='actions' compares plans by their steps"):
        diverse(ask(), 2, by="links", time_limit=60)
