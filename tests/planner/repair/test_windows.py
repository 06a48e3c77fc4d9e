"""Plans that are made better piece by piece, in both tiers: whatever comes out is a plan, and never a dearer one."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from search_twins import applied, closed, finished, perfect, random_task, replayed, successors

from planner.heuristics import REGISTRY
from planner.jit import library
from planner.portfolio.compiled_searches import part_search
from planner.portfolio.workplace import Workplace
from planner.search import Run, Space
from planner.search.astar_compiled import CompiledAstar
from planner.search.lazy_best_first import search_with_weight
from planner.search.plan_neighborhood import Windows, eliminate_actions, regress_needs, reorder_plan, states_of
from planner.search.search_run import as_advice
from planner.search.task_compiled import Board
from planner.task.ground_task import Task, bits, facts_of

SEEDS = range(120)
PLAIN = library.ENTRIES


def wandering(seed: int, **features) -> tuple[Task, list[int]] | None:
    """A task, and a plan for it that goes this way and that; None where nothing can be done."""
    draw, task = random.Random(seed), random_task(seed, **features)
    state, plan = frozenset(task.initial), []
    for _ in range(14):
        choice = list(successors(task, state))
        if not choice:
            return None
        plan.append(draw.choice(choice)[0])
        state = applied(task, state, plan[-1])
    reached = sorted(closed(task, state))
    return replace(task, goal=tuple(sorted(draw.sample(reached, min(3, len(reached)))))), plan


WANDERING = [each for seed in SEEDS if (each := wandering(seed)) is not None]
PLAIN_WANDERING = [each for seed in SEEDS if (each := wandering(seed, conditional=False, axioms=False)) is not None]


def test_there_is_something_to_try():
    assert min(len(WANDERING), len(PLAIN_WANDERING)) > len(SEEDS) // 3


def compiled_parts(task, costs):
    return part_search(Board(task, PLAIN), costs)


def reference_parts(task, costs):
    def search(state, goal, run):
        part = replace(task, initial=tuple(facts_of(state)), goal=tuple(facts_of(goal)))
        return search_with_weight(Space(part), as_advice(REGISTRY["hff"].build(part, costs, lambda: None)), run, 1)

    return search


@pytest.mark.parametrize("parts", [compiled_parts, reference_parts])
def test_windows_give_cheaper_and_cheaper_plans(parts, monkeypatch):
    monkeypatch.setattr("planner.search.plan_neighborhood.MOST_EFFORT", 200)
    better = 0
    for task, plan in WANDERING:
        space, run, costs = Space(task), Run(), []
        run.report_plan(plan, space.cost_of(plan))
        run.on_change = lambda task=task, run=run, costs=costs: costs.append(replayed(task, run.plan))
        finished(Windows(space, run, parts(task, [cost + 1 for cost in space.costs])).steps())
        assert costs == sorted(set(costs), reverse=True)
        assert replayed(task, run.plan) == run.limit >= perfect(task)[frozenset(task.initial)]
        better += bool(costs)
    assert better > len(WANDERING) // 2


@pytest.mark.parametrize("parts", [compiled_parts, reference_parts])
def test_the_last_window_is_the_whole_plan(parts):
    for task, plan in PLAIN_WANDERING:
        space, run = Space(task), Run()
        run.report_plan(plan, space.cost_of(plan))
        finished(Windows(space, run, parts(task, [cost + 1 for cost in space.costs])).steps())
        assert run.limit == perfect(task)[frozenset(task.initial)]


def test_a_better_plan_from_elsewhere_is_gone_on_with(monkeypatch):
    monkeypatch.setattr("planner.search.plan_neighborhood.MOST_EFFORT", 200)
    found = 0
    for task, plan in PLAIN_WANDERING:
        space, run, best, windows = Space(task), Run(), Run(), []
        finished(CompiledAstar(Board(task, PLAIN), "blind").steps(best))
        run.report_plan(plan, space.cost_of(plan))

        def search(state, _goal, part, run=run, best=best, windows=windows):
            windows.append((state, part.limit))
            run.report_plan(best.plan, best.limit)
            yield

        finished(Windows(space, run, search).steps())
        assert run.limit == best.limit
        assert all(limit <= best.limit for _, limit in windows[1:])
        found += len(windows) > 1
    assert found


def test_redundant_steps_go():
    fewer = 0
    for task, plan in WANDERING:
        space = Space(task)
        left = finished(eliminate_actions(space, plan))
        assert replayed(task, left) <= replayed(task, plan)
        assert left == [action for action in plan if action in left][: len(left)] or len(left) < len(plan)
        fewer += len(left) < len(plan)
    assert fewer > len(WANDERING) // 2


def test_plans_in_another_order_have_the_same_steps():
    draw, other = random.Random(1), 0
    for task, plan in WANDERING:
        space = Space(task)
        mixed = reorder_plan(space, plan, draw)
        assert replayed(task, mixed) == replayed(task, plan)
        assert sorted(mixed) == sorted(plan)
        other += mixed != plan
    assert other > len(WANDERING) // 3


def test_what_is_wanted_is_enough():
    for task, plan in PLAIN_WANDERING:
        space = Space(task)
        states = states_of(space, plan)
        for place, facts in enumerate(regress_needs(space, plan, states)):
            assert not facts & ~states[place]
            assert replayed(replace(task, initial=tuple(facts_of(facts))), plan[place:]) is not None


def test_no_plan_is_taken_for_one():
    task, plan = WANDERING[0]
    space = Space(task)
    assert states_of(space, plan) is not None
    assert (
        states_of(Space(replace(task, goal=tuple(set(range(len(task.facts))) - closed(task, frozenset())))), []) is None
    )


def test_both_tiers_serve_the_strategy():
    task, plan = PLAIN_WANDERING[0]
    run = Run()
    workplace = Workplace(task, Space(task), run, lambda: None)
    run.report_plan(plan, workplace.space.cost_of(plan))
    finished(workplace.improve_windows())
    assert run.limit == perfect(task)[frozenset(task.initial)]
    assert bits(task.initial) == workplace.space.initial
