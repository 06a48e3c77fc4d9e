"""The plan checker means what the ten lines of `interpreter` say, in every state that random problems reach."""

from __future__ import annotations

import random
from itertools import count, islice

import interpreter
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tasks import problems

from benchmarks.random_problems import Features, FormulaDrawer, Readable, random_problem, reachable
from planner.compilations.normal_form import to_negation_normal_form
from planner.model import Atom, Equals, Metric, Not
from planner.model.formulas import negate, walk
from planner.semantics.simulation import Simulation


def check_successors(problem, limit):
    """Compare what can be done, and what it does, in the first `limit` reachable states."""
    for state in islice(reachable(problem), limit):
        facts, ran = state.facts, frozenset(state.history)
        applicable = {(step.action, step.arguments): step for step in state.applicable()}
        for step in interpreter.steps(problem):
            expected = interpreter.apply(problem, facts, ran, step)
            found = applicable.pop((step.action, step.arguments), None)
            assert (found is None) is (expected is None), step
            assert (state.find_objection(step) is None) is (expected is not None), step
            if found is not None:
                after = state.copy()
                after.apply(found)
                assert after.facts == expected, step
                assert problem.metric is Metric.COST or found.cost == 1
        assert not applicable


def check_formulas(problem, rng):
    """Compare the truth of random formulas along a random walk, whose indexes and derived facts are kept up to date."""
    drawer = FormulaDrawer(rng, Features())
    predicates = tuple(problem.domain.predicates.values())
    readable = Readable(predicates, predicates)
    state = Simulation(problem)
    for _ in range(6):
        true = interpreter.closure(problem, state.facts)
        for _ in range(6):
            formula = drawer.formula(readable, problem.all_objects, 3, prefer=problem.all_objects)
            expected = interpreter.holds(problem, true, formula, {})
            assert state.holds(formula) is expected, formula
            assert interpreter.holds(problem, true, to_negation_normal_form(formula, count()), {}) is expected, formula
            assert interpreter.holds(problem, true, negate(formula), {}) is not expected, formula
            assert all(isinstance(each.part, Atom | Equals) for each in walk(negate(formula)) if isinstance(each, Not))
        assert state.holds(problem.goal.hard) is interpreter.holds(problem, true, problem.goal.hard, {})
        choices = list(state.applicable())
        if not choices:
            return
        step = rng.choice(choices)
        expected = interpreter.apply(problem, state.facts, frozenset(state.history), step)
        state.apply(step)
        assert state.facts == expected, step


@settings(max_examples=examples(30))
@given(problems())
def test_drawn_problems(problem):
    check_successors(problem, 6)


@settings(max_examples=examples(30))
@given(problems(), st.randoms(use_true_random=False))
def test_drawn_formulas(problem, rng):
    check_formulas(problem, rng)


@pytest.mark.parametrize("block", range(8))
def test_seeded_problems(block):
    for seed in range(15 * block, 15 * block + 15):
        problem = random_problem(seed)
        check_successors(problem, 5)
        check_formulas(problem, random.Random(seed))
