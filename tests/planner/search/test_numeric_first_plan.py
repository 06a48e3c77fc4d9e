"""The searches for a first plan: jumps, relaxed plans that produce what they use up, and plans of every combination."""

from __future__ import annotations

from itertools import product

import pytest

from benchmarks.numeric_brute import TooManyStates, Unbounded, find_best
from benchmarks.random_numeric import random_numeric_task
from planner import Domain
from planner.errors import InputError, UnsupportedError
from planner.grounding.ground_numeric import ground_numeric
from planner.heuristics.numeric_demands_kernel import LACKING, meet_demands
from planner.heuristics.numeric_relaxation_compiled import relax_numeric
from planner.heuristics.numeric_relaxation_kernel import estimate_numeric
from planner.jit.common_kernel import ENTRIES
from planner.language.pddl import parse_domain, parse_problem
from planner.limits import Limits
from planner.model import Problem
from planner.plan import Plan
from planner.search.best_first_compiled import BestFirst
from planner.search.search_run import Ending, Run
from planner.semantics.simulation import price_steps
from planner.task.numeric_task_compiled import NumericSpace, pack_numeric_task
from planner.validation.validate import check_steps

OPTIONS = ("youngest", "novel", "jumps", "pays")
COMBINATIONS = [dict(zip(OPTIONS, each, strict=True)) for each in product((False, True), repeat=len(OPTIONS))]


def pack(problem: Problem) -> NumericSpace:
    space = pack_numeric_task(ground_numeric(problem, Limits()))
    assert space is not None
    return space


def search(space: NumericSpace, **options: bool) -> tuple[Ending, Run]:
    run, chosen = Run(), [name for name, is_on in options.items() if is_on]
    steps = BestFirst(space, ENTRIES, [1] * len(space.source.task.actions), options=chosen, room=4).steps(run)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value, run


@pytest.mark.parametrize("block", range(8))
def test_every_combination_finds_valid_plans(block: int) -> None:
    found = 0
    for seed in range(30_000 + block * 20, 30_020 + block * 20):
        source = random_numeric_task(seed)
        try:
            best = find_best(source, 150)
            problem = parse_problem(source.problem, parse_domain(source.domain))
            space = pack(problem)
        except (TooManyStates, Unbounded, UnsupportedError, InputError):  # or a cost needs a value that nobody gives
            continue
        if space.source.task.unreachable_goal is not None:
            continue
        for options in COMBINATIONS:
            ending, run = search(space, **options)
            assert ending is Ending.FIRST_PLAN or run.plan is None
            if run.plan is not None:
                assert best is not None, f"{seed}, {options}"
                actions = space.source.task.actions
                steps = price_steps(problem, [actions[each].step for each in run.plan])
                assert check_steps(problem, Plan(steps, problem)).valid
                found += 1
            else:
                assert best is None or options["jumps"], f"{seed}, {options}"
    assert found > 0


def market(goal: int, stock: int, *, begging: bool = True) -> Problem:
    """Return a problem in which what is dug here brings money there, at an expense."""
    shop = Domain("shop")
    shop.action("dig", requires=["here", "stock >= 1"], modifies=["stock -= 1", "goods += 1"])
    shop.action("sell", requires=["there", "goods >= 1"], modifies=["goods -= 1", "money += 5"])
    shop.action("go", requires=["here", "money >= 2"], provides=["there", "not here"], modifies=["money -= 2"])
    if begging:
        shop.action("beg", requires=["there"], modifies=["money += 1"])
    return shop.problem(initial=["here"], values={"money": 2, "goods": 0, "stock": stock}, goal=[f"money >= {goal}"])


def estimate(problem: Problem, *, pays: bool) -> tuple[int, dict[str, int]]:
    """Return the estimate of the initial state and how often each action is in the relaxed plan."""
    space = pack(problem)
    relaxation = relax_numeric(space, [1] * len(space.source.task.actions))
    relaxed, room = relaxation.relaxed, relaxation.room
    at = (space.words, space.initial, 0, 1)
    value = estimate_numeric(relaxed, room, space.space, *at)
    if pays:
        value += meet_demands(relaxed, room, relaxation.demands, relaxation.memory, space.space, 1)
    names = [action.step.action for action in space.source.task.actions]
    return value, {name: room.repeated[each] for each, name in enumerate(names) if room.planned[each] == 1}


def test_relaxed_plans_produce_what_they_use_up() -> None:
    assert estimate(market(12, 9), pays=False) == (4, {"go": 1, "dig": 1, "sell": 2})
    assert estimate(market(12, 9), pays=True) == (7, {"go": 1, "dig": 3, "sell": 3})
    assert estimate(market(12, 2), pays=True) == (7, {"go": 1, "dig": 2, "sell": 2, "beg": 2})
    assert estimate(market(12, 2, begging=False), pays=True) == (5 + LACKING, {"go": 1, "dig": 2, "sell": 2})


def test_jumps_repeat_an_action_until_a_fact_changes() -> None:
    problem = market(500, 100, begging=False)
    ending, run = search(pack(problem), jumps=True)
    assert ending is Ending.FIRST_PLAN
    assert len(run.plan) == 201
    assert run.evaluated < 20
    _, slow = search(pack(problem))
    assert slow.evaluated > 5 * run.evaluated
