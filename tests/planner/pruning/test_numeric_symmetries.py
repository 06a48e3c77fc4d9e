"""Symmetries of numeric tasks: what is found, that it maps the task to itself, and what A* proves with it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from numeric_astar import search_numbers
from numeric_problems import find_least_cost

from planner import Domain, Problem
from planner.grounding.ground_numeric import ground_numeric
from planner.jit.arrays import words
from planner.options import SolveOptions
from planner.plan import Plan
from planner.pruning.numeric_symmetries import NumericOrbits, NumericStructure, find_numeric_orbits
from planner.pruning.symmetries import Moved, find_interchanges
from planner.pruning.symmetries_kernel import permute
from planner.search.numeric_astar_estimates_compiled import KINDS
from planner.search.search_run import Ending
from planner.task.numeric_task_compiled import NumericSpace, pack_numeric_task
from planner.task.packed_facts_kernel import holds
from planner.task.packed_numbers_kernel import APPLIED
from planner.task.packed_states_kernel import apply
from planner.validation.validate import check_steps


def haulage(fuel: Sequence[int], boxes: int = 1, places: int = 3, cost: str = "1") -> Problem:
    """Return a task with one truck for each amount of `fuel`, which bring boxes from the first place to the last."""
    domain = Domain("haulage", types=["truck", "place", "box"])
    domain.function("fuel", "truck", low=0, high=9)
    domain.function("load", "truck", low=0, high=1)
    domain.action(
        "drive",
        {"t": "truck", "a": "place", "b": "place"},
        requires=["at(t, a)", "road(a, b)", "fuel(t) >= 1 + load(t)"],
        provides=["at(t, b)"],
        modifies=["at(t, _)", "fuel(t) -= 1 + load(t)"],
        cost=cost,
    )
    where = {"t": "truck", "b": "box", "a": "place"}
    domain.action(
        "pick",
        where,
        requires=["at(t, a)", "lies(b, a)"],
        provides=["inside(b, t)"],
        modifies=["lies(b, a)", "lies(b, _)", "load(t) += 1"],
    )
    domain.action(
        "drop",
        where,
        requires=["at(t, a)", "inside(b, t)"],
        provides=["lies(b, a)"],
        modifies=["inside(b, _)", "load(t) -= 1"],
    )
    trucks = [f"t{number}" for number in range(len(fuel))]
    spots = [f"p{number}" for number in range(places)]
    objects = dict.fromkeys(trucks, "truck") | dict.fromkeys(spots, "place")
    objects |= {f"b{number}": "box" for number in range(boxes)}
    roads = [f"road({a}, {b})" for pair in pairwise(spots) for a, b in (pair, pair[::-1])]
    return domain.problem(
        objects=objects,
        initial=[
            *roads,
            *[f"at({each}, p0)" for each in trucks],
            *[f"lies(b{number}, p0)" for number in range(boxes)],
            *[f"fuel({each}) = {amount}" for each, amount in zip(trucks, fuel, strict=True)],
            *[f"load({each}) = 0" for each in trucks],
        ],
        goal=[f"lies(b{number}, {spots[-1]})" for number in range(boxes)],
    )


def pack(problem: Problem) -> NumericSpace:
    space = pack_numeric_task(ground_numeric(problem, SolveOptions(time_limit=None).limits()))
    assert space is not None
    return space


def count(problem: Problem) -> int:
    found = find_numeric_orbits(pack(problem), seconds=60)
    return 0 if found is None else len(found)


def test_alike_trucks_and_boxes_are_interchanged() -> None:
    assert count(haulage([5, 5, 5], boxes=2)) == 3
    assert count(haulage([5, 4, 5])) == 1, "the second truck never has as much fuel"


def test_other_bounds_costs_and_conditions_are_no_symmetries() -> None:
    alike = haulage([5, 5])
    assert count(alike) == 1
    domain = Domain.of(alike.domain)
    domain.action("refuel", {"t": "truck"}, requires=["special(t)"], modifies=["fuel(t) := 9"], cost=3)
    special = domain.problem(
        objects={each.name: each.types[0] for each in alike.objects},
        initial=[*map(str, alike.initial), "special(t1)", *[f"{each} = {alike.values[each]}" for each in alike.values]],
        goal=["lies(b0, p2)", "fuel(t0) >= 1"],
    )
    assert count(special) == 0


@pytest.mark.parametrize("fuel", [[9, 9], [9, 8, 9]], ids=str)
def test_symmetries_map_successors_to_successors(fuel: list[int]) -> None:
    space = pack(haulage(fuel, boxes=2))
    structure = NumericStructure(space.source)
    found = find_interchanges(structure, seconds=60)
    orbits = NumericOrbits(structure, space, found)
    assert len(orbits) == len(found) > 0
    rng, row = random.Random(1), len(space.initial)
    state = words([*space.initial] * 3)
    moved_steps = 0
    for _ in range(2000):
        number, action = rng.randrange(len(found)), rng.randrange(len(space.source.task.actions))
        if not holds(space.preconditions, action, state, 0) or not step(space, action, state, 0, row):
            continue
        after = state[row : 2 * row]
        permute(orbits.symmetries, number, state, 0)
        image = structure.image(action, found[number])
        moved_steps += image != action
        assert holds(space.preconditions, image, state, 0)
        assert step(space, image, state, 0, 2 * row)
        permute(orbits.symmetries, number, state, row)
        assert state[row : 2 * row] == state[2 * row :]
        state[:row] = after
    assert moved_steps > 5


def step(space: NumericSpace, action: int, state: object, source: int, target: int) -> bool:
    found = apply(space.space, action, state, source, target, space.words)
    return found == APPLIED


@pytest.mark.parametrize("heuristic", KINDS)
@pytest.mark.parametrize(
    "problem",
    [haulage([4, 3, 4]), haulage([4, 4], boxes=2), haulage([3, 3, 3], boxes=2), haulage([2, 2])],
    ids=["apart", "two", "short", "none"],
)
def test_the_cheapest_plan_is_found(problem: Problem, heuristic: str) -> None:
    space = pack(problem)
    ending, run = search_numbers(space, heuristic, symmetries=True)
    plain_ending, plain = search_numbers(space, heuristic)
    assert ending is plain_ending is Ending.EXHAUSTED
    assert run.limit == plain.limit
    assert (run.plan is None) == (plain.plan is None)
    if run.plan is not None:
        steps = [space.source.task.actions[action].step for action in run.plan]
        verdict = check_steps(problem, Plan(tuple(steps), problem))
        assert verdict.valid, verdict.reason
    if heuristic == "blind":
        assert run.generated < plain.generated


def test_the_least_cost_is_that_of_all_states() -> None:
    problem = haulage([4, 4], places=3)
    space = pack(problem)
    _, run = search_numbers(space, "lmcut", symmetries=True)
    assert run.limit == find_least_cost(problem, 4000)


def test_a_permutation_that_swaps_a_fact_and_a_variable_is_none() -> None:
    space = pack(haulage([3, 3]))
    structure, first = NumericStructure(space.source), len(space.source.task.facts)
    moved: Moved = {0: first, first: 0}
    assert not structure.has(moved)
