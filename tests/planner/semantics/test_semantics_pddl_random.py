"""Declared model → PDDL → model means the same: equal transition systems, step by step and cost by cost."""

from __future__ import annotations

import pytest
from brute_force import TooManyStates, transition_system
from effort import examples
from hypothesis import given, settings
from random_tasks import problems

from benchmarks.random_problems import Features, random_problem
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import export

MOST_STATES = 60


def check_round_trip(problem):
    """Compare a problem with what its PDDL says; return whether it was small enough to compare."""
    try:
        expected = transition_system(problem, MOST_STATES)
    except TooManyStates:
        return False
    for level in (None, "adl"):
        written = export(problem, level)
        domain = parse_domain(written.domain)
        read = parse_problem(written.problem, domain)

        def label(step, written=written):
            source = written.lift(step)
            assert step.cost == source.cost * written.resolution
            return source

        assert transition_system(read, MOST_STATES, label=label) == expected
    return True


@settings(max_examples=examples(40))
@given(problems())
def test_drawn_problems(problem):
    check_round_trip(problem)


@pytest.mark.parametrize("block", range(4))
def test_seeded_problems(block):
    features = Features(decimals=block % 2 == 1)
    checked = [check_round_trip(random_problem(seed, features)) for seed in range(20 * block, 20 * block + 20)]
    assert checked.count(True) > 10
