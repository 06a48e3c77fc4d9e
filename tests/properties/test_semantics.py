"""The plan checker means what the ten lines of `interpreter` say, in every state that random problems reach."""

from __future__ import annotations

from itertools import islice

import interpreter
from hypothesis import given, settings

from planner.model import Metric
from planner.testing import problems
from planner.testing.brute import reachable


@settings(max_examples=80)
@given(problems())
def test_the_plan_checker_is_the_interpreter(problem):
    for state in islice(reachable(problem), 8):
        facts, ran = state.facts, frozenset(state.history)
        applicable = {(step.action, step.arguments): step for step in state.applicable()}
        for step in interpreter.steps(problem):
            expected = interpreter.apply(problem, facts, ran, step)
            found = applicable.pop((step.action, step.arguments), None)
            assert (found is None) is (expected is None), step
            assert (state.objection(step) is None) is (expected is not None), step
            if found is not None:
                after = state.copy()
                after.apply(found)
                assert after.facts == expected, step
                assert problem.metric is Metric.COST or found.cost == 1
        assert not applicable
        true = interpreter.closure(problem, facts)
        assert state.holds(problem.goal.hard) is interpreter.holds(problem, true, problem.goal.hard, {})
