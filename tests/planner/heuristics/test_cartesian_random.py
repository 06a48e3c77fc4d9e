"""Cartesian abstractions: every plan is one of each, kernels do what their twins do, and what is done is a plan."""

from __future__ import annotations

import random

import pytest
from cartesian_twin import Cartesian as Boxes
from cartesian_twin import make_space, may_lead, reach_without, refine
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import is_goal, random_task, reachable

from planner.heuristics.abstractions import cartesian
from planner.heuristics.abstractions import cartesian_boxes_kernel as kernel
from planner.heuristics.abstractions.abstract_states_kernel import ABSTRACTIONS, GROUPS, STATES
from planner.heuristics.abstractions.cartesian import (
    Aim,
    Cartesian,
    full_box,
    generate_aims,
    make_refinement,
    pack_box,
    unpack_box,
)
from planner.heuristics.abstractions.cost_partitioning_kernel import Lookup, locate
from planner.heuristics.abstractions.projections import DEAD, find_moves
from planner.heuristics.abstractions.projections_compiled import pack_moves
from planner.jit import library
from planner.jit.arrays import index, words
from planner.jit.common_kernel import DONE, INFINITE
from planner.limits import never
from planner.search.task_compiled import Board
from planner.task.ground_task import INFINITY, Task
from planner.task.packed_task_compiled import choose_packing

PLAIN = library.ENTRIES
seeds = st.integers(0, 10**9)


def made_of(task: Task):
    return find_moves(task, choose_packing(task), never)


def values_of(made, state) -> list[int]:
    values = [0] * len(made.sizes)
    for fact in state:
        if made.places[fact] is not None:
            values[made.places[fact][0]] = made.places[fact][1]
    return values


def number_of(boxes: Boxes, values: list[int]) -> int:
    (number,) = [
        number
        for number, box in enumerate(boxes.boxes)
        if all(value in allowed for value, allowed in zip(values, box, strict=True))
    ]
    return number


def prices(task: Task) -> list[int]:
    return [action.cost << 20 | 1 for action in task.actions]


def cheapest(task: Task, aim: Aim) -> int:
    """What the cheapest way from the initial state to the aim costs."""
    made, below = made_of(task), reachable(task)
    best, waiting = {frozenset(task.initial): 0}, [frozenset(task.initial)]
    while waiting:
        state = waiting.pop()
        for action, child in below[state]:
            if best[state] + task.actions[action].cost < best.get(child, INFINITY):
                best[child] = best[state] + task.actions[action].cost
                waiting.append(child)
    there = [cost for state, cost in best.items() if is_in(aim, values_of(made, state))]
    return min(there, default=INFINITY)


def is_in(aim: Aim, values: list[int]) -> bool:
    return aim.inside == all(value in allowed for value, allowed in zip(values, aim.box, strict=True))


@settings(max_examples=examples(50))
@given(seeds)
def test_aims_hold_in_every_goal_state(seed):
    task = random_task(seed)
    made, goals = made_of(task), [state for state in reachable(task) if is_goal(task, state)]
    for aim in generate_aims(made, lambda value: reach_without(made, value)):
        assert all(is_in(aim, values_of(made, state)) for state in goals)


@settings(max_examples=examples(50))
@given(seeds)
def test_every_way_is_one_of_the_abstraction(seed):
    task = random_task(seed)
    made, below = made_of(task), reachable(task)
    for aim in generate_aims(made, lambda value: reach_without(made, value)):
        boxes = refine(made, aim, prices(task), 6)
        for state, children in below.items():
            number = number_of(boxes, values_of(made, state))
            assert boxes.goals[number] == is_in(aim, values_of(made, state))
            for action, child in children:
                there = boxes.boxes[number_of(boxes, values_of(made, child))]
                assert may_lead(made, action, boxes.boxes[number], there)


def maker(task: Task, *, anywhere: bool = False) -> Cartesian:
    made = made_of(task)
    return Cartesian(Board(task, PLAIN), made, pack_moves(task, made), anywhere=anywhere)


def refined_by_kernel(task: Task, aim: Aim, work: int, *, anywhere: bool = False):
    made = maker(task, anywhere=anywhere)
    room = make_refinement(made.form)
    room.counts[kernel.STATES] = 0
    arrays = made._arrays  # what refinement reads is what is tested here
    outcome = PLAIN["refine"](work, int(aim.inside), arrays, made.form, pack_box(aim.box, made.form), room)
    width = made.form.word[-1]
    boxes = [
        unpack_box(room.box[state * width : (state + 1) * width], made.form, made_of(task))
        for state in range(room.counts[kernel.STATES])
    ]
    return made, room, outcome, Boxes(boxes, [bool(goal) for goal in room.goal[: len(boxes)]])


