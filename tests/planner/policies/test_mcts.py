"""Monte-Carlo tree search for plans: kernels grow the trees of the readable twin."""

from __future__ import annotations

from math import log

import pytest
from search_twins import finished, perfect, random_task, replayed

from planner.heuristics.search_guide_compiled import Guide
from planner.jit import library
from planner.jit import slots_kernel as slot
from planner.jit.arrays import reals, words, zeros
from planner.jit.common_kernel import INFINITE, NOTHING
from planner.search import Ending, Run, Space
from planner.search import mcts_kernel as kernel
from planner.search.guided_search_compiled import CompiledMcts
from planner.search.lazy_best_first import lower_weights
from planner.search.mcts import LOGARITHM_OF_2, LOGARITHMS, NO_NODE, Mcts, RandomNumbers, logarithm, select_arm
from planner.search.open_lists_kernel import random_below
from planner.search.task_compiled import Board
from planner.task.ground_task import INFINITY, State, Task, facts_of
from planner.task.packed_states_kernel import find_applicable

PLAIN = library.ENTRIES
SEEDS = range(80)


class KernelEyes(Space):
    """A state space that lists actions as kernels do, and estimates with their relaxed plans."""

    def __init__(self, task: Task, guide: Guide) -> None:
        super().__init__(task)
        self.guide, self.board = guide, guide.board
        self.plans = 0

    def packed(self, state: State) -> list[int]:
        return self.board.packed.pack(facts_of(self.closed(state)))

    def actions_in(self, state: State) -> list[int]:
        board = self.board
        many = find_applicable(board.space.tree, words(self.packed(state)), 0, board.found, board.stack)
        return list(board.found[:many])

    def advise(self, state: State) -> tuple[int, set[int]]:
        self.plans += 1
        value = self.guide.estimate(self.packed(state), self.plans)
        actions = {action for action in range(len(self.costs)) if self.guide.last_plan_of(action) == self.plans}
        return INFINITY if value == INFINITE else value, actions


def guide(task: Task) -> Guide:
    return Guide(Board(task, PLAIN), [action.cost + 1 for action in task.actions], milestones=False)


def compiled(task: Task, **options) -> tuple[CompiledMcts, Run, Ending]:
    run = Run(**options)
    search = CompiledMcts(guide(task), run, room=1, work=50)
    return search, run, finished(search.steps())


def counts(run: Run) -> tuple[object, ...]:
    return run.plan, run.limit, run.lower_bound, run.evaluated, run.expanded, run.generated, run.simulations


@pytest.mark.parametrize("seed", SEEDS)
def test_compiled_search_ends_with_the_cheapest_plan(seed):
    task = random_task(seed)
    _, run, ending = compiled(task, seed=seed)
    assert ending is Ending.EXHAUSTED
    assert run.limit == run.lower_bound == perfect(task)[frozenset(task.initial)]
    assert run.plan is None or replayed(task, run.plan) == run.limit


@pytest.mark.parametrize("simulations", [3, 10, 50, None])
@pytest.mark.parametrize("seed", SEEDS)
def test_both_tiers_grow_the_same_trees(seed, simulations):
    task, twin = random_task(seed), Run(seed=seed, most_simulations=simulations)
    search, run, ending = compiled(task, seed=seed, most_simulations=simulations)
    eyes = KernelEyes(task, guide(task))
    reference = Mcts(eyes, eyes.advise, twin)
    assert finished(lower_weights(reference.grow_tree)) is ending
    assert counts(twin) == counts(run)
    mine, tree = search.tree, reference.tree
    states = len(tree.parent)
    for name in ("parent", "action", "child", "sibling"):
        nodes = [NO_NODE if node == NOTHING else node for node in getattr(mine, name)[:states]]
        assert nodes == getattr(tree, name), name
    for name in ("value", "visits", "tried", "settled"):
        assert list(getattr(mine, name)[:states]) == getattr(tree, name), name


@pytest.mark.parametrize("limit", [1, 2])
def test_what_costs_too_much_is_no_plan(limit):
    task = next(task for task in map(random_task, SEEDS) if limit <= perfect(task)[frozenset(task.initial)] < INFINITY)
    _, run, ending = compiled(task, limit=limit)
    assert (ending, run.plan, run.lower_bound) == (Ending.EXHAUSTED, None, limit)


def test_other_seeds_grow_other_trees():
    task = random_task(6)
    assert len({tuple(compiled(task, seed=seed, most_simulations=5)[0].tree.action) for seed in range(8)}) > 1


def test_both_tiers_draw_the_same_numbers():
    number, draw = zeros(slot.HOW_MANY), RandomNumbers(7)
    number[slot.RANDOM] = 7
    mine = [draw.below(many) for many in range(1, 200)]
    assert mine == [random_below(number, many) for many in range(1, 200)]
    assert all(0 <= drawn_number < many for many, drawn_number in enumerate(mine, 1))


@pytest.mark.parametrize("number", [1, 2, 1023, 1024, 1 << 20, 10**9])
def test_logarithms_are_near_and_alike(number):
    assert logarithm(number) == pytest.approx(log(number), abs=0.002)
    assert logarithm(number) == kernel.logarithm(kernel.Bandit(reals(LOGARITHMS), reals([LOGARITHM_OF_2, 1])), number)


def test_arms_are_pulled_for_their_value_and_for_want_of_pulls():
    assert select_arm([3, 1, 2], [5, 5, 5], 15) == 1
    assert select_arm([1, 1, 1], [9, 2, 4], 15) == 1
    assert select_arm([100, 101], [10**6, 1], 10**6 + 1) == 0
    assert select_arm([100, 100, 101], [10**6, 1, 1], 10**6 + 2) == 1
