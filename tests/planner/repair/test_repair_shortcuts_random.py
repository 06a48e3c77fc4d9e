"""What repairs try before they search: bounds that are none too high, plans that work, items that are covered."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from brute_force import TooManyStates, brute_force_plan

from benchmarks.random_problems import random_problem
from planner import Domain, Status, Step, Written, mend, patch, undo
from planner.grounding.ground import ground
from planner.limits import Limits
from planner.model import Atom
from planner.repair.repair_search import bound_by_landmarks
from planner.repair.undoing import CoveredFacts


def tasks(seeds):
    """Yield random problems with their ground tasks and optimal plans, None where there is none."""
    for seed in seeds:
        problem = random_problem(seed)
        if problem.unknown:
            continue
        try:
            best = brute_force_plan(problem, 500)
        except TooManyStates:
            continue
        task = ground(problem, Limits())
        if task.unreachable_goal is None:
            yield problem, task, best


def unlimited():
    """Never stop."""


@pytest.mark.parametrize("block", range(4))
def test_no_plan_costs_less_than_the_bound(block):
    exact = below = 0
    for _, task, best in tasks(range(100 * block, 100 * block + 40)):
        if best is None:
            continue
        bound = bound_by_landmarks(task, [action.cost for action in task.actions], unlimited)
        assert bound <= best.cost * task.resolution
        exact += 0 < bound == best.cost * task.resolution
        below += bound < best.cost * task.resolution
    assert exact
    assert below


def test_items_cover_what_one_of_them_matches():
    dice = random.Random(1)
    outcomes = set()
    for _ in range(200):
        items = [Atom(dice.choice("pq"), tuple(dice.choices("ab_", k=2))) for _ in range(dice.randint(0, 4))]
        fact = Atom(dice.choice("pq"), tuple(dice.choices("ab", k=2)))
        expected = any(item.matches(fact) for item in items)
        assert (fact in CoveredFacts(items)) is expected
        outcomes.add(expected)
    assert outcomes == {True, False}


NUMBER = 600
"""Steps of the plans below: far more than a search through all re-entries gets through in its time."""


def fan(*, redo=True, chained=False):
    """Return a problem of many things to be done, one after the other or each alone, and the steps that do them."""
    domain = Domain("fan", types=["item"])
    needs = ["next(y, x)", "done(y)"] if chained else ["next(y, x)"]
    for name, cost in [("do", 1), ("redo", 2)] if redo else [("do", 1)]:
        domain.action(name, {"y": "item", "x": "item"}, requires=needs, provides=["done(x)"], cost=cost)
    domain.action("scrap", {"x": "item"}, requires=["done(x)"], provides=["not done(x)"])
    items = [f"i{number}" for number in range(NUMBER + 1)]
    pairs = list(pairwise(items))
    problem = domain.problem(
        objects=dict.fromkeys(items, "item"),
        initial=["done(i0)", *(f"next({one}, {other})" for one, other in pairs)],
        goal=[f"done({each})" for each in items],
    )
    return problem, [Step("do", pair) for pair in pairs]


@pytest.mark.parametrize("weight", [0, 1, 5])
@pytest.mark.parametrize(("chained", "place"), [(False, 0), (False, NUMBER // 2), (True, 0)])
def test_one_step_of_many_is_done_in_another_way(chained, place, weight):
    problem, steps = fan(chained=chained)
    rest = [*steps[:place], *steps[place + 1 :]]
    found = patch(problem, rest, weight=weight, forbidden=[steps[place]], time_limit=None, proof_time=0)
    assert (found.status, found.new, found.kept, found.cost) == (Status.OPTIMAL, 1, NUMBER - 1, NUMBER + 1)
    assert found.steps[0] == Step("redo", steps[place].arguments, 2)


def test_that_nothing_else_does_it_is_proved():
    problem, steps = fan(redo=False)
    assert patch(problem, steps[1:], forbidden=steps[:1], time_limit=None).status is Status.UNSOLVABLE


def test_what_may_not_come_first_comes_second():
    problem, steps = fan(redo=False)
    found = patch(problem, steps[1:], not_first=steps[:1], time_limit=None, proof_time=0)
    assert (found.status, found.objective, found.lower_bound) == (Status.OPTIMAL, NUMBER, NUMBER)
    assert [step.arguments for step in found.steps[:2]] == [steps[1].arguments, steps[0].arguments]
    assert (found.new, found.kept) == (2, NUMBER - 2)


def test_a_long_plan_is_mended_by_one_step():
    problem, steps = fan()
    found = mend(problem, steps[1:], forbidden=steps[:1], time_limit=None)
    assert (found.status, len(found.kept), found.extra) == (Status.OPTIMAL, NUMBER - 1, 2)


def test_much_is_undone_at_once():
    problem, _ = fan()
    done = [Atom("done", (f"i{number}",)) for number in range(1, NUMBER)]
    now = replace(problem, initial=(*problem.initial, *done))
    found = undo(now, problem.initial, [Written(fact, str(fact)) for fact in done], time_limit=None)
    assert (found.status, len(found.restored), found.left) == (Status.OPTIMAL, len(done), ())
    assert {each.undoes for each in found.steps} == {(str(fact),) for fact in done}
