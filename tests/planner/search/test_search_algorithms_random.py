"""Every search with every heuristic on random tasks: plans are replayed, and optima are those of brute force."""

from __future__ import annotations

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import finished, perfect, random_task, replayed, unit_costs

from planner.heuristics import REGISTRY as HEURISTICS
from planner.limits import never
from planner.search import REGISTRY as SEARCHES
from planner.search import Ending, Run, Space
from planner.task.ground_task import INFINITY

seeds = st.integers(0, 10**9)
PAIRS = [
    (search, heuristic)
    for search, algorithm in SEARCHES.items()
    for heuristic in (HEURISTICS if algorithm.heuristic else ["blind"])
]


def searched(task, search, heuristic, run=None):
    run = run or Run()
    estimate = HEURISTICS[heuristic].build(task, [action.cost for action in task.actions], never)
    return run, finished(SEARCHES[search].search(Space(task), estimate, run))


@pytest.mark.parametrize(("search", "heuristic"), PAIRS)
@settings(max_examples=examples(40))
@given(seed=seeds, unit=st.booleans())
def test_a_plan_is_found_where_there_is_one(search, heuristic, seed, unit):
    task = unit_costs(random_task(seed)) if unit else random_task(seed)
    run, ending = searched(task, search, heuristic)
    optimum = perfect(task)[frozenset(task.initial)]
    assert (run.plan is not None) == (optimum < INFINITY) or not SEARCHES[search].complete
    if run.plan is None:
        assert ending is Ending.EXHAUSTED
        return
    assert replayed(task, run.plan) == run.limit
    trusted = not SEARCHES[search].needs_admissible or HEURISTICS[heuristic].admissible
    proves = trusted and SEARCHES[search].complete
    if proves:
        assert run.lower_bound <= optimum
    if ending is Ending.EXHAUSTED and proves:
        assert run.lower_bound == run.limit == optimum


@pytest.mark.parametrize("search", [name for name, one in SEARCHES.items() if one.complete and not one.stops_at_first])
@given(seed=seeds)
def test_only_plans_cheaper_than_the_limit_are_found(search, seed):
    task = random_task(seed)
    optimum = perfect(task)[frozenset(task.initial)]
    for limit in (optimum, optimum + 1) if optimum < INFINITY else (5,):
        run, ending = searched(task, search, "hmax", Run(limit=limit))
        assert ending is Ending.EXHAUSTED
        assert (run.plan is not None) == (optimum < limit)


@given(seed=seeds, drawn=seeds)
def test_monte_carlo_search_depends_on_its_seed_alone(seed, drawn):
    task = random_task(seed)
    one, other = (searched(task, "mcts", "hff", Run(seed=drawn, most_simulations=20))[0] for _ in range(2))
    assert one == other
    assert one.simulations <= 20


@given(seed=seeds, drawn=seeds)
def test_monte_carlo_search_ends_with_the_cheapest_plan_for_every_seed(seed, drawn):
    task = random_task(seed)
    run, ending = searched(task, "mcts", "goalcount", Run(seed=drawn))
    optimum = perfect(task)[frozenset(task.initial)]
    assert ending is Ending.EXHAUSTED
    assert run.limit == run.lower_bound == optimum
    assert run.plan is None or replayed(task, run.plan) == optimum


@given(seed=seeds)
def test_breadth_first_search_finds_the_fewest_steps(seed):
    task = random_task(seed)
    run, _ = searched(task, "breadth", "blind")
    fewest = perfect(unit_costs(task))[frozenset(task.initial)]
    assert fewest == (INFINITY if run.plan is None else len(run.plan))
