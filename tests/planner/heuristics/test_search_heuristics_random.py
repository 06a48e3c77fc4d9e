"""What each heuristic declares about itself, against the cheapest plans of random tasks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_twins import is_goal, perfect, random_task, reachable

from planner.heuristics import REGISTRY
from planner.limits import never
from planner.search.search_run import IncrementalHeuristic
from planner.task.ground_task import INFINITY, bits
from planner.task.successor_generator import Space

seeds = st.integers(0, 10**9)


def built(name, task):
    return REGISTRY[name].build(task, [action.cost for action in task.actions], never)


@pytest.mark.parametrize("name", REGISTRY)
@given(seed=seeds)
def test_dead_ends_are_dead_where_safe(name, seed):
    assert REGISTRY[name].safe
    task = random_task(seed)
    estimate = built(name, task)
    for state, cost in perfect(task).items():
        value = estimate(bits(state))
        assert value >= 0
        if value >= INFINITY:
            assert cost == INFINITY


@pytest.mark.parametrize("name", [name for name, kind in REGISTRY.items() if kind.admissible])
@given(seed=seeds)
def test_admissible_means_never_more_than_the_cheapest_plan(name, seed):
    task = random_task(seed)
    estimate = built(name, task)
    for state, cost in perfect(task).items():
        assert estimate(bits(state)) <= cost


@pytest.mark.parametrize("name", [name for name, kind in REGISTRY.items() if kind.consistent])
@given(seed=seeds)
def test_consistent_means_never_falling_by_more_than_the_step(name, seed):
    task = random_task(seed)
    estimate = built(name, task)
    for state, below in reachable(task).items():
        for action, child in below:
            assert estimate(bits(state)) <= task.actions[action].cost + estimate(bits(child))


@given(seeds)
def test_what_is_inherited_is_admissible_too(seed):
    task = random_task(seed)
    estimate = built("lmcut", task)
    assert isinstance(estimate, IncrementalHeuristic)
    cheapest, space = perfect(task), Space(task)
    by_number = {bits(state): cost for state, cost in cheapest.items()}
    waiting, seen = [(space.initial, *estimate.evaluate(space.initial, None, INFINITY))], {space.initial}
    while waiting:
        state, value, known = waiting.pop()
        assert value <= by_number[state]
        if value >= INFINITY:
            continue
        for action, child in space.successors(state):
            bound, inherited = estimate.inherit(known, action)
            assert value - task.actions[action].cost <= bound <= by_number[child]
            below, known_below = estimate.evaluate(child, inherited, INFINITY)
            assert bound <= below <= by_number[child]
            if child not in seen:
                seen.add(child)
                waiting.append((child, below, known_below))


@given(seeds)
def test_preferred_actions_are_those_of_a_relaxed_plan(seed):
    task = random_task(seed)
    estimate = built("hff", task)
    for state, cost in perfect(task).items():
        value, actions = estimate.advise(bits(state))
        if value < INFINITY:
            assert value == sum(task.actions[action].cost for action in actions)
            assert is_goal(task, state) or cost == INFINITY or actions or task.has_axioms
