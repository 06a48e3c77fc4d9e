"""Constraints are a filter over plans: compiled away, in the plan checker, and in search."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from brute_force import TooManyStates, brute_force_plan
from constraint_twin import is_kept
from random_tasks import with_random_constraints

from benchmarks.random_problems import ALL, random_problem
from planner import Domain, Status, Step, solve, validate
from planner.compilations import trajectory_constraints
from planner.compilations.adl import compile_adl
from planner.compilations.trajectory_constraints import compile_constraints
from planner.model import And, Atom, Constraint, ConstraintKind, Done, Not, Or
from planner.semantics.simulation import Simulation

MOST_WALKS = 60
LONGEST = 4


def constrained(seed, features=ALL):
    rng = random.Random(seed)
    return with_random_constraints(random_problem(rng, features), rng, features)


def walks(problem, twins):
    """Yield the first sequences of steps, with the states that they go through, and where they lead in `twins`.

    A twin that does not take a step is None from there on.
    """
    start = (), [Simulation(problem)], [Simulation(twin) for twin in twins]
    queue = [start]
    for steps, states, others in queue:
        yield steps, states, others
        if len(steps) < LONGEST and len(queue) < MOST_WALKS:
            for step in states[-1].applicable():
                moved = [after(other, step) for other in others]
                queue.append(((*steps, step), [*states, after(states[-1], step)], moved))


def after(state, step):
    if state is None or state.find_objection(step):
        return None
    found = state.copy()
    found.apply(step)
    return found


@pytest.mark.parametrize("block", range(6))
def test_a_compiled_constraint_and_the_plan_checker_filter_plans(block, monkeypatch):
    kept = broken = 0
    if block == 5:
        monkeypatch.setattr(trajectory_constraints, "FEW", 1)
    for seed in range(60 * block, 60 * block + 60):
        problem = constrained(seed)
        compiled = [compile_constraints(compile_adl(problem), plainly=plainly) for plainly in (False, True)]
        for steps, states, others in walks(problem, compiled):
            if states[-1].holds(problem.goal.hard):
                expected = all(is_kept(each, steps, states) for each in problem.constraints)
                kept, broken = kept + expected, broken + (not expected)
                assert validate(problem, steps).valid is expected, seed
                found = [
                    state is not None and state.holds(twin.goal.hard)
                    for state, twin in zip(others, compiled, strict=True)
                ]
                assert found == [expected, expected], seed
    assert kept > 50 < broken


def toggles():
    """Return a problem in which two facts change to and fro, by steps that change one, both, or something else."""
    both = {
        "turn-on": ("p",),
        "turn-off": ("not p",),
        "open": ("q",),
        "shut": ("not q",),
        "wait": ("r",),
        "rest": ("not r",),
    }
    both |= {"swap": ("p", "not q"), "fill": ("p", "q"), "empty": ("not p", "not q")}
    domain = Domain("toggles")
    for name, provides in both.items():
        domain.action(name, provides=list(provides))
    return domain.problem(goal=())


def test_what_holds_again_and_again_is_counted_and_ends_in_time():
    rng, problem = random.Random(1), toggles()
    conditions = [Atom("p"), Atom("q"), Not(Atom("p")), And((Atom("p"), Atom("q"))), Or((Atom("p"), Atom("q")))]
    names = [*problem.domain.actions]
    happenings = [*conditions, *conditions, *[Done(Atom(name)) for name in names]]
    outcomes = Counter()
    for _ in range(900):
        kind = rng.choice([ConstraintKind.AT_MOST, ConstraintKind.NEVER_AFTER, ConstraintKind.BEFORE])
        other = None if kind is ConstraintKind.AT_MOST else rng.choice(happenings)
        constraint = Constraint(kind, rng.choice(happenings), other, rng.choice([1, 2, 3]))
        initial = tuple([fact for fact in (Atom("p"), Atom("q")) if rng.random() < 0.4])
        made = replace(problem, initial=initial, constraints=(constraint,))
        steps = tuple([Step(rng.choice(names)) for _ in range(rng.randint(1, 9))])
        states = [Simulation(made)]
        for step in steps:
            states.append(after(states[-1], step))
        expected = is_kept(constraint, steps, states)
        outcomes[kind, expected] += 1
        assert validate(made, steps).valid is expected, (constraint, steps)
        for plainly in (False, True):
            twin = compile_constraints(compile_adl(made), plainly=plainly)
            end = Simulation(twin)
            for step in steps:
                end = after(end, step)
            assert (end is not None and end.holds(twin.goal.hard)) is expected, (plainly, constraint, steps)
    assert min(outcomes.values()) > 15
    assert len(outcomes) == 6


@pytest.mark.parametrize("block", range(6))
def test_the_best_plan_is_the_cheapest_that_keeps_the_constraints(block):
    costs = []
    for seed in range(60 * block, 60 * block + 60):
        problem = constrained(seed)
        try:
            expected = brute_force_plan(problem, max_states=150)
        except TooManyStates:
            continue
        result = solve(problem, time_limit=None)
        if expected is None:
            assert result.status is Status.UNSOLVABLE, seed
        else:
            assert (result.status, result.cost) == (Status.OPTIMAL, expected.cost), seed
        free = solve(replace(problem, constraints=()), time_limit=None)
        costs.append((result.cost, free.cost))
    assert len(costs) > 50
    assert {dearer is None for dearer, free in costs if free is not None} == {True, False}
    assert any(dearer > free for dearer, free in costs if dearer is not None)
