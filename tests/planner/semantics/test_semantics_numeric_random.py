"""With numbers, the plan checker means what `benchmarks.numeric_semantics` says of the same PDDL text."""

from __future__ import annotations

from itertools import islice

from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.numeric_semantics import NumericSemantics
from benchmarks.random_numeric import random_numeric_task
from planner.errors import ForethoughtError
from planner.language.pddl import parse_domain, parse_problem
from planner.semantics.simulation import Simulation


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 10**9))
def test_random_walks_through_numbers(seed):
    task = random_numeric_task(seed)
    try:
        problem = parse_problem(task.problem, parse_domain(task.domain))
    except ForethoughtError:
        assume(False)
    semantics = NumericSemantics(task.domain, task.problem)
    walks = [(semantics.find_initial(), Simulation(problem))]
    for state, simulation in islice(walks, 12):
        assert simulation.holds(problem.goal.hard) is semantics.is_goal(state)
        found = {(step.action, *step.arguments): step for step in simulation.applicable()}
        following = dict(semantics.successors(state))
        assert set(found) == set(following)
        for step, after in following.items():
            copied = simulation.copy()
            copied.apply(found[step])
            walks.append((after, copied))
