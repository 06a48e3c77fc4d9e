"""Abstractions: every plan is one of each of them, kernels do what their twins do, and shared costs never add up."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import accumulate, combinations, islice
from unittest.mock import patch

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import closed, finished, is_goal, perfect, random_task, reachable, replayed

import planner
from planner.heuristics import REGISTRY
from planner.heuristics.abstractions import cost_partitioning_compiled
from planner.heuristics.abstractions import projections_compiled as compiled_moves
from planner.heuristics.abstractions.abstract_states_kernel import IN_ORDER, INDEPENDENT, STOLEN
from planner.heuristics.abstractions.cost_partitioning import measure_stolen, order_abstractions, share_costs
from planner.heuristics.abstractions.cost_partitioning_compiled import Partitions, make_shares
from planner.heuristics.abstractions.cost_partitioning_kernel import estimate_scp
from planner.heuristics.abstractions.projections import (
    DEAD,
    compute_factors,
    find_moves,
    generate_interesting,
    generate_random,
    make_exclusion,
    project,
)
from planner.heuristics.abstractions.projections_compiled import Projections, pack_moves
from planner.jit import library
from planner.jit.arrays import empty_index, index, words, zeros
from planner.jit.common_kernel import INFINITE, NOTHING
from planner.limits import never
from planner.search import astar_estimates_compiled
from planner.search.astar_compiled import CompiledAstar
from planner.search.search_run import Ending, Run
from planner.search.task_compiled import Board
from planner.task.ground_task import INFINITY, bits
from planner.task.packed_task_compiled import choose_packing

PLAIN = library.ENTRIES
seeds = st.integers(0, 10**9)


def task_of(seed: int):
    """A random task that knows some of the pairs of facts that never hold together."""
    task, draw = random_task(seed), random.Random(seed)
    states = reachable(task)
    base = [fact for facts in task.variables for fact in facts]
    pairs = [pair for pair in combinations(base, 2) if not any(states_has(state, pair) for state in states)]
    return replace(task, mutexes=tuple(draw.sample(pairs, min(len(pairs), 4))))


def states_has(state, pair) -> bool:
    return pair[0] in state and pair[1] in state


def values_of(made, state) -> list[int]:
    values = [0] * len(made.sizes)
    for fact in state:
        values[made.places[fact][0]] = made.places[fact][1]
    return values


def spaces_of(task, *, anywhere=False):
    made = find_moves(task, choose_packing(task), never)
    patterns, excluded = list(generate_interesting(made, 3)), make_exclusion(task, made)
    return made, patterns, [project(made, pattern, excluded, anywhere=anywhere) for pattern in patterns]


@settings(max_examples=examples(50))
@given(seeds)
def test_every_way_to_the_goal_is_one_of_each_abstraction(seed):
    task = task_of(seed)
    made, patterns, spaces = spaces_of(task)
    cheapest = perfect(task)
    for pattern, space in zip(patterns, spaces, strict=True):
        steps = {(edge.source, edge.target, action) for edge in space.edges for action in space.groups[edge.group]}
        stays = {action for group, loops in zip(space.groups, space.loops, strict=True) if loops for action in group}

        def rank(state, space=space, pattern=pattern):
            values = values_of(made, state)
            places = zip(pattern, compute_factors(made, pattern), strict=True)
            return space.ranks[sum(values[variable] * factor for variable, factor in places)]

        for state, below in reachable(task).items():
            if rank(state) == DEAD:
                assert cheapest[state] == INFINITY
                continue
            assert space.goals[rank(state)] or not is_goal(task, state)
            for action, child in below:
                if rank(child) == rank(state):
                    touched = any(action in group for group in space.groups)
                    assert action in stays or not touched
                elif rank(child) != DEAD:
                    assert (rank(state), rank(child), action) in steps


@settings(max_examples=examples(50))
@given(seeds, st.booleans())
def test_kernels_make_the_same_abstractions(seed, anywhere):
    task = task_of(seed)
    made, patterns, twins = spaces_of(task, anywhere=anywhere)
    found = Projections(made, pack_moves(task, made), choose_packing(task), PLAIN, anywhere=anywhere)
    for number, (pattern, twin) in enumerate(zip(patterns, twins, strict=True)):
        assert found.add(pattern)
        spaces, begin = found.spaces, found.first_rank[number]
        first, last = spaces.state_start[number : number + 2]
        ranks = found.rank[begin : begin + made.count_states(pattern)]
        assert [DEAD if rank == NOTHING else rank for rank in ranks] == twin.ranks
        assert [bool(goal) for goal in spaces.goal[first:last]] == twin.goals
        groups, end = spaces.group_start[number : number + 2]
        labels = [sorted(spaces.label[slice(*spaces.label_start[group : group + 2])]) for group in range(groups, end)]
        loops = [bool(loop) for loop in spaces.loops[groups:end]]
        assert sorted(zip(labels, loops, strict=True)) == sorted(
            (list(group), loop) for group, loop in zip(twin.groups, twin.loops, strict=True)
        )
        edges = [
            (spaces.source[edge] - first, state - first, labels[spaces.group[edge] - groups])
            for state in range(first, last)
            for edge in range(*spaces.edge_start[state : state + 2])
        ]
        assert sorted(edges) == sorted((edge.source, edge.target, list(twin.groups[edge.group])) for edge in twin.edges)


def test_where_there_are_too_many_pairs_they_are_not_looked_at():
    task = task_of(6)
    made = find_moves(task, choose_packing(task), never)
    with patch.object(compiled_moves, "MOST_VALUES", 0):
        found = Projections(made, pack_moves(task, made), choose_packing(task), PLAIN)
    for pattern in generate_interesting(made, 2):
        assert found.add(pattern)
        begin = found.first_rank[found.number[pattern]]
        ranks = found.rank[begin : begin + made.count_states(pattern)]
        twin = project(made, pattern, lambda *_: False)
        assert [DEAD if rank == NOTHING else rank for rank in ranks] == twin.ranks


@settings(max_examples=examples(50))
@given(seeds)
def test_kernels_share_costs_as_their_twins_do(seed):
    task, draw = task_of(seed), random.Random(seed)
    made, patterns, twins = spaces_of(task)
    costs = [action.cost for action in task.actions]
    found = Projections(made, pack_moves(task, made), choose_packing(task), PLAIN)
    for pattern in patterns:
        assert found.add(pattern)
    order = draw.sample(range(len(patterns)), len(patterns))
    base = words(accumulate([len(twins[number].goals) for number in order], initial=0))
    table, taken, room = empty_index(base[-1]), zeros(len(order)), make_shares(found, costs)

    def distances() -> list[list[int]]:
        return [list(table[slice(*base[place : place + 2])]) for place in range(len(order))]

    def run(mode: int) -> None:
        at = 0
        while at < len(order):
            at = PLAIN["share_costs"](mode, 50, at, found.spaces, room, index(order), base, table, taken)

    run(INDEPENDENT)
    assert distances() == [twins[number].compute_distances(costs) for number in order]
    run(STOLEN)
    by_twin = measure_stolen(twins, costs)
    assert list(taken) == [by_twin[number] for number in order]
    run(IN_ORDER)
    assert distances() == share_costs(twins, order, costs)


@settings(max_examples=examples(25))
@given(seeds)
def test_estimates_by_kernels_are_admissible_and_consistent(seed):
    task = task_of(seed)
    board = Board(task, PLAIN)
    made = Partitions(board, samples=5)
    for _ in made.prepare():
        pass
    tables = made.tables

    def estimate(state) -> int:
        return estimate_scp(tables, words(board.packed.pack(closed(task, state))), 0)

    cheapest = perfect(task)
    for state, below in reachable(task).items():
        assert estimate(state) <= cheapest[state]
        for action, child in below:
            assert min(estimate(state), INFINITE) <= task.actions[action].cost + estimate(child)


@settings(max_examples=examples(15))
@given(seeds)
def test_searches_that_renew_their_abstractions_find_the_cheapest_plan(seed):
    task = task_of(seed)
    best = perfect(task)[frozenset(task.initial)]
    for heuristic in ("scp", "scp+lmcut"):
        run, renewed = Run(), []
        with (
            patch.multiple(astar_estimates_compiled, FIRST_RENEWAL=1, RENEWAL_RATIO=1),
            patch.multiple(cost_partitioning_compiled, SAMPLES=3, PATTERN=1),
        ):
            search = CompiledAstar(Board(task, PLAIN), heuristic, work=20, room=1)
            with patch.object(Partitions, "renew", counted(Partitions.renew, renewed)):
                assert finished(search.steps(run)) is Ending.EXHAUSTED
        assert run.limit == run.lower_bound == best
        assert run.plan is None or replayed(task, run.plan) == best
        assert renewed or run.expanded < 20


@settings(max_examples=examples(15))
@given(seeds, st.integers(1, 20))
def test_a_search_by_lm_cut_goes_on_with_the_abstractions_of_another(seed, before):
    task = task_of(seed)
    best = perfect(task)[frozenset(task.initial)]
    board, run, other = Board(task, PLAIN), Run(), Run()
    steps = CompiledAstar(board, "lmcut", work=20, room=1).steps(run)
    ended = any(next(steps, "done") == "done" for _ in range(before))
    with patch.multiple(cost_partitioning_compiled, SAMPLES=3, PATTERN=1):
        assert finished(CompiledAstar(board, "scp", work=20, room=1).steps(other)) is Ending.EXHAUSTED
    assert ended or finished(steps) is Ending.EXHAUSTED
    assert run.limit == run.lower_bound == best
    assert run.plan is None or replayed(task, run.plan) == best


@pytest.mark.parametrize("heuristic", ["scp", "scp+lmcut"])
def test_where_nothing_is_to_be_done_there_are_no_variables(heuristic):
    idle = planner.Domain("idle")
    idle.action("rest", requires=["tired"], provides=["fit"])
    result = planner.solve(idle.problem(initial=["tired"], goal=["tired"]), search="astar", heuristic=heuristic)
    assert (result.status, result.cost) == (planner.Status.OPTIMAL, 0)


def test_it_tells_that_it_went_by_both():
    told = set()
    for seed in range(20):
        board, run = Board(task_of(seed), PLAIN), Run()
        steps = CompiledAstar(board, "lmcut", work=1, room=1).steps(run)
        next(steps, None)
        with patch.multiple(cost_partitioning_compiled, SAMPLES=3, PATTERN=1):
            finished(CompiledAstar(board, "scp").steps(Run()))
        for _ in steps:
            pass
        told.add(run.by)
    assert ("astar", "scp+lmcut") in told


def counted(method, calls):
    def counting(*arguments):
        calls.append(arguments)
        return method(*arguments)

    return counting


@settings(max_examples=examples(40))
@given(seeds)
def test_mutexes_leave_estimates_admissible(seed):
    task = task_of(seed)
    estimate = REGISTRY["scp"].build(task, [action.cost for action in task.actions], never)
    for state, cost in perfect(task).items():
        assert estimate(bits(state)) <= cost


@given(seeds)
def test_grown_patterns_are_interesting_and_small_enough(seed):
    task = random_task(seed)
    made = find_moves(task, choose_packing(task), never)
    every = set(generate_interesting(made, len(made.sizes)))
    for pattern in islice(generate_random(made, (4, 40)), 20):
        assert pattern in every
        assert made.count_states(pattern) <= 40


def test_what_estimates_much_and_takes_little_comes_first():
    assert order_abstractions([4, 9, 0, 6], [0, 3, 0, 1]) == [3, 0, 1, 2]


@pytest.mark.parametrize("name", ["MOST_STATES", "BUILDING", "REFINING", "SHARING", "MOST_VALUES"])
def test_where_little_is_allowed_there_is_an_estimate_nevertheless(name, monkeypatch):
    monkeypatch.setattr(cost_partitioning_compiled, name, 0)
    task = random_task(3)
    board = Board(task, PLAIN)
    made = Partitions(board, samples=5)
    for _ in made.prepare():
        pass
    assert estimate_scp(made.tables, words(board.initial), 0) <= perfect(task)[frozenset(task.initial)]
