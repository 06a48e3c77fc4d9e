"""Stubborn sets keep a cheapest plan from every state: against all states of random tasks, and by their definition."""

from __future__ import annotations

import pytest
from counted_looks import CountedLooks
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from search_twins import action as made
from search_twins import applied, fact_names, finished, is_goal, perfect, random_task, reachable, replayed
from stubborn_twin import interfere, kept, loose_task

from planner.jit import library
from planner.jit import slots_kernel as slot
from planner.jit.arrays import index, words, zeros
from planner.limits import enforce
from planner.model import Atom
from planner.pruning import stubborn_sets_compiled
from planner.pruning.h2 import prune
from planner.pruning.stubborn_sets_compiled import find_interferences, make_tables
from planner.pruning.stubborn_sets_kernel import prune_applicable
from planner.search import Ending, Run
from planner.search.astar_compiled import CompiledAstar
from planner.search.task_compiled import Board
from planner.task.ground_task import INFINITY, Task, facts_of
from planner.task.packed_task_compiled import choose_packing

PLAIN = library.ENTRIES
seeds = st.integers(0, 10**9)
tasks = st.one_of(seeds.map(loose_task), seeds.map(lambda seed: random_task(seed, axioms=False)))


def useful(task: Task, state) -> bool:
    return not any({*pair} <= state for pair in task.conflicts)


def left(task: Task):
    """What the kernel leaves of each state's successors, goals aside; states that no plan goes through are left out."""
    packed = choose_packing(task)
    tables = make_tables(task, packed)
    assert tables is not None
    number, edges = zeros(slot.HOW_MANY), {}
    number[slot.PRUNES] = 1
    for state, below in reachable(task).items():
        if not useful(task, state):
            continue
        found = index([action for action, _ in below])
        many = len(found)
        if not is_goal(task, state):
            many = prune_applicable(tables, number, words(packed.pack(state)), 0, found, many)
        chosen = {*found[:many]}
        edges[state] = [(action, child) for action, child in below if action in chosen and useful(task, child)]
    assert number[slot.PRUNES]
    return edges


def distances(task: Task, edges):
    """What the cheapest way to the goal along `edges` costs."""
    value = {state: 0 if is_goal(task, state) else INFINITY for state in edges}
    changed = True
    while changed:
        changed = False
        for state, below in edges.items():
            for action, child in below:
                if value[child] + task.actions[action].cost < value[state]:
                    value[state] = value[child] + task.actions[action].cost
                    changed = True
    return value


def assert_enough_is_left(task: Task) -> None:
    edges, whole = left(task), reachable(task)
    all_edges = {state: [each for each in whole[state] if each[1] in edges] for state in edges}
    assert distances(task, edges) == distances(task, all_edges)


def test_limits_are_looked_at_before_all_actions_are_read():
    task = Task((Atom("p"),), ((0,),), (0,), (0,), (made(0, precondition=(0,)),) * 2000)
    limits = CountedLooks()
    with enforce(limits):
        next(find_interferences(task))
    assert limits.looks == 8  # one in 256 actions


@given(tasks)
def test_a_cheapest_plan_is_kept_from_every_state(task):
    assert_enough_is_left(task)


@given(seeds)
def test_so_it_is_where_no_plan_needs_some_states(seed):
    task = prune(loose_task(seed)).task
    assume(task.unreachable_goal is None)
    assert_enough_is_left(task)


@given(tasks)
def test_the_smallest_set_is_that_of_the_definition(task):
    for state, below in left(task).items():
        if not is_goal(task, state):
            assert {action for action, _ in below} == kept(task, state)


@given(tasks)
def test_what_does_not_interfere_commutes(task):
    found = [{*facts_of(each)} for each in find_interferences(task)]
    numbers = range(len(task.actions))
    assert found == [{b for b in numbers if interfere(task, a, b)} for a in numbers]
    for below in reachable(task).values():
        for a, after in below:
            for b, other in below:
                if a != b and b not in found[a]:
                    assert applied(task, after, b) == applied(task, other, a) is not None


@settings(max_examples=examples(30))
@given(seeds, st.sampled_from(["blind", "lmcut"]))
def test_searches_that_prune_find_the_cheapest_plan(seed, heuristic):
    task = loose_task(seed)
    best, run = perfect(task)[frozenset(task.initial)], Run()
    assert finished(CompiledAstar(Board(task, PLAIN), heuristic, work=20, room=1).steps(run)) is Ending.EXHAUSTED
    assert run.limit == run.lower_bound == best
    assert run.plan is None or replayed(task, run.plan) == best


def switches(many: int) -> Task:
    """As many things to do, in any order."""
    variables = tuple([(2 * each, 2 * each + 1) for each in range(many)])
    actions = [made(each, precondition=[2 * each], adds=[2 * each + 1], deletes=[2 * each]) for each in range(many)]
    return Task(fact_names(2 * many), variables, tuple(range(0, 2 * many, 2)), tuple(range(1, 2 * many, 2)), actions)


def searched(task: Task) -> Run:
    run = Run()
    assert finished(CompiledAstar(Board(task, PLAIN), "blind").steps(run)) is Ending.EXHAUSTED
    return run


def test_what_is_independent_is_done_in_one_order():
    run = searched(switches(8))
    assert (run.limit, run.expanded) == (8, 8)


@pytest.mark.parametrize(("few", "much"), [(20, 10**9), (10**9, 20)])
def test_pruning_that_leaves_nothing_out_is_given_up(few, much, monkeypatch):
    monkeypatch.setattr("planner.pruning.stubborn_sets_kernel.FEW", few)
    monkeypatch.setattr("planner.pruning.stubborn_sets_kernel.MUCH", much)
    steps = [(each, each + way) for each in range(50) for way in (-1, 1) if 0 <= each + way < 50]
    walk = [made(each, precondition=[a], adds=[b], deletes=[a]) for each, (a, b) in enumerate(steps)]
    task = Task(fact_names(50), (tuple(range(50)),), (0,), (49,), walk)
    search = CompiledAstar(Board(task, PLAIN), "blind")
    assert finished(search.steps(Run())) is Ending.EXHAUSTED
    assert search._number[slot.PRUNED] <= 20 < search._number[slot.EXPANSIONS]


def test_where_facts_are_derived_or_too_much_interferes_nothing_is_left_out(monkeypatch):
    derived = next(task for task in map(random_task, range(100)) if task.has_axioms)
    assert Board(derived, PLAIN).stubborn is None
    task = switches(3)
    assert Board(task, PLAIN).stubborn is not None
    monkeypatch.setattr(stubborn_sets_compiled, "MOST_ACTIONS", 2)
    assert Board(task, PLAIN).stubborn is None
    monkeypatch.undo()
    monkeypatch.setattr(stubborn_sets_compiled, "MOST_INTERFERING", 3)
    entangled = [made(each, precondition=[0], adds=[1], deletes=[0]) for each in range(3)]
    assert Board(Task(fact_names(2), ((0, 1),), (0,), (1,), entangled), PLAIN).stubborn is None
