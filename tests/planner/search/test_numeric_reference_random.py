"""The readable A* and best-first search, on states with numbers in plain Python, against the kernels."""

from __future__ import annotations

import pytest
from effort import share
from numeric_astar import search_numbers
from numeric_states import NumericStates
from search_twins import finished

from benchmarks.random_numeric import ALL, SIMPLE, NumericFeatures, random_numeric_task
from planner.errors import InputError, UnsupportedError
from planner.grounding.ground_numeric import ground_numeric
from planner.jit.common_kernel import ENTRIES
from planner.language.pddl import parse_domain, parse_problem
from planner.limits import Limits
from planner.search.astar import astar
from planner.search.best_first_compiled import BestFirst
from planner.search.lazy_best_first import greedy, weighted
from planner.search.search_run import Ending, Run
from planner.task.ground_task import INFINITY
from planner.task.numeric_task import NumericTask
from planner.task.numeric_task_compiled import NumericSpace, pack_numeric_task

FEATURES = {"simple": SIMPLE, "all": ALL}
MOST_EXPANDED = 400


def draw_case(seed: int, features: NumericFeatures) -> tuple[NumericTask, NumericSpace] | None:
    source = random_numeric_task(seed, features)
    try:
        task = ground_numeric(parse_problem(source.problem, parse_domain(source.domain)), Limits())
    except (UnsupportedError, InputError):
        return None
    space = None if task.task.unreachable_goal is not None else pack_numeric_task(task)
    return None if space is None else (task, space)


def search(steps, run: Run) -> Ending | None:
    """Return how a search ends; None after `MOST_EXPANDED` expansions."""
    while run.expanded < MOST_EXPANDED:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value
    return None


@pytest.mark.parametrize("features", FEATURES)
def test_astar_proves_what_the_kernel_proves(features: str) -> None:
    compared, solvable = 0, 0
    for seed in share(range(40_000, 40_060), 4):
        case = draw_case(seed, FEATURES[features])
        if case is None or not case[0].is_priced:
            continue
        run = Run()
        if search(astar(NumericStates(case[0]), lambda _: 0, run), run) is None:
            continue
        ending, other = search_numbers(case[1], "blind")
        assert ending is Ending.EXHAUSTED, seed
        assert (run.plan is None, run.limit, run.lower_bound) == (other.plan is None, other.limit, other.lower_bound)
        if run.plan is None:
            assert run.expanded == other.expanded, seed
        compared += 1
        solvable += run.plan is not None
    assert compared >= solvable > 0


@pytest.mark.parametrize("features", FEATURES)
def test_best_first_search_finds_a_plan_where_the_kernel_does(features: str) -> None:
    compared, solvable = 0, 0
    for seed in share(range(41_000, 41_060), 4):
        case = draw_case(seed, FEATURES[features])
        if case is None:
            continue
        run, other = Run(), Run()
        if search(greedy(NumericStates(case[0]), lambda _: 0, run), run) is None:
            continue
        finished(BestFirst(case[1], ENTRIES, [1] * len(case[0].task.actions), room=4).steps(other))
        assert (run.plan is None) == (other.plan is None), seed
        compared += 1
        solvable += run.plan is not None
    assert compared >= solvable > 0


def test_weighted_search_ends_with_the_plan_of_astar() -> None:
    compared = 0
    for seed in share(range(42_000, 42_040), 4):
        case = draw_case(seed, SIMPLE)
        if case is None or not case[0].is_priced:
            continue
        best, run = Run(), Run()
        if search(astar(NumericStates(case[0]), lambda _: 0, best), best) is not None:
            finished(weighted(NumericStates(case[0]), lambda _: 0, run))
            assert run.limit == best.limit, seed
            assert run.limit == run.lower_bound
            compared += best.limit < INFINITY
    assert compared
