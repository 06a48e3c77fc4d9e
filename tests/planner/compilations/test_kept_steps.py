"""Marks of kept steps: plans keep what they ask for, and are the best ones, by trying every choice."""

from __future__ import annotations

import random

import pytest
import random_plans
import repair_twins
from brute_force import TooManyStates

from benchmarks.random_problems import STRIPS, Features
from planner import Domain, Limits, Status, Step, solve
from planner.compilations.kept_steps import keep_steps, require_steps
from planner.lightweight import replace
from planner.model.formulas import OPEN, Atom
from planner.plan import Plan
from planner.repair.keeping_steps import KeepingSearch, find_misfits, forbid_steps, make_patterns, trace_steps
from planner.repair.patching import apply_steps
from planner.repair.solved_patches import patch_by_solving
from planner.semantics.simulation import Simulation
from planner.validation.validate import validate

FEATURES = [Features(objects=3), STRIPS, Features(objects=3, decimals=True), Features(actions=4, axioms=False)]


def make_walk(letters: str) -> tuple[Step, ...]:
    return tuple([Step(letter) for letter in letters])


def make_letters(order: str, goal: str = "") -> Domain:
    """Return a problem whose steps are letters: each one of `order` may be done after the one before."""
    domain = Domain("letters")
    domain.action("x", cost=5)
    for before, letter in zip(["", *order], order, strict=False):
        domain.action(letter, requires=[f"did_{before}"] if before else [], provides=[f"did_{letter}"])
    return domain.problem(goal=[f"did_{goal or order[-1]}"])


def foreign(rng, features):
    """Return a problem, and a plan that was spoiled a few times, all of whose steps fit."""
    plan = random_plans.random_plan(rng, features, longest=5)
    for _ in range(rng.randint(1, 3)):
        plan = random_plans.spoiled(plan, rng)
    wrong = find_misfits(plan.problem, plan.steps)
    fitting = [step for place, step in enumerate(plan.steps) if place not in wrong]
    rules = Simulation(plan.problem).rules
    return plan.problem, [step for step in fitting if not rules.misfit(step)]


@pytest.mark.parametrize("features", range(len(FEATURES)))
@pytest.mark.parametrize("seed", range(240))
def test_no_plan_keeps_more_or_costs_less(seed, features):
    problem, steps = foreign(random.Random(seed), FEATURES[features])
    try:
        expected = repair_twins.best_mending(problem, steps, pays_kept=True)
    except TooManyStates:
        return
    patterns = make_patterns(problem, steps)
    found = KeepingSearch(problem, problem, patterns, Limits()).run()
    if expected is None:
        assert found.status is Status.UNSOLVABLE
        return
    assert found.status is Status.OPTIMAL
    assert found.keeps_most
    kept = [each for each in found.origins if each is not None]
    assert kept == sorted({*kept})
    assert (len(steps) - len(kept), found.plan.cost) == expected
    for left_out in range(len(steps) + 1):
        marked = solve(keep_steps(problem, patterns, left_out), mode="first", time_limit=None)
        assert (marked.status is Status.UNSOLVABLE) == (left_out < expected[0])


@pytest.mark.parametrize("features", range(len(FEATURES)))
@pytest.mark.parametrize("seed", range(120))
def test_no_patch_has_a_smaller_objective(seed, features):
    rng = random.Random(seed)
    problem, steps = foreign(rng, FEATURES[features])
    bans = {"forbidden": steps[2:3] if rng.random() < 0.3 else [], "not_first": steps[:1] if rng.random() < 0.3 else []}
    weight = rng.choice([0, 1, 3])
    try:
        reentries = repair_twins.reentries(problem, steps, **bans)
    except TooManyStates:
        return
    expected = repair_twins.best(reentries, weight)
    taken = {name: [Atom(each.action, each.arguments) for each in banned] for name, banned in bans.items()}
    found = patch_by_solving(problem, steps, Limits(), weight=weight, **taken)
    if expected is None:
        assert found.status is Status.UNSOLVABLE
        return
    assert found.status is Status.OPTIMAL
    assert found.objective == expected[0]
    assert [*map(str, found.steps[found.new :])] == [*map(str, steps[found.dropped :])]
    assert validate(problem, found.steps, claimed_cost=found.cost).valid


def test_steps_that_come_twice_are_kept_twice() -> None:
    problem, given = make_letters("ab"), make_walk("abxab")
    found = KeepingSearch(problem, problem, make_patterns(problem, given), Limits()).run()
    assert found.plan is not None
    assert [step.action for step in found.plan.steps] == [*"abxab"]
    assert found.origins == (0, 1, 2, 3, 4)


def test_steps_are_done_again_to_keep_their_order() -> None:
    problem, given = make_letters("abcd"), make_walk("dcba")
    found = KeepingSearch(problem, problem, make_patterns(problem, given), Limits()).run()
    assert found.status is Status.OPTIMAL
    assert found.plan is not None
    kept = [each for each in found.origins if each is not None]
    assert len(kept) == 4, "a step may come again: abcd, and then cba"
    assert len(found.plan.steps) == 7


def test_nothing_is_asked_for_where_all_may_be_left_out() -> None:
    problem = make_letters("ab")
    assert keep_steps(problem, make_patterns(problem, make_walk("ab")), 2) is problem
    assert solve(require_steps(problem, make_patterns(problem, make_walk("xx")))).cost == 7


def test_the_trace_is_a_longest_common_subsequence() -> None:
    rng = random.Random(1)
    for _ in range(200):
        given, steps = [make_walk(rng.choices("abc", k=rng.randint(0, 6))) for _ in range(2)]
        patterns = [Atom(each.action, ()) for each in given]
        _, origins = trace_steps(patterns, Plan(steps, None))
        pairs = [(given[place], step) for step, place in zip(steps, origins, strict=True) if place is not None]
        assert all(one == other for one, other in pairs)
        assert len(pairs) == longest_common(given, steps)


def longest_common(one, other) -> int:
    """Return the length of a longest common subsequence, by trying both ways at the first difference."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + longest_common(one[1:], other[1:])
    return max(longest_common(one[1:], other), longest_common(one, other[1:]))


def test_steps_are_forbidden_by_their_declared_arguments() -> None:
    domain = Domain("office", types=["ticket"])
    domain.action("file", creates={"t": "ticket"}, provides=["filed(t)"])
    problem = domain.problem(goal=["(exists (?t - ticket) (filed ?t))"])
    step = Step("file", ("new-ticket-1",))
    assert not find_misfits(problem, [step])
    assert make_patterns(problem, [step]) == [Atom("file", ())]
    assert solve(forbid_steps(problem, [Atom("file", step.arguments)])).status is Status.UNSOLVABLE
    domain.action("read", {"t": "ticket"}, requires=["filed(t)"], provides=["was_read(t)"])
    more = replace(domain.problem(goal=["(exists (?t - ticket) (was_read ?t))"]))
    assert make_patterns(more, [Step("read", ("new-ticket-1",))]) == [Atom("read", (OPEN,))]


def test_running_steps_come_first() -> None:
    problem = make_letters("abc")
    after = apply_steps(problem, make_walk("a"))
    found = patch_by_solving(after, make_walk("bc"), Limits(), weight=1, forbidden=[], not_first=[])
    assert (found.new, found.kept, found.dropped) == (0, 2, 0)
