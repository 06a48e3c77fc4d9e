"""Symmetries of random tasks with objects that are alike: what is found, what stands for what, and what is proved."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from counted_looks import CountedLooks
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import action, finished, perfect, random_task, reachable, replayed
from symmetries_twin import classes, copied_task, is_symmetry, orbit

from planner.heuristics.abstractions.cost_partitioning_compiled import Partitions
from planner.heuristics.abstractions.cost_partitioning_kernel import estimate_scp
from planner.jit import library
from planner.jit.arrays import words
from planner.model import Atom, Not
from planner.pruning.h2 import prune
from planner.pruning.symmetries import Structure, find_interchanges
from planner.pruning.symmetries_compiled import Orbits
from planner.pruning.symmetries_kernel import canonicalize
from planner.search import Ending, Run
from planner.search.astar_compiled import CompiledAstar
from planner.search.astar_estimates_compiled import KINDS
from planner.search.task_compiled import Board
from planner.task.ground_task import INFINITY, Task

PLAIN = library.ENTRIES
seeds = st.integers(0, 10**9)


@pytest.fixture(autouse=True)
def small_numbers(monkeypatch):
    """Plain kernels are slow: orders are made for few states. And LM-cut uses few symmetries, too."""
    monkeypatch.setattr("planner.heuristics.abstractions.cost_partitioning_compiled.SAMPLES", 5)
    monkeypatch.setattr("planner.search.astar_compiled.FEW_SYMMETRIES", 1)


def searched(task: Task, heuristic: str, entries=PLAIN, **sizes) -> Run:
    run = Run()
    assert finished(CompiledAstar(Board(task, entries), heuristic, **sizes).steps(run)) is Ending.EXHAUSTED
    return run


def chains(task: Task, found) -> set[frozenset[str]]:
    """The objects that the swaps which were `found` make one class of."""
    made: list[set[str]] = []
    for moved in found:
        pair = {each for fact, image in moved.items() for each in {*task.facts[fact].args} ^ {*task.facts[image].args}}
        joined = [each for each in made if each & pair]
        made = [each for each in made if not each & pair] + [pair.union(*joined)]
    return {frozenset(each) for each in made}


@given(seeds)
def test_what_is_found_are_symmetries_and_all_objects_that_are_alike(seed):
    task = copied_task(seed)
    found = find_interchanges(Structure(task), seconds=60)
    assert all(is_symmetry(task, moved) for moved in found)
    assert chains(task, found) == classes(task)
    assert len(found) == sum(len(each) - 1 for each in classes(task))


@settings(max_examples=examples(50))
@given(seeds)
def test_the_check_says_what_the_definition_says(seed):
    task = copied_task(seed)
    facts = [*range(len(task.facts))]
    structure = Structure(task)
    for one in facts:
        for other in facts[:one]:
            moved = {one: other, other: one}
            assert structure.has(moved) == is_symmetry(task, moved)


@settings(max_examples=examples(30))
@given(seeds, st.sampled_from([*KINDS]))
def test_the_cheapest_plan_is_found(seed, heuristic):
    task = copied_task(seed)
    best = perfect(task)[frozenset(task.initial)]
    run = searched(task, heuristic, work=50, room=1)
    assert run.limit == run.lower_bound == best
    if best < INFINITY:
        assert replayed(task, run.plan) == best


@settings(max_examples=examples(40))
@given(seeds)
def test_so_it_is_where_states_are_left_out(seed):
    task = copied_task(seed)
    found = prune(task)
    best = perfect(task)[frozenset(task.initial)]
    run = searched(found.task, "lmcut")
    assert run.limit == best
    if best < INFINITY:
        assert replayed(task, [found.actions[number] for number in run.plan]) == best


@settings(max_examples=examples(40))
@given(seeds)
def test_a_state_stands_for_states_of_its_orbit(seed):
    task = copied_task(seed)
    board, found = Board(task, PLAIN), find_interchanges(Structure(task))
    for state in [*reachable(task)][:50] if board.orbits else ():
        packed = words(board.packed.pack(state))
        moved = canonicalize(board.orbits.symmetries, packed, 0)
        assert bool(moved) == (list(packed) != board.packed.pack(state))
        assert list(packed) in [board.packed.pack(each) for each in orbit(state, found)]
        assert not canonicalize(board.orbits.symmetries, packed, 0)


def ferry(balls: int) -> Task:
    """Balls in one room, all of them wanted in the other; both hands of who carries them do the same."""
    facts = [Atom("here"), Atom("there"), Atom("free", ("l",)), Not(Atom("free", ("l",)))]
    facts += [Atom("free", ("r",)), Not(Atom("free", ("r",)))]
    actions, variables = [], [(0, 1), (2, 3), (4, 5)]
    goal, initial = [], [0, 2, 4]
    for ball in range(balls):
        first = len(facts)
        facts += [Atom("at", (f"b{ball}", room)) for room in ("a", "b")]
        facts += [Atom("in", (f"b{ball}", hand)) for hand in ("l", "r")]
        variables.append((*range(first, first + 4),))
        goal.append(first + 1)
        initial.append(first)
        for hand in (0, 1):
            free, full, held = 2 + 2 * hand, 3 + 2 * hand, first + 2 + hand
            for room in (0, 1):
                left = {"deletes": (free, first + room), "adds": (full, held)}
                actions.append(action(len(actions), precondition=(room, free, first + room), **left))
                left = {"deletes": (full, held), "adds": (free, first + room)}
                actions.append(action(len(actions), precondition=(room, full, held), **left))
    actions.append(action(len(actions), precondition=(0,), deletes=(0,), adds=(1,)))
    actions.append(action(len(actions), precondition=(1,), deletes=(1,), adds=(0,)))
    return Task(tuple(facts), tuple(variables), tuple(initial), tuple(goal), tuple(actions))


def test_of_balls_it_only_counts_how_many_are_where():
    task = ferry(6)
    assert [len(find_interchanges(Structure(each))) for each in (task, ferry(1))] == [6, 1]
    run = searched(task, "blind")
    assert run.limit == replayed(task, run.plan) == 6 * 2 + 2 * 3 - 1
    assert run.generated < 200  # of more than ten thousand


def descent(places: tuple[int, int]) -> Task:
    """Two that roll down three steps, one by one; they are at `places` at first."""
    facts = tuple(Atom("on", (each, step)) for each in ("x", "y") for step in "abcd")
    rolls = [(4 * each + step, 4 * each + step + 1) for each in (0, 1) for step in (0, 1, 2)]
    actions = tuple(
        action(number, precondition=(here,), deletes=(here,), adds=(there,))
        for number, (here, there) in enumerate(rolls)
    )
    return Task(facts, ((0, 1, 2, 3), (4, 5, 6, 7)), (places[0], 4 + places[1]), (3, 7), actions)


@pytest.mark.parametrize("places", [(0, 2), (2, 0)])
def test_abstractions_know_what_stands_for_reached_states(places):
    task = descent(places)
    board, made = Board(task, PLAIN), Partitions(Board(task, PLAIN))
    assert board.orbits
    for _ in made.prepare():
        pass
    for x in range(4):
        for y in range(4):
            assert estimate_scp(made.tables, words(board.packed.pack((x, 4 + y))), 0) == 6 - x - y
    assert {searched(task, heuristic).limit for heuristic in KINDS} == {4}


def test_what_cannot_be_told_in_packed_states_is_not_used():
    """The first ball may be nowhere, as it is at first; it takes another number of bits, or other ones."""
    task = ferry(2)
    task = replace(task, initial=task.initial[:3] + task.initial[4:])
    assert len(find_interchanges(Structure(task))) == 2
    assert len(Board(task, PLAIN).orbits) == 1


def switches(many: int) -> Task:
    """So many equal switches, all of which are to be on."""
    facts = tuple(fact for each in range(many) for fact in (Atom("off", (f"s{each}",)), Atom("on", (f"s{each}",))))
    pairs = tuple((2 * each, 2 * each + 1) for each in range(many))
    actions = tuple(
        action(each, precondition=(off,), deletes=(off,), adds=(on,)) for each, (off, on) in enumerate(pairs)
    )
    return Task(facts, pairs, tuple(off for off, _ in pairs), tuple(on for _, on in pairs), actions)


def test_twice_the_symmetries_and_steps_take_twice_the_work_to_map_a_plan_back(monkeypatch):
    found, whole = [], Orbits.plan

    def count(self, *arguments):
        counted = CountedLooks()
        sys.settrace(counted.trace)
        try:
            plan = whole(self, *arguments)
        finally:
            sys.settrace(None)
        found.append((len(self), counted.lines.total()))
        return plan

    monkeypatch.setattr(Orbits, "plan", count)
    for many in (10, 20):
        task = switches(many)
        assert replayed(task, searched(task, "blind").plan) == many
    (fewer, before), (more, after) = found
    assert (fewer, more) == (9, 19)
    assert after < 2.5 * before


@pytest.mark.parametrize("change", ["mutexes", "conflicts"])
def test_what_is_known_of_one_object_only_is_kept(change):
    task = replace(ferry(2), **{change: ((1, 6),)})
    assert [{*moved} for moved in find_interchanges(Structure(task))] == [{2, 3, 4, 5, 8, 9, 12, 13}]


def test_nothing_is_looked_for_without_time_nor_where_facts_are_derived():
    assert find_interchanges(Structure(ferry(3)), seconds=-1) == []
    derived = (random_task(seed) for seed in range(50))
    assert all(Board(task, PLAIN).orbits is None for task in derived if task.has_axioms)
