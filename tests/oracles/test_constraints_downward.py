"""Hard constraints, exported: Fast Downward's cheapest plans cost what ours do, and keep the constraints."""

from __future__ import annotations

import random

import downward
import pytest
from random_tasks import with_random_constraints

from benchmarks.random_problems import Features, random_problem
from planner import Status, solve, validate
from planner.language.pddl.export import export

TASKS = 60
FEATURES = Features(universal_recursion=False)


@pytest.mark.slow
def test_fast_downward_agrees_on_problems_with_constraints(tmp_path) -> None:
    problems = [
        with_random_constraints(random_problem(seed, FEATURES), random.Random(seed), FEATURES, most=2)
        for seed in range(TASKS)
    ]
    exported = [export(problem, "adl") for problem in problems]
    plans = downward.optimal_plans(tmp_path, [(each.domain, each.problem) for each in exported])
    found = changed = 0
    for problem, written, text in zip(problems, exported, plans, strict=True):
        result = solve(problem, time_limit=20)
        assert result.has_plan == (text is not None)
        if text is None:
            assert result.status is Status.UNSOLVABLE
            continue
        plan = written.read_plan(text)
        assert validate(problem, plan).valid
        assert plan.cost == result.cost
        found += 1
        changed += bool(plan.steps)
    assert found >= 10
    assert changed >= 5
