"""What is undone is as much as trying every state says, at the least cost, and what cannot be is told."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import random_plans
import repair_twins
from brute_force import TooManyStates

from benchmarks.random_problems import STRIPS, Features
from planner.model import OPEN, Atom, Goal
from planner.plan import Status
from planner.repair.undoing import Written, undo
from planner.semantics.simulation import Simulation
from planner.validation.validate import validate

FEATURES = [Features(objects=3), STRIPS, Features(objects=3, decimals=True), Features(actions=4, axioms=False)]


def ran(rng, features):
    """Return the problem after some steps, the facts before them, and what they wrote."""
    plan = random_plans.random_plan(rng, features, longest=5)
    state = Simulation(plan.problem)
    before, written = state.facts, []
    for number, step in enumerate(plan.steps):
        changes = state.apply(step)
        items = [*changes.modified, *changes.provided, *changes.removed]
        final = rng.random() < 0.15
        written += [Written(_opened(item, rng), f"s{number}", irreversible=final) for item in dict.fromkeys(items)]
    steps = tuple([Atom(step.action, step.arguments) for step in plan.steps])
    return replace(plan.problem, initial=tuple(sorted(state.facts, key=str)), ran=steps), before, written


def _opened(item, rng):
    """Return `item` with an argument left open now and then."""
    if not item.args or rng.random() < 0.7:
        return item
    place = rng.randrange(len(item.args))
    return Atom(item.predicate, (*item.args[:place], OPEN, *item.args[place + 1 :]))


def check(problem, before, written):
    """Compare an undoing with its twin; return how many items are restored and left that were not as before."""
    exempt = [each.item for each in written if each.irreversible]
    items = list(dict.fromkeys(each.item for each in written if not each.irreversible))
    expected = repair_twins.best_undoing(problem, before, items, exempt)
    found = undo(problem, before, written, time_limit=None)
    assert found.status is Status.OPTIMAL
    assert (len(found.left), found.cost) == expected
    state = Simulation(problem)
    steps = [each.step for each in found.steps]
    verdict = validate(replace(problem, goal=Goal()), steps, claimed_cost=found.cost)
    assert verdict.valid, verdict.reason
    for step in steps:
        state.apply(step)
    for item in items:
        is_left = item in {each.item for each in found.left}
        assert repair_twins.differs(state.facts, before, item, exempt) is is_left
        assert (item in found.restored) is not is_left
    assert all(each.proved for each in found.left)
    keys = {each.step for each in written if not each.irreversible}
    assert all(set(each.undoes) <= keys for each in found.steps)
    away = sum(repair_twins.differs(problem.initial, before, item, exempt) for item in items)
    return away - len(found.left), len(found.left)


@pytest.mark.parametrize("features", range(len(FEATURES)))
@pytest.mark.parametrize("block", range(2))
def test_no_steps_undo_more(block, features):
    restored = left = 0
    for seed in range(1000 * block, 1000 * block + 45):
        case = ran(random.Random(seed), FEATURES[features])
        try:
            counts = check(*case)
        except TooManyStates:
            continue
        restored, left = restored + counts[0], left + counts[1]
    assert restored > 5
    assert left > 5
