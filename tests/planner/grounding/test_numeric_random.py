"""Numeric tasks against the simulation of the declared problem, step by step along random walks."""

from __future__ import annotations

import random

import pytest
from numeric_problems import random_numeric_problem
from numeric_steps import compare_walk

from planner.errors import PlanError, UnsupportedError

BLOCK = 25
"""Random problems of one test."""


@pytest.mark.parametrize("block", range(12))
def test_steps_of_the_numeric_task_are_those_of_the_simulation(block: int) -> None:
    compared = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        try:
            compare_walk(random_numeric_problem(seed), random.Random(seed), 20)
        except (UnsupportedError, PlanError):  # PlanError: the metric changes by what is no decimal
            continue
        compared += 1
    assert compared > BLOCK // 2
