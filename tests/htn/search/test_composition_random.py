"""Estimates for hierarchies: relaxed plans that can be carried out with deletes ignored, as slow twins see it."""

from __future__ import annotations

import random
from itertools import product

import pytest

from benchmarks.random_hierarchies import ORDERED, PARTIAL, random_htn
from htn.grounding.ground_htn import GroundHtn, ground
from htn.search.packed_hierarchy import PackedHierarchy, make_guide
from planner.jit.arrays import index, words
from planner.jit.common_kernel import ENTRIES, INFINITE
from planner.limits import Limits

SEEDS = range(80)
LEFT = range(6)
"""So many times something is left to do."""


class Relaxed:
    """What can be done with deletes ignored, operator by operator: the methods and actions, then all others."""

    def __init__(self, problem: GroundHtn) -> None:
        self.problem, self.actions = problem, problem.task.actions
        done = [("done", number) for number in range(len(self.actions) + len(problem.compounds))]
        never = {fact for layer in problem.task.axioms for fact, _ in layer.negated}
        self.operators: list[tuple[int | None, set, set]] = []
        for number, action in enumerate(self.actions):
            self.operators.append((number, {*action.precondition}, {*action.adds, done[number]}))
            for effect in action.conditional:
                self.operators.append((number, {*action.precondition, *effect.condition}, {*effect.adds}))
        for compound, methods in enumerate(problem.methods_of, len(self.actions)):
            for each in methods:
                method = problem.methods[each]
                needed = {*method.precondition, *[done[task] for task in method.subtasks]}
                self.operators.append((len(self.actions) + each, needed, {done[compound]}))
        for layer in problem.task.axioms:
            self.operators += [(None, {*rule.body}, {rule.head}) for rule in layer.rules]
        self.operators = [(name, needed - never, added) for name, needed, added in self.operators]

    def reached(self, state, allowed) -> set:
        """Return what comes about from `state` by the operators that are `allowed`."""
        facts, before = {*state}, -1
        while len(facts) > before:
            before = len(facts)
            for name, needed, added in self.operators:
                if (name is None or name in allowed) and needed <= facts:
                    facts |= added
        return facts

    def demanded(self, tasks) -> set:
        """Return the operators that `tasks` lead to."""
        found, queue = set(), [*tasks]
        while queue:
            task = queue.pop()
            if task < len(self.actions):
                found.add(task)
                continue
            for each in self.problem.methods_of[task - len(self.actions)]:
                if len(self.actions) + each not in found:
                    found.add(len(self.actions) + each)
                    queue += self.problem.methods[each].subtasks
        return found


@pytest.mark.parametrize(("seed", "features"), [*product(SEEDS, (PARTIAL, ORDERED))])
def test_a_relaxed_plan_does_all_that_is_left(seed, features):
    problem, rng = ground(random_htn(seed, features), Limits()), random.Random(seed)
    if problem.root is None:
        return
    board, twin = PackedHierarchy(problem, ENTRIES), Relaxed(problem)
    guides = [make_guide(board, None, 1), make_guide(board, board.costs, 0)]
    state, tasks = {*problem.task.initial}, [problem.root]
    for number in LEFT:
        guide, plan = rng.choice(guides), number + 1
        state = state if rng.random() < 0.3 else randomly(state, problem, rng)
        goal = [*problem.task.goal]
        estimate = board.entries["estimate_network"](
            len(tasks), 0, plan, index(tasks), guide, board.space, board.hierarchy,
            words(board.packing.pack(closed(problem, state))),
        )  # fmt: skip
        facts, wanted = closed(problem, state), {*goal, *[("done", task) for task in tasks]}
        possible = twin.reached(facts, twin.demanded(tasks)) >= wanted
        assert (estimate < INFINITE) is possible
        if possible:
            planned = {op for op, last in enumerate(guide.achievers.planned) if last == plan}
            assert twin.reached(facts, planned) >= wanted
            assert planned <= twin.demanded(tasks)
            prices = [1] * len(guide.achievers.planned) if guide is guides[0] else board.costs
            assert estimate == sum(prices[op] if op < len(prices) else 0 for op in planned)
        tasks = rng.sample(range(len(board.least)), k=min(len(board.least), rng.randint(1, 4)))


def closed(problem: GroundHtn, state: set[int]) -> list[int]:
    """Return `state` with what is derived in it."""
    facts = {*state}
    for layer in problem.task.axioms:
        before = -1
        while len(facts) > before:
            before = len(facts)
            facts |= {rule.head for rule in layer.rules if facts.issuperset(rule.body)}
        facts |= {fact for fact, derived in layer.negated if derived not in facts}
    return sorted(facts)


def randomly(state: set[int], problem: GroundHtn, rng: random.Random) -> set[int]:
    """Return a state after some action that can be applied."""
    facts = {*closed(problem, state)}
    able = [action for action in problem.task.actions if facts.issuperset(action.precondition)]
    if not able:
        return state
    action = rng.choice(able)
    adds, deletes = {*action.adds}, {*action.deletes}
    for effect in action.conditional:
        if facts.issuperset(effect.condition):
            adds |= {*effect.adds}
            deletes |= {*effect.deletes}
    return (state - deletes) | adds


@pytest.mark.parametrize("seed", SEEDS)
def test_tasks_cost_at_least_what_their_cheapest_way_does(seed):
    problem = ground(random_htn(seed, ORDERED), Limits())
    if problem.root is None:
        return
    board = PackedHierarchy(problem, ENTRIES)
    least = [*board.costs, *[INFINITE] * len(problem.compounds)]
    for _ in least:
        for compound, methods in enumerate(problem.methods_of, len(board.costs)):
            ways = [sum(least[task] for task in problem.methods[each].subtasks) for each in methods]
            least[compound] = min(least[compound], *ways)
    assert [*board.least] == least
