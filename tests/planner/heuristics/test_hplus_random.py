"""Cheapest relaxed plans, against brute force over all sets of actions, and what becomes of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from search_twins import action, fact_names, finished, perfect, random_task, replayed

from planner.heuristics.hplus import find_relaxed_plans
from planner.heuristics.relaxation import relax
from planner.limits import never
from planner.search import Ending, Run, Space
from planner.search.relaxed_plans import order_relaxed_plan, try_relaxed_plans
from planner.task.ground_task import INFINITY, ConditionalEffect, Task

seeds = st.integers(0, 10**9)


def relaxed_plans_of(task, work=10**9):
    return find_relaxed_plans(task, [action.cost for action in task.actions], never, work)


def is_relaxed_plan(relaxed, initial, chosen):
    """Whether the goal is reached when nothing is deleted and only `chosen` actions are carried out."""
    holds, before = {*initial, relaxed.start}, 0
    while len(holds) > before:
        before = len(holds)
        for needed, added, number in zip(relaxed.preconditions, relaxed.effects, relaxed.actions, strict=True):
            if (number < 0 or number in chosen) and holds.issuperset(needed):
                holds.update(added)
    return relaxed.goal in holds


def cheapest_sets(task):
    """Return the least cost of a relaxed plan, and all that cost so much and have no action too many."""
    relaxed, best, found = relax(task), INFINITY, []
    for size in range(len(task.actions) + 1):
        for chosen in map(frozenset, combinations(range(len(task.actions)), size)):
            cost = sum(task.actions[number].cost for number in chosen)
            if cost <= best and is_relaxed_plan(relaxed, task.initial, chosen):
                if cost < best:
                    best, found = cost, []
                if not any(chosen > other for other in found):
                    found.append(chosen)
    return best, set(found)


@given(seeds)
def test_all_cheapest_relaxed_plans_are_found(seed):
    task = random_task(seed)
    assume(len(task.actions) <= 9)
    cheapest, sets = cheapest_sets(task)
    bounds, plans = [], set()
    for bound, plan in relaxed_plans_of(task):
        bounds.append(bound)
        if plan is not None:
            plans.add(plan)
    assert bounds == sorted(bounds)
    assert bounds[-1] == cheapest
    relaxed = relax(task)
    assert all(is_relaxed_plan(relaxed, task.initial, plan) for plan in plans)
    if all(action.cost for action in task.actions):
        assert {plan for plan in plans if sum(task.actions[number].cost for number in plan) == cheapest} == sets


@given(seeds, st.integers(0, 100))
def test_what_is_given_up_has_proved_no_more_than_is_true(seed, work):
    task = random_task(seed)
    assume(len(task.actions) <= 9)
    bounds = [bound for bound, _ in relaxed_plans_of(task, work)]
    assert bounds[-1] <= cheapest_sets(task)[0]


def test_one_action_may_make_two_facts_cheaper_of_which_one_needs_the_other():
    """Then LM-cut must not take the goal for free where it is not."""
    both = ConditionalEffect((1, 3), (2,), ())
    actions = (action(0, adds=[1]), action(1, adds=[3], conditional=[both]))
    task = Task(fact_names(4), ((0,), (1,), (2,), (3,)), (0,), (2,), actions)
    found = list(relaxed_plans_of(task))
    assert found[0] == found[-1] == (2, frozenset({0, 1}))


@given(seeds)
def test_relaxed_plans_that_work_are_cheapest_plans(seed):
    task = random_task(seed)
    optimum, run = perfect(task)[frozenset(task.initial)], Run()
    ending = finished(try_relaxed_plans(Space(task), relaxed_plans_of(task), run))
    assert run.lower_bound <= optimum
    if ending is Ending.EXHAUSTED:
        assert run.lower_bound == optimum
        assert run.plan is None or replayed(task, run.plan) == run.limit == optimum


@given(seeds)
def test_without_deletes_relaxed_plans_always_work(seed):
    task = random_task(seed, axioms=False, conditional=False)
    actions = tuple(replace(each, deletes=()) for each in task.actions)
    variables = tuple((fact,) for variable in task.variables for fact in variable)
    task = replace(task, actions=actions, variables=variables)
    run = Run()
    assert finished(try_relaxed_plans(Space(task), relaxed_plans_of(task), run)) is Ending.EXHAUSTED
    assert (run.plan is None) == (perfect(task)[frozenset(task.initial)] == INFINITY)


@given(seeds)
def test_nothing_is_looked_for_that_costs_as_much_as_the_limit(seed):
    task = random_task(seed)
    optimum = perfect(task)[frozenset(task.initial)]
    run = Run(limit=min(optimum, 20))
    finished(try_relaxed_plans(Space(task), relaxed_plans_of(task), run))
    assert run.plan is None
    assert run.lower_bound <= run.limit


def lamps(*actions) -> Task:
    return Task(fact_names(4), ((0,), (1,), (2,), (3,)), (0,), (1, 2), actions)


def test_who_takes_away_what_others_need_comes_last():
    task = lamps(
        action(0, precondition=[0], adds=[1], deletes=[0]),
        action(1, precondition=[0], adds=[2]),
    )
    assert order_relaxed_plan(Space(task), [0, 1]) == [1, 0]


@pytest.mark.parametrize("deleted", [0, 2])
def test_there_may_be_no_order(deleted):
    task = lamps(
        action(0, precondition=[0], adds=[1], deletes=[deleted]),
        action(1, precondition=[0], adds=[2], deletes=[0, 1]),
    )
    assert order_relaxed_plan(Space(task), [0, 1]) is None
