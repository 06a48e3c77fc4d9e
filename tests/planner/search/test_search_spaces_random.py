"""The fast state space against its slow twin, on random tasks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from search_twins import closed, is_goal, random_task, reachable

from planner.task.ground_task import Closure, bits, facts_of
from planner.task.successor_generator import Space, make_decision_tree, make_tester

seeds = st.integers(0, 10**9)


@given(seeds)
def test_both_finders_of_applicable_actions_agree(seed):
    task = random_task(seed)
    tree, plain = make_decision_tree(task), make_tester(task)
    for state in reachable(task):
        full = bits(closed(task, state))
        assert sorted(tree(full)) == plain(full)


@given(seeds)
def test_successors_and_goals_are_those_of_the_twin(seed):
    task = random_task(seed)
    space = Space(task)
    assert space.initial == bits(task.initial)
    for state, below in reachable(task).items():
        number = bits(state)
        assert sorted(space.successors(number)) == sorted((action, bits(child)) for action, child in below)
        assert sorted(space.actions_in(number)) == sorted(action for action, _ in below)
        assert all(space.apply(action, number) == bits(child) for action, child in below)
        assert space.is_goal(number) == is_goal(task, state)


@given(seeds)
def test_the_closure_is_that_of_the_twin(seed):
    task = random_task(seed)
    close = Closure(task)
    for state in reachable(task):
        for _ in ("computed", "remembered"):
            assert facts_of(close(bits(state))) == sorted(closed(task, state))