@settings(max_examples=examples(40))
@given(seeds, st.integers(1, 3000), st.booleans())
def test_kernels_make_the_abstraction_of_their_boxes(seed, work, anywhere):
    task = random_task(seed)
    moved = made_of(task)
    for aim in list(generate_aims(moved, lambda value: reach_without(moved, value)))[:4]:
        made, room, _, boxes = refined_by_kernel(task, aim, work, anywhere=anywhere)
        if room.counts[kernel.CUT] < len(moved.sizes):
            continue
        made._settle(room)
        twin, spaces, counts = make_space(moved, boxes, anywhere=anywhere), made.gathered.spaces, made.gathered.counts
        groups, states = counts[GROUPS], counts[STATES]
        assert [bool(goal) for goal in spaces.goal[:states]] == twin.goals
        actions = list(spaces.label[:groups])
        loops = dict(zip(actions, map(bool, spaces.loops[:groups]), strict=True))
        assert loops == {action: loop for (action,), loop in zip(twin.groups, twin.loops, strict=True)}
        edges = [
            (spaces.source[edge], state, actions[spaces.group[edge]])
            for state in range(states)
            for edge in range(*spaces.edge_start[state : state + 2])
        ]
        assert sorted(edges) == sorted((each.source, each.target, twin.groups[each.group][0]) for each in twin.edges)
        distances = twin.compute_distances(prices(task))
        kept = [room.distance[state] for state, rank in enumerate(twin.ranks) if rank != DEAD]
        assert [cost for cost in kept if cost < INFINITE] == distances
        packed, at = choose_packing(task), index([0, 0])
        lookup = Lookup(
            index([0, 0]), index([]), words([]), words([]), words([]), words([0]), index([]), made.gathered.trees
        )
        for state in reachable(task):
            base = [fact for fact in state if moved.places[fact] is not None]
            rank = twin.ranks[number_of(boxes, values_of(moved, state))]
            assert locate(lookup, words(packed.pack(base)), 0, at, 0) == (rank != DEAD)
            assert rank == DEAD or at[0] == rank


@settings(max_examples=examples(40))
@given(seeds)
def test_what_is_done_costs_what_a_plan_does(seed):
    task = random_task(seed)
    made = made_of(task)
    sure = not task.axioms and not any(action.conditional for action in task.actions)
    for aim in list(generate_aims(made, lambda value: reach_without(made, value)))[:4]:
        _, room, outcome, _ = refined_by_kernel(task, aim, 10**9)
        assert outcome == DONE
        distance, best = room.distance[room.counts[kernel.FIRST]], cheapest(task, aim)
        cost = INFINITY if distance >= INFINITE else distance >> 20
        assert cost == best if sure else cost <= best
        twin = refine(made, aim, prices(task), 10**9)
        number = make_space(made, twin).ranks[number_of(twin, made.initial)]
        cost = INFINITY if number == DEAD else make_space(made, twin).compute_distances(prices(task))[number] >> 20
        assert cost == best if sure else cost <= best


@settings(max_examples=examples(50))
@given(seeds)
def test_kernels_reach_what_their_twin_does(seed):
    task = random_task(seed)
    made = made_of(task)
    by_kernel = maker(task)
    for variable, size in enumerate(made.sizes):
        for value in range(size):
            if made.initial[variable] != value:
                assert by_kernel._find_reached_before((variable, value)) == reach_without(made, (variable, value))


@given(seeds)
def test_boxes_are_kept_as_they_are(seed):
    draw = random.Random(seed)
    made = made_of(random_task(seed))
    made.sizes[:] = [draw.choice([2, 5, 31, 32, 33, 70]) for _ in made.sizes]
    form = cartesian.choose_form(made, [1])
    box = tuple(frozenset(draw.sample(range(size), draw.randint(0, size))) for size in made.sizes)
    assert unpack_box(pack_box(box, form), form, made) == box
    full = pack_box(full_box(made), form)
    assert sum(word.bit_count() for word in full) == sum(made.sizes)


@pytest.mark.parametrize("name", ["MOST_EDGES", "ROOM"])
def test_where_little_is_allowed_there_is_an_abstraction_or_none(name, monkeypatch):
    monkeypatch.setattr(cartesian, name, 0)
    task = random_task(3)
    made = maker(task)
    for _ in made.make(10**6):
        pass
    assert len(made.gathered.roots) == made.gathered.counts[ABSTRACTIONS]
