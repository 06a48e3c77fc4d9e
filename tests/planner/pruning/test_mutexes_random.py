"""What h² rules out, against all states of random tasks, one by one."""

from __future__ import annotations

import pytest
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_tasks import random_task as random_declared
from search_twins import closed, finished, perfect, random_task, reachable, replayed

from benchmarks.random_problems import Features
from planner.jit import library
from planner.portfolio import portfolio
from planner.portfolio.workplace import Workplace
from planner.pruning.h2 import Pruning, prune
from planner.search import Ending, Run, Space
from planner.search.astar_compiled import CompiledAstar
from planner.search.task_compiled import Board
from planner.task.ground_task import INFINITY, Task

PLAIN = library.ENTRIES
seeds = st.integers(0, 10**9)


def alive(task: Task):
    """The states on plans, with the actions that lead from one to another."""
    edges, cost = reachable(task), perfect(task)
    return {
        state: [(number, child) for number, child in below if cost[child] < INFINITY]
        for state, below in edges.items()
        if cost[state] < INFINITY
    }


def proved(task: Task) -> tuple[Run, Ending]:
    """What the search for a proof comes to if it is looked at once for what no plan needs."""
    run = Run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(portfolio, "PATIENCE", 0.0)
        patch.setattr(portfolio, "FEWER", 0.999)
        return run, finished(portfolio.prove(Workplace(task, Space(task), run, lambda: None)))


def has_pair(mutexes, state) -> bool:
    return any(1 << other & mutexes[fact] for fact in state for other in state)


@given(seeds)
def test_no_state_on_a_plan_has_an_excluded_pair(seed):
    assert_plans_are_kept(random_task(seed))


@settings(max_examples=examples(40))
@given(seeds)
def test_nor_does_one_of_a_declared_problem(seed):
    task = random_declared(seed, Features(objects=4))
    assume(task.unreachable_goal is None and len(task.variables) < 9)
    assert_plans_are_kept(task)


def assert_plans_are_kept(task: Task) -> None:
    found = prune(task)
    number = {fact: place for place, fact in enumerate(found.facts)}
    plans = alive(task)
    assert found.solvable or not plans
    for state in plans:
        full = closed(task, state)
        assert full <= number.keys()
        assert not has_pair(found.excluded, [number[fact] for fact in full])
    used = {action for below in plans.values() for action, _ in below}
    assert used <= set(found.actions)


@given(seeds)
def test_no_reachable_state_has_an_unreachable_pair(seed):
    task = random_task(seed)
    found = prune(task)
    number = {fact: place for place, fact in enumerate(found.facts)}
    for state in reachable(task):
        assert not has_pair(found.unreachable, [number[f] for f in closed(task, state) if f in number])
    for fact in range(len(found.facts)):
        assert not found.unreachable[fact] & ~found.excluded[fact]


@given(seeds)
def test_no_reachable_state_has_two_facts_of_a_variable(seed):
    task = prune(random_task(seed)).task
    assert sorted(fact for group in task.fields for fact in group) == [*range(len(task.facts))]
    for state in reachable(task):
        assert all(len(state.intersection(group)) < 2 for group in (*task.variables, *task.mutexes))


@given(seeds)
def test_states_of_the_pruned_task_are_packed_well(seed):
    task = random_task(seed)
    found, run = prune(task), Run()
    search = CompiledAstar(Board(found.task, PLAIN), "lmcut").steps(run)
    assert finished(search) is Ending.EXHAUSTED
    assert run.limit == perfect(task)[frozenset(task.initial)]


@given(seeds)
def test_the_pruned_task_has_the_same_plans(seed):
    task = random_task(seed)
    found = prune(task)
    before, after = perfect(task), perfect(found.task)
    assert after[frozenset(found.task.initial)] == before[frozenset(task.initial)]
    for state, cost in after.items():
        assert before[frozenset(found.facts[fact] for fact in state)] <= cost


@given(seeds)
def test_what_is_proved_without_needless_actions_holds_for_the_task(seed):
    task = random_task(seed)
    run, ending = proved(task)
    cheapest = perfect(task)[frozenset(task.initial)]
    assert ending is Ending.EXHAUSTED
    assert run.limit == cheapest
    if run.plan is not None:
        assert replayed(task, run.plan) == cheapest == run.lower_bound


def test_most_random_tasks_without_a_plan_are_proved_so():
    tasks = [random_task(seed) for seed in range(100)]
    hopeless = [task for task in tasks if not alive(task)]
    assert sum(not prune(task).solvable for task in hopeless) > 0.7 * len(hopeless) > 0


def test_what_is_stopped_is_sound():
    """Every number of steps after which it may be stopped gives the same plans."""
    for seed in range(12):
        task = random_task(seed)
        cheapest = perfect(task)[frozenset(task.initial)]
        pruning = Pruning(task)
        for _ in pruning.steps():
            found = pruning.result()
            assert perfect(found.task)[frozenset(found.task.initial)] == cheapest
            assert found.solvable or cheapest == INFINITY
