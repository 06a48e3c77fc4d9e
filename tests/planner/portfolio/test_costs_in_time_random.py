"""What plans in time cost at least, against the enumeration of all schedules."""

from __future__ import annotations

from fractions import Fraction

import pytest

from benchmarks.random_temporal import COARSE, FINE, random_temporal_task
from benchmarks.temporal_brute import TooManyStates, find_fewest_steps
from benchmarks.temporal_semantics import TemporalSemantics
from planner import Status, solve, validate
from planner.language.pddl import parse_domain, parse_problem
from planner.lightweight import replace
from planner.model.problem import Metric


@pytest.mark.parametrize("seed", range(90))
def test_what_is_proved_of_the_fewest_steps_holds(seed: int) -> None:
    task = random_temporal_task(seed, COARSE if seed % 3 else FINE)
    domain, text = task.write()
    problem = replace(parse_problem(text, parse_domain(domain)), metric=Metric.LENGTH)
    result = solve(problem, mode="optimal", time_limit=1)
    assert result.status is not Status.UNSUPPORTED
    try:
        fewest = find_fewest_steps(TemporalSemantics(*task.write(Fraction(1)), 1 if seed % 3 == 0 else 16), 2_000)
    except TooManyStates:
        return
    if fewest is None:
        assert result.plan is None
        return
    assert result.status is not Status.UNSOLVABLE
    assert (result.lower_bound or 0) <= fewest
    if result.plan is not None:
        assert validate(problem, result.plan).valid
        assert len(result.plan.steps) >= fewest
    if result.status is Status.OPTIMAL:
        assert result.plan is not None
        assert len(result.plan.steps) == fewest
